// Rows of a convolution for four output channels, three windows at a time.
#ifndef TFLFUSE_KERNELS_ARM_MVE_CONV_THREES_H_
#define TFLFUSE_KERNELS_ARM_MVE_CONV_THREES_H_

#include "dot.h"
#include "lanes.h"

namespace tflfuse {

constexpr uint32_t kChannels = 4;      // output channels computed together: one vector register of sums
constexpr uint32_t kOverlapped = 160;  // bytes of a window up to which it is faster to compute some twice

// Four output channels from those on that weights and bias belong to. Where there are fewer, n, the last one stands for
// those that are missing.
inline void SetChannels(const int8_t* weights, uint32_t pitch, const int32_t* bias, uint32_t n, Quad* quad) {
  constexpr uint32_t kOrder[] = {0, 2, 1, 3};
  for (uint32_t c = 0; c < kChannels; ++c) {
    const uint32_t channel = kOrder[c] < n ? kOrder[c] : n - 1;
    quad->weights[c] = weights + channel * pitch;
    quad->bias[c] = bias[channel];
  }
}

// How the sums of up to four channels become int8.
struct Quantizer {
  int32x4_t multiplier;
  int32x4_t shift;
  int32_t zero_point;
  int32_t clamp_min;
  int32_t clamp_max;
  uint32_t n;
};

// Three windows at a time, of windows that have one row, or several within the plane. The number of pixels that are left.
template <Scaling kScaling, bool kFlat>
[[gnu::always_inline]] inline uint32_t ConvolveMost(uint32_t pixels, const Quantizer& quantizer, Quad* quad) {
  constexpr bool kIsClamped = kScaling == Scaling::kClamped;
  const uint32_t left = pixels % 3;
  uint32_t threes = pixels / 3;
  if (threes == 0) return left;
  // The last three begin earlier where that is faster than to be two or twice two.
  const bool again = left > 0 && quad->length <= kOverlapped;
  if (left == 1 && !again) --threes;
  for (uint32_t done = 0; threes > 0; threes = again && done == 1 ? 1 : 0) {
    quad->threes = threes;
    ConvolveThrees<kFlat, kIsClamped>(quad, quantizer.multiplier, quantizer.shift);
    if (!again || ++done == 2) continue;
    const uint32_t back = 3 - left;
    quad->windows -= back * quad->stride;
    quad->rows.offset -= back * quad->stride;
    quad->output -= back * quad->pitch;
  }
  return again ? 0 : left == 1 ? 4 : left;
}

}  // namespace tflfuse

#endif  // TFLFUSE_KERNELS_ARM_MVE_CONV_THREES_H_
