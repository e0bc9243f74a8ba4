#include "depthwise_3x3.h"

#include "../backend.h"

#ifdef TFLFUSE_ARM_DSP

#include "channels_3x3.h"
#include "clamp_bytes.h"

namespace tflfuse {
namespace dsp {
namespace {

constexpr uint32_t kStrip = 40;  // windows whose sums are kept

// What is the same for all channels and windows.
TflfuseDspChannels ChannelsOf(const TflfuseWindow& window, const TflfuseQuantization& q) {
  TflfuseDspChannels c;
  const int8_t* rows[3];
  int32_t padding[3];
  uint32_t kept[3];
  c.padded = 0;
  for (uint32_t k = 0; k < 3; ++k) {
    const bool inner = k >= window.inner_begin && k < window.inner_end;
    rows[k] = window.rows[inner ? k : window.inner_begin];
    padding[k] = inner ? 0 : *window.rows[k];
    kept[k] = inner ? 0xFFFF : 0;
    if (!inner) c.padded = 1;
  }
  c.top = rows[0];
  c.middle = static_cast<int32_t>(rows[1] - rows[0]);
  c.bottom = static_cast<int32_t>(rows[2] - rows[0]);
  c.step = window.dilation << 16;
  c.stride = window.stride == window.dilation ? 1 : 2;
  c.doubled = 2 * q.zero_point + 1;
  c.upper_padding = Pair(padding[0], padding[1]);
  c.lower_padding = Pair(padding[2], padding[2]);
  c.upper_kept = kept[0] | kept[1] << 16;
  c.lower_kept = kept[2] | kept[2] << 16;
  return c;
}

}  // namespace
}  // namespace dsp
}  // namespace tflfuse

extern "C" void tflfuse_dsp_depthwise_3x3(const TflfuseWindow* window, const int8_t* weights,
                                          const TflfuseQuantization* quantization, uint32_t width, uint32_t multiplier,
                                          int8_t* output) {
  using namespace tflfuse::dsp;
  const TflfuseQuantization& q = *quantization;
  int32_t sums[kStrip];
  TflfuseDspChannels c = ChannelsOf(*window, q);
  c.pitch = window->channels * multiplier;
  c.channels = multiplier == 1 ? c.pitch : multiplier;
  c.next = multiplier == 1;
  c.sums = sums;
  const int8_t* top = c.top;
  const uint32_t strips = (width + kStrip - 1) / kStrip;
  for (uint32_t strip = 0, from = 0; strip < strips; ++strip) {
    const uint32_t to = width * (strip + 1) / strips;
    c.end = sums + (to - from);
    for (uint32_t channel = 0; channel < c.pitch; channel += c.channels) {
      c.top = top + from * window->stride + (c.next != 0 ? 0 : channel / multiplier);
      c.weights = weights + channel;
      c.bias = q.bias + channel;
      c.multipliers = q.multipliers + channel;
      c.shifts = q.shifts + channel;
      c.output = output + from * c.pitch + channel;
      tflfuse_dsp_channels_3x3(c);
    }
    from = to;
  }
  if (q.clamp_min != -128 || q.clamp_max != 127) ClampBytes(output, width * c.pitch, q.clamp_min, q.clamp_max);
}

#endif  // TFLFUSE_ARM_DSP
