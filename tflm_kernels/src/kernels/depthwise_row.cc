#include "depthwise_row.h"

#include "requantize.h"

namespace tflfuse {
namespace {

constexpr uint32_t kBlock = 16;  // channels summed together: one vector register of bytes

// Whole blocks have a fixed length, for the compiler's sake.
inline void MultiplyAddBlock(const int8_t* x, const int8_t* w, int32_t* sums) {
  for (uint32_t c = 0; c < kBlock; ++c) sums[c] += x[c] * w[c];
}

inline void MultiplyAdd(const int8_t* x, const int8_t* w, uint32_t n, int32_t* sums) {
  for (uint32_t c = 0; c < n; ++c) sums[c] += x[c] * w[c];
}

// The input channels of n output channels from the first on, each repeated as often as outputs look at it.
void Repeat(const int8_t* x, uint32_t first, uint32_t multiplier, uint32_t n, int8_t* repeated) {
  uint32_t channel = first / multiplier, left = multiplier - first % multiplier;
  for (uint32_t c = 0; c < n; ++c) {
    repeated[c] = x[channel];
    if (--left == 0) {
      ++channel;
      left = multiplier;
    }
  }
}

// The sums of n <= kBlock output channels from the first on, for the window at x.
void Sum(const TflfuseWindow& window, const int8_t* weights, uint32_t multiplier, uint32_t x, uint32_t first, uint32_t n,
         int32_t* sums) {
  const uint32_t out_channels = window.channels * multiplier;
  const int8_t* w = weights + first;
  for (uint32_t k = 0; k < window.kernel_h; ++k) {
    const bool inner = k >= window.inner_begin && k < window.inner_end;
    const int8_t* row = window.rows[k] + (inner ? x * window.stride : 0);
    for (uint32_t tap = 0; tap < window.kernel_w; ++tap, row += window.dilation, w += out_channels) {
      int8_t repeated[kBlock];
      const int8_t* from = row + first;
      if (multiplier != 1) {
        Repeat(row, first, multiplier, n, repeated);
        from = repeated;
      }
      if (n == kBlock) {
        MultiplyAddBlock(from, w, sums);
      } else {
        MultiplyAdd(from, w, n, sums);
      }
    }
  }
}

}  // namespace
}  // namespace tflfuse

extern "C" void tflfuse_depthwise_row(const TflfuseWindow* window, const int8_t* weights,
                                      const TflfuseQuantization* quantization, uint32_t width, uint32_t multiplier,
                                      int8_t* output) {
  using namespace tflfuse;
  const TflfuseQuantization q = *quantization;
  const uint32_t out_channels = window->channels * multiplier;
  for (uint32_t first = 0; first < out_channels; first += kBlock) {
    const uint32_t n = out_channels - first < kBlock ? out_channels - first : kBlock;
    int8_t* out = output + first;
    for (uint32_t x = 0; x < width; ++x, out += out_channels) {
      int32_t sums[kBlock] = {};
      Sum(*window, weights, multiplier, x, first, n, sums);
      for (uint32_t c = 0; c < n; ++c) {
        const uint32_t channel = first + c;
        out[c] = Quantized(WrappingAdd(sums[c], q.bias[channel]), q.multipliers[channel], q.shifts[channel],
                           q.zero_point, q.clamp_min, q.clamp_max);
      }
    }
  }
}
