// A depthwise convolution of any kernel, multiplier and dilation, as tflfuse_depthwise_row is specified.
#ifndef TFLFUSE_KERNELS_DEPTHWISE_ANY_H_
#define TFLFUSE_KERNELS_DEPTHWISE_ANY_H_

#include "requantize.h"
#include "window.h"

namespace tflfuse {
namespace depthwise {

constexpr uint32_t kBlock = 16;  // channels summed together: one vector register of bytes

inline void MultiplyAdd(const int8_t* x, const int8_t* w, uint32_t n, int32_t* sums) {
  for (uint32_t c = 0; c < n; ++c) sums[c] += x[c] * w[c];
}

// The input channels of n output channels from the first on, each repeated as often as outputs look at it.
inline void Repeat(const int8_t* x, uint32_t first, uint32_t multiplier, uint32_t n, int8_t* repeated) {
  uint32_t channel = first / multiplier, left = multiplier - first % multiplier;
  for (uint32_t c = 0; c < n; ++c) {
    repeated[c] = x[channel];
    if (--left == 0) {
      ++channel;
      left = multiplier;
    }
  }
}

// Where row k of the window at x begins.
inline const int8_t* RowAt(const TflfuseWindow& window, uint32_t k, uint32_t x) {
  const bool inner = k >= window.inner_begin && k < window.inner_end;
  return window.rows[k] + (inner ? x * window.stride : 0);
}

// The sums of n <= kBlock output channels from the first on, for the window at x.
inline void Sum(const TflfuseWindow& window, const int8_t* weights, uint32_t multiplier, uint32_t x, uint32_t first,
                uint32_t n, int32_t* sums) {
  const uint32_t out_channels = window.channels * multiplier;
  const int8_t* w = weights + first;
  for (uint32_t k = 0; k < window.kernel_h; ++k) {
    const int8_t* row = RowAt(window, k, x);
    for (uint32_t tap = 0; tap < window.kernel_w; ++tap, row += window.dilation, w += out_channels) {
      if (multiplier == 1) {
        MultiplyAdd(row + first, w, n, sums);
        continue;
      }
      int8_t repeated[kBlock];
      Repeat(row, first, multiplier, n, repeated);
      MultiplyAdd(repeated, w, n, sums);
    }
  }
}

// The same for a whole block without multiplier: loops of fixed length, for the compiler's sake.
inline void SumBlock(const TflfuseWindow& window, const int8_t* weights, uint32_t x, uint32_t first, int32_t* sums) {
  const int8_t* w = weights + first;
  for (uint32_t k = 0; k < window.kernel_h; ++k) {
    const int8_t* in = RowAt(window, k, x) + first;
    for (uint32_t tap = 0; tap < window.kernel_w; ++tap, in += window.dilation, w += window.channels) {
      int16_t products[kBlock];
      for (uint32_t c = 0; c < kBlock; ++c) products[c] = static_cast<int16_t>(in[c] * w[c]);
      for (uint32_t c = 0; c < kBlock; ++c) sums[c] += products[c];
    }
  }
}

inline void DepthwiseAny(const TflfuseWindow* window, const int8_t* weights, const TflfuseQuantization* quantization,
                         uint32_t width, uint32_t multiplier, int8_t* output) {
  const TflfuseQuantization q = *quantization;
  const uint32_t out_channels = window->channels * multiplier;
  for (uint32_t first = 0; first < out_channels; first += kBlock) {
    const uint32_t n = out_channels - first < kBlock ? out_channels - first : kBlock;
    int8_t* out = output + first;
    for (uint32_t x = 0; x < width; ++x, out += out_channels) {
      int32_t sums[kBlock] = {};
      if (n == kBlock && multiplier == 1) {
        SumBlock(*window, weights, x, first, sums);
      } else {
        Sum(*window, weights, multiplier, x, first, n, sums);
      }
      for (uint32_t c = 0; c < n; ++c) {
        const uint32_t channel = first + c;
        out[c] = Quantized(WrappingAdd(sums[c], q.bias[channel]), q.multipliers[channel], q.shifts[channel],
                           q.zero_point, q.clamp_min, q.clamp_max);
      }
    }
  }
}

}  // namespace depthwise
}  // namespace tflfuse

#endif  // TFLFUSE_KERNELS_DEPTHWISE_ANY_H_
