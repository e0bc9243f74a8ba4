// One scale for all lanes, as requantize.h computes each.
#ifndef TFLFUSE_KERNELS_ARM_MVE_UNIFORM_H_
#define TFLFUSE_KERNELS_ARM_MVE_UNIFORM_H_

#include "lanes.h"

namespace tflfuse {

// Requantize, with a multiplier and a shift as it wants them.
class Scale {
 public:
  Scale(int32_t multiplier, int32_t shift)
      : multiplier_(multiplier), shift_(shift), left_(shift > 0 ? shift : 0), right_(shift < 0 ? shift : 0) {}

  int32x4_t operator()(int32x4_t x) const {
    if (kSingleRounding) return Requantized<Scaling::kAny>(x, vdupq_n_s32(multiplier_), vdupq_n_s32(shift_));
    const int32x4_t high = vqrdmulhq_n_s32(vshlq_r_s32(x, left_), multiplier_);
    return vrshlq_n_s32(vaddq_s32(high, vshrq_n_s32(vandq_s32(high, vdupq_n_s32(right_)), 31)), right_);
  }

 private:
  int32_t multiplier_, shift_, left_, right_;
};

// Quantized, likewise.
class Uniform {
 public:
  Uniform(int32_t multiplier, int32_t shift, int32_t zero_point, int32_t low, int32_t high)
      : scale_(multiplier, shift), zero_point_(zero_point), low_(low), high_(high) {}

  int32x4_t operator()(int32x4_t x) const {
    const int32x4_t y = vaddq_n_s32(scale_(x), zero_point_);
    return vminq_s32(vmaxq_s32(y, vdupq_n_s32(low_)), vdupq_n_s32(high_));
  }

 private:
  Scale scale_;
  int32_t zero_point_, low_, high_;
};

}  // namespace tflfuse

#endif  // TFLFUSE_KERNELS_ARM_MVE_UNIFORM_H_
