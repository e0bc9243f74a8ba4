// Means of four sums at once, as average.h computes each.
#ifndef TFLFUSE_KERNELS_ARM_MVE_AVERAGE_LANES_H_
#define TFLFUSE_KERNELS_ARM_MVE_AVERAGE_LANES_H_

#include <arm_mve.h>

#include "../average.h"

namespace tflfuse {

// Divides by a count: sum / count, halves away from zero, |sum| <= 128 * count.
//
// The quotient of n = |sum| + count / 2 is floor(n * m / 2^32) for m = floor((2^32 - 1) / count) + 1, which is 2^32 / count
// or less than 1 more, where n * count < 2^32. n is at most 128.5 * count: that holds for counts up to kMost.
class Averager {
 public:
  explicit Averager(int32_t count) : count_(count), inverse_(UINT32_MAX / static_cast<uint32_t>(count) + 1) {}

  int32x4_t operator()(int32x4_t sums) const {
    if (count_ == 1) return sums;
    if (count_ > kMost) {
      for (int lane = 0; lane < 4; ++lane) sums[lane] = Average(sums[lane], count_);
      return sums;
    }
    const uint32x4_t n = vreinterpretq_u32_s32(vaddq_n_s32(vabsq_s32(sums), count_ / 2));
    const int32x4_t quotient = vreinterpretq_s32_u32(vmulhq_u32(n, vdupq_n_u32(inverse_)));
    return vnegq_m_s32(quotient, quotient, vcmpltq_n_s32(sums, 0));
  }

 private:
  static constexpr int32_t kMost = 5000;
  int32_t count_;
  uint32_t inverse_;
};

inline int32x4_t Clamped(int32x4_t y, int32_t low, int32_t high) {
  return vminq_s32(vmaxq_s32(y, vdupq_n_s32(low)), vdupq_n_s32(high));
}

}  // namespace tflfuse

#endif  // TFLFUSE_KERNELS_ARM_MVE_AVERAGE_LANES_H_
