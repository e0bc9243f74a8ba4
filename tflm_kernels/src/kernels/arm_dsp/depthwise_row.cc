#include "../depthwise_row.h"

#include "../backend.h"

#ifdef TFLFUSE_ARM_DSP

#include "../depthwise_any.h"
#include "depthwise_3x3.h"
#include "depthwise_fours.h"
#include "rounding.h"

extern "C" void tflfuse_depthwise_row(const TflfuseWindow* window, const int8_t* weights,
                                      const TflfuseQuantization* quantization, uint32_t width, uint32_t multiplier,
                                      int8_t* output) {
  const TflfuseWindow& w = *window;
  const bool strides = w.stride == w.dilation || w.stride == 2 * w.dilation;
  if (w.kernel_h == 3 && w.kernel_w == 3 && strides && w.dilation < 1 << 16 && w.inner_begin < w.inner_end &&
      tflfuse::dsp::RoundingOf(*quantization) != tflfuse::dsp::Rounding::kAny) {
    tflfuse_dsp_depthwise_3x3(window, weights, quantization, width, multiplier, output);
    return;
  }
  if (multiplier == 1 && w.channels >= 4) {
    tflfuse_dsp_depthwise_fours(window, weights, quantization, width, output);
    return;
  }
  tflfuse::depthwise::DepthwiseAny(window, weights, quantization, width, multiplier, output);
}

#endif  // TFLFUSE_ARM_DSP
