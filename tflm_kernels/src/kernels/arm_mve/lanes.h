// Requantization of four sums at once, as requantize.h computes each.
#ifndef TFLFUSE_KERNELS_ARM_MVE_LANES_H_
#define TFLFUSE_KERNELS_ARM_MVE_LANES_H_

#include <arm_mve.h>

#include "../requantize.h"
#include "../window.h"

namespace tflfuse {

// What a row's requantizations need not do.
enum class Scaling {
  kAny,      // everything
  kRight,    // nothing shifts to the left
  kClamped,  // the same, and where halves of negative results go does not matter: all of those become clamp_min
};

#if defined(TFLITE_SINGLE_ROUNDING) && TFLITE_SINGLE_ROUNDING
constexpr bool kSingleRounding = true;
#else
constexpr bool kSingleRounding = false;
#endif

// n: channels, at least one. With single rounding, for which there is no vector instruction, always kAny.
inline Scaling ScalingOf(const TflfuseQuantization& q, uint32_t n) {
  if (kSingleRounding) return Scaling::kAny;
  int8_t largest = -128;
  for (uint32_t at = 0; at < n && q.plain == 0; at += 16) {
    const mve_pred16_t some = vctp8q(n - at);
    largest = vmaxvq_p_s8(largest, vldrbq_z_s8(q.shifts + at, some), some);
  }
  if (largest > 0) return Scaling::kAny;
  return q.clamp_min >= q.zero_point ? Scaling::kClamped : Scaling::kRight;
}

// Lanes, multipliers and shifts as Requantize wants them. With kClamped, negative results may be rounded either way.
template <Scaling kScaling>
inline int32x4_t Requantized(int32x4_t x, int32x4_t multiplier, int32x4_t shift) {
  if (kSingleRounding) {
    for (int lane = 0; lane < 4; ++lane) x[lane] = Requantize(x[lane], multiplier[lane], shift[lane]);
    return x;
  }
  if (kScaling == Scaling::kClamped) return vrshlq_s32(vqrdmulhq_s32(x, multiplier), shift);
  const int32x4_t none = vdupq_n_s32(0), right = kScaling == Scaling::kRight ? shift : vminq_s32(shift, none);
  if (kScaling == Scaling::kAny) x = vshlq_s32(x, vmaxq_s32(shift, none));
  const int32x4_t high = vqrdmulhq_s32(x, multiplier);
  return vrshlq_s32(vaddq_s32(high, vshrq_n_s32(vandq_s32(high, right), 31)), right);
}

// a in even lanes, b in odd ones.
inline int16x8_t Narrowed(int32x4_t a, int32x4_t b) {
  return vqmovntq_s32(vqmovnbq_s32(vuninitializedq_s16(), a), b);
}

// a in even bytes, b in odd ones.
inline int8x16_t Narrowed(int16x8_t a, int16x8_t b) {
  return vqmovntq_s16(vqmovnbq_s16(vuninitializedq_s8(), a), b);
}

}  // namespace tflfuse

#endif  // TFLFUSE_KERNELS_ARM_MVE_LANES_H_
