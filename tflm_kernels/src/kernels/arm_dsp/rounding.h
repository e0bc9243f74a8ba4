// The short way from a sum to an int8, for multipliers m that are 0 or in [2^30, 2^31), right shifts e of 1 .. 23 and
// sums below 2^30: exactly what requantize.h does with double rounding.
//
// The saturating rounding doubling high multiply of x is h = (2x * m + 2^31) >> 32. The rounding divide by 2^e, half
// away from zero, is (h - [h < 0] + 2^(e-1)) >> e. h < 0 where x < 0, but for h = 0 at x = -1, m = 2^30 and at m = 0:
// there (-1 + 2^(e-1)) >> e is 0 too, so the sign of x serves. The zero point z joins as z << e.
#ifndef TFLFUSE_KERNELS_ARM_DSP_ROUNDING_H_
#define TFLFUSE_KERNELS_ARM_DSP_ROUNDING_H_

#include "../requantize.h"
#include "../window.h"
#include "dsp.h"

namespace tflfuse {
namespace dsp {

// How a channel's sums become int8.
enum class Rounding {
  kSaturate,  // the short way; the clamp is that of int8
  kClamp,     // the short way, and a clamp
  kAny,
};

inline Rounding RoundingOf(const TflfuseQuantization& q) {
  if (kRoundsOnce || q.plain == 0) return Rounding::kAny;
  return q.clamp_min == -128 && q.clamp_max == 127 ? Rounding::kSaturate : Rounding::kClamp;
}

// Where what lies below the zero point becomes the smallest output, as behind a RELU, negative sums need not be rounded
// away from zero: rounded upwards, they are at most the zero point too.
inline bool RoundsUpwards(const TflfuseQuantization& q) { return q.clamp_min >= q.zero_point; }

// e = halvings + 1. The addend is 2^(e-1) + z * 2^e.
struct Scale {
  int32_t multiplier;
  int32_t addend;
  int32_t halvings;
};

inline Scale ScaleOf(int32_t multiplier, int32_t shift, int32_t zero_point) {
  const int32_t halvings = ~shift;
  return {multiplier, static_cast<int32_t>(static_cast<uint32_t>(2 * zero_point + 1) << halvings), halvings};
}

inline int32_t Scaled(int32_t x, const Scale& s) {
  const int32_t doubled = static_cast<int32_t>(static_cast<uint32_t>(x) << 1);
  return (MultiplyUpper(doubled, s.multiplier, s.addend) + (doubled >> 31)) >> s.halvings;
}

inline int8_t Saturated(int32_t x, const Scale& s) { return static_cast<int8_t>(SaturateHalf(Scaled(x, s))); }

}  // namespace dsp
}  // namespace tflfuse

#endif  // TFLFUSE_KERNELS_ARM_DSP_ROUNDING_H_
