// A row of a convolution of any sizes, rounded any way, one output after the other.
#ifndef TFLFUSE_KERNELS_ARM_DSP_CONV_ANY_H_
#define TFLFUSE_KERNELS_ARM_DSP_CONV_ANY_H_

#include "../requantize.h"
#include "window_walk.h"

namespace tflfuse {
namespace dsp {

inline int32_t DotRun(const int8_t* x, const int8_t* w, uint32_t n, int32_t sum) {
  for (; n >= 4; n -= 4, x += 4, w += 4) {
    const int32_t a = Load4(x), b = Load4(w);
    sum = Dot(OddBytes(a), OddBytes(b), Dot(EvenBytes(a), EvenBytes(b), sum));
  }
  for (uint32_t i = 0; i < n; ++i) sum += x[i] * w[i];
  return sum;
}

// width windows' outputs. w: of the first channel.
[[gnu::noinline]] inline void ConvolveAny(const TflfuseWindow& window, const int8_t* w, const TflfuseQuantization& q,
                                          uint32_t width, uint32_t out_channels, int8_t* output) {
  const Runs runs = RunsOf(window);
  const uint32_t pitch = window.kernel_h * window.kernel_w * window.channels;
  for (uint32_t channel = 0; channel < out_channels; ++channel, w += pitch) {
    for (uint32_t x = 0; x < width; ++x) {
      int32_t sum = q.bias[channel];
      const int8_t* run_weights = w;
      for (uint32_t k = 0; k < window.kernel_h; ++k) {
        const bool inner = k >= window.inner_begin && k < window.inner_end;
        const int8_t* row = window.rows[k] + (inner ? x * window.stride : 0);
        for (uint32_t run = 0; run < runs.count; ++run, row += window.dilation, run_weights += runs.length) {
          sum = DotRun(row, run_weights, runs.length, sum);
        }
      }
      output[x * out_channels + channel] = Quantized(sum, q.multipliers[channel], q.shifts[channel], q.zero_point,
                                                     q.clamp_min, q.clamp_max);
    }
  }
}

}  // namespace dsp
}  // namespace tflfuse

#endif  // TFLFUSE_KERNELS_ARM_DSP_CONV_ANY_H_
