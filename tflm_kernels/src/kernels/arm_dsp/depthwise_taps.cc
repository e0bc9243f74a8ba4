#include "depthwise_taps.h"

#include "../backend.h"

#ifdef TFLFUSE_ARM_DSP

#include "clamp_bytes.h"
#include "taps.h"

namespace tflfuse {
namespace dsp {
namespace {

// The pointers from begin to end, and a null pointer. Returns what is behind.
const int8_t** List(const int8_t* const* rows, uint32_t begin, uint32_t end, const int8_t** list) {
  for (uint32_t k = begin; k < end; ++k) *list++ = rows[k];
  *list++ = nullptr;
  return list;
}

}  // namespace
}  // namespace dsp
}  // namespace tflfuse

extern "C" void tflfuse_dsp_depthwise_taps(const TflfuseWindow* window, const int8_t* weights,
                                           const TflfuseQuantization* quantization, uint32_t width, int8_t* output) {
  using namespace tflfuse::dsp;
  const TflfuseWindow& w = *window;
  const TflfuseQuantization& q = *quantization;
  const int8_t* rows[TFLFUSE_DSP_MOST_ROWS + 3];
  const uint32_t row = w.kernel_w * w.channels;
  const int8_t** above = List(w.rows, w.inner_begin, w.inner_end, rows);
  const int8_t** below = List(w.rows, 0, w.inner_begin, above);
  List(w.rows, w.inner_end, w.kernel_h, below);
  tflfuse_dsp_taps({weights + w.inner_begin * row, rows, weights, above, weights + w.inner_end * row, below, q.bias,
                    q.multipliers, q.shifts, output, w.channels, w.dilation, w.stride, w.stride * width, w.kernel_w / 3,
                    w.kernel_w % 3, 2 * q.zero_point + 1, w.inner_end - w.inner_begin != w.kernel_h});
  if (q.clamp_min != -128 || q.clamp_max != 127) ClampBytes(output, width * w.channels, q.clamp_min, q.clamp_max);
}

#endif  // TFLFUSE_ARM_DSP
