#include "depthwise_3x3.h"

#include "../backend.h"

#ifdef TFLFUSE_ARM_DSP

#include "channels_3x3.h"
#include "clamp_bytes.h"
#include "rounding.h"

namespace tflfuse {
namespace dsp {
namespace {

// The rows of the windows; one outside the plane is any of those inside.
struct Rows {
  const int8_t* rows[3];
  int32_t padding[3];  // of a row outside
  uint32_t kept[3];    // ones for a row inside
  bool padded;
};

Rows RowsOf(const TflfuseWindow& window) {
  Rows r;
  r.padded = false;
  for (uint32_t k = 0; k < 3; ++k) {
    const bool inner = k >= window.inner_begin && k < window.inner_end;
    r.rows[k] = window.rows[inner ? k : window.inner_begin];
    r.padding[k] = inner ? 0 : *window.rows[k];
    r.kept[k] = inner ? 0xFFFF : 0;
    if (!inner) r.padded = true;
  }
  return r;
}

}  // namespace
}  // namespace dsp
}  // namespace tflfuse

extern "C" void tflfuse_dsp_depthwise_3x3(const TflfuseWindow* window, const int8_t* weights,
                                          const TflfuseQuantization* quantization, uint32_t width, uint32_t multiplier,
                                          int8_t* output) {
  using namespace tflfuse::dsp;
  const TflfuseQuantization& q = *quantization;
  const Rows r = RowsOf(*window);
  const uint32_t all = window->channels * multiplier, together = multiplier == 1 ? all : multiplier;
  const uint32_t strips = (width + TFLFUSE_DSP_MOST_WINDOWS - 1) / TFLFUSE_DSP_MOST_WINDOWS;
  for (uint32_t strip = 0, from = 0; strip < strips; ++strip) {
    const uint32_t to = width * (strip + 1) / strips;
    const int8_t* top = r.rows[0] + from * window->stride;
    for (uint32_t end = together; end <= all; end += together) {
      tflfuse_dsp_channels_3x3(
          multiplier == 1 ? top + end : top + end / multiplier - 1, static_cast<int32_t>(r.rows[1] - r.rows[0]),
          static_cast<int32_t>(r.rows[2] - r.rows[0]), window->dilation << 16, weights + end, all,
          -static_cast<int32_t>(together), multiplier == 1 ? ~0u : 0, q.bias + end, q.multipliers + end, q.shifts + end,
          2 * q.zero_point + 1, output + from * all + end, RoundsUpwards(q), to - from,
          window->stride == window->dilation ? 1 : 2, r.padded, Pair(r.padding[0], r.padding[1]),
          Pair(r.padding[2], r.padding[2]), r.kept[0] | r.kept[1] << 16, r.kept[2] | r.kept[2] << 16);
    }
    from = to;
  }
  if (q.clamp_min != -128 || q.clamp_max != 127) ClampBytes(output, width * all, q.clamp_min, q.clamp_max);
}

#endif  // TFLFUSE_ARM_DSP
