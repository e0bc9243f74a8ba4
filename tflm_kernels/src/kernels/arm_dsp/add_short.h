// The sum of two int8 arrays the short way, which the usual parameters allow.
#ifndef TFLFUSE_KERNELS_ARM_DSP_ADD_SHORT_H_
#define TFLFUSE_KERNELS_ARM_DSP_ADD_SHORT_H_

#include "../add_row.h"
#include "../chain_options.h"
#include "rounding.h"

namespace tflfuse {
namespace dsp {

// Multiplied by one half, which TFLM does to the operand of the larger scale: exact, and no multiplication.
inline bool IsHalf(int32_t multiplier, int32_t shift) { return multiplier == 1 << 30 && shift == 0; }

inline bool IsShort(int32_t multiplier, int32_t shift) {
  return (multiplier == 0 || multiplier >= 1 << 30) && shift < 0 && shift >= -23;
}

// One operand with the scale of a half, x, the other, y: (x - zero_x) * 2^19 + Scaled((y - zero_y) * 2^20), doubled, is
// x * 2^20 + 2 * Scaled(...) and a constant. The larger operand is below 2^28, the sum below 2^29.
template <bool clamped>
void AddHalf(const TflfuseAdd& p, const Scale& y_scale, int32_t x_zero, int32_t y_zero, const int8_t* x,
             const int8_t* y, uint32_t n, int8_t* output) {
  const Scale scale = ScaleOf(p.multiplier, p.shift, p.zero_point), other = y_scale;  // output may be any memory
  const int32_t x_shift = static_cast<int32_t>(kAddLeftShift), y_shift = x_shift + 1;
  const int32_t x_offset = Opaque(-x_zero * (1 << x_shift)), y_offset = Opaque(-y_zero * (1 << y_shift));
  for (const int8_t* end = x + n; x != end; ++x, ++y, ++output) {
    const int32_t y_doubled = *y * (1 << y_shift) + y_offset;
    const int32_t y_scaled = (MultiplyUpper(y_doubled, other.multiplier, other.addend) + (y_doubled >> 31)) >>
                             other.halvings >> 1;
    const int32_t sum_doubled = *x * (1 << x_shift) + x_offset + y_scaled * 2;
    const int32_t z = SaturateHalf((MultiplyUpper(sum_doubled, scale.multiplier, scale.addend) + (sum_doubled >> 31)) >>
                                   scale.halvings);
    *output = clamped ? Clamp(z, p.clamp_min, p.clamp_max) : static_cast<int8_t>(z);
  }
}

// Both operands with the scale of a half.
template <bool clamped>
void AddHalves(const TflfuseAdd& p, const int8_t* a, const int8_t* b, uint32_t n, int8_t* output) {
  const Scale scale = ScaleOf(p.multiplier, p.shift, p.zero_point);
  const int32_t offset = Opaque(-(p.a_zero_point + p.b_zero_point) * (1 << kAddLeftShift));
  for (const int8_t* end = a + n; a != end; ++a, ++b, ++output) {
    const int32_t doubled = (*a + *b) * (1 << kAddLeftShift) + offset;
    const int32_t z = SaturateHalf((MultiplyUpper(doubled, scale.multiplier, scale.addend) + (doubled >> 31)) >>
                                   scale.halvings);
    *output = clamped ? Clamp(z, p.clamp_min, p.clamp_max) : static_cast<int8_t>(z);
  }
}

// False where the parameters are not those that this can do; nothing is written then.
inline bool AddShort(const TflfuseAdd& p, const int8_t* a, const int8_t* b, uint32_t n, int8_t* output) {
  const bool a_half = IsHalf(p.a_multiplier, p.a_shift), b_half = IsHalf(p.b_multiplier, p.b_shift);
  if (kRoundsOnce || !IsShort(p.multiplier, p.shift)) return false;
  const bool clamped = p.clamp_min != -128 || p.clamp_max != 127;
  if (a_half && b_half) {
    clamped ? AddHalves<true>(p, a, b, n, output) : AddHalves<false>(p, a, b, n, output);
    return true;
  }
  if (a_half && IsShort(p.b_multiplier, p.b_shift)) {
    const Scale s = ScaleOf(p.b_multiplier, p.b_shift, 0);
    clamped ? AddHalf<true>(p, s, p.a_zero_point, p.b_zero_point, a, b, n, output)
            : AddHalf<false>(p, s, p.a_zero_point, p.b_zero_point, a, b, n, output);
    return true;
  }
  if (b_half && IsShort(p.a_multiplier, p.a_shift)) {
    const Scale s = ScaleOf(p.a_multiplier, p.a_shift, 0);
    clamped ? AddHalf<true>(p, s, p.b_zero_point, p.a_zero_point, b, a, n, output)
            : AddHalf<false>(p, s, p.b_zero_point, p.a_zero_point, b, a, n, output);
    return true;
  }
  return false;
}

}  // namespace dsp
}  // namespace tflfuse

#endif  // TFLFUSE_KERNELS_ARM_DSP_ADD_SHORT_H_
