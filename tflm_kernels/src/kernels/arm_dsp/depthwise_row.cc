#include "../depthwise_row.h"

#include "../backend.h"

#ifdef TFLFUSE_ARM_DSP

#include "../depthwise_any.h"
#include "depthwise_3x3.h"
#include "depthwise_fours.h"
#include "depthwise_taps.h"
#include "rounding.h"

namespace tflfuse {
namespace dsp {
namespace {

constexpr uint32_t kNarrow = 3;  // windows in a row up to which four channels at once are faster than one

bool TakesColumns(const TflfuseWindow& w) {
  return w.kernel_h == 3 && w.kernel_w == 3 && (w.stride == w.dilation || w.stride == 2 * w.dilation) &&
         w.dilation < 1 << 16;
}

}  // namespace
}  // namespace dsp
}  // namespace tflfuse

extern "C" void tflfuse_depthwise_row(const TflfuseWindow* window, const int8_t* weights,
                                      const TflfuseQuantization* quantization, uint32_t width, uint32_t multiplier,
                                      int8_t* output) {
  using namespace tflfuse::dsp;
  const bool plain = RoundingOf(*quantization) != Rounding::kAny && window->inner_begin < window->inner_end;
  const bool columns = plain && TakesColumns(*window), fours = multiplier == 1 && window->channels >= 4;
  const bool taps = plain && fours && window->kernel_w >= 3 && window->kernel_h <= TFLFUSE_DSP_MOST_ROWS;
  if (columns && !(taps && width <= kNarrow)) {
    tflfuse_dsp_depthwise_3x3(window, weights, quantization, width, multiplier, output);
  } else if (taps) {
    tflfuse_dsp_depthwise_taps(window, weights, quantization, width, output);
  } else if (fours) {
    tflfuse_dsp_depthwise_fours(window, weights, quantization, width, output);
  } else {
    tflfuse::depthwise::DepthwiseAny(window, weights, quantization, width, multiplier, output);
  }
}

#endif  // TFLFUSE_ARM_DSP
