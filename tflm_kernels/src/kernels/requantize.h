// TFLM's MultiplyByQuantizedMultiplier, in fewer instructions and without undefined behaviour.
#ifndef TFLFUSE_KERNELS_REQUANTIZE_H_
#define TFLFUSE_KERNELS_REQUANTIZE_H_

#include <stdint.h>

namespace tflfuse {

#if defined(TFLITE_SINGLE_ROUNDING) && TFLITE_SINGLE_ROUNDING
constexpr bool kRoundsOnce = true;
#else
constexpr bool kRoundsOnce = false;
#endif

// x * multiplier * 2^(shift - 31), rounded as TFLM rounds.
// multiplier: >= 0. shift: -31 .. 30, positive to the left, where x wraps as it does in TFLM.
//
// Double rounding: the saturating rounding doubling high multiply is floor(x * m / 2^31 + 1/2), since it can only
// saturate for a negative m. The rounding divide by 2^e, half away from zero, is floor((h - [h < 0]) / 2^e + 1/2),
// written so that nothing can overflow.
inline int32_t Requantize(int32_t x, int32_t multiplier, int32_t shift) {
  if (kRoundsOnce) {
    const int32_t right = 31 - shift;
    const int64_t rounded = static_cast<int64_t>(x) * multiplier + (static_cast<int64_t>(1) << (right - 1));
    return static_cast<int32_t>(rounded >> right);
  }
  if (shift > 0) x = static_cast<int32_t>(static_cast<uint32_t>(x) << shift);
  const int32_t high = static_cast<int32_t>((static_cast<int64_t>(x) * multiplier + (1 << 30)) >> 31);
  if (shift >= 0) return high;
  return (((high + (high >> 31)) >> (-shift - 1)) + 1) >> 1;
}

// The sum, wrapped: what TFLM's accumulators do where a model overflows them.
inline int32_t WrappingAdd(int32_t a, int32_t b) {
  return static_cast<int32_t>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b));
}

// The product, wrapped.
inline int32_t WrappingMultiply(int32_t a, int32_t b) {
  return static_cast<int32_t>(static_cast<uint32_t>(a) * static_cast<uint32_t>(b));
}

inline int8_t Clamp(int32_t x, int32_t low, int32_t high) {
  return static_cast<int8_t>(x < low ? low : x > high ? high : x);
}

// An accumulator as an int8 of the output: requantized, moved to the zero point, clamped.
inline int8_t Quantized(int32_t sum, int32_t multiplier, int32_t shift, int32_t zero_point, int32_t low, int32_t high) {
  return Clamp(WrappingAdd(Requantize(sum, multiplier, shift), zero_point), low, high);
}

}  // namespace tflfuse

#endif  // TFLFUSE_KERNELS_REQUANTIZE_H_
