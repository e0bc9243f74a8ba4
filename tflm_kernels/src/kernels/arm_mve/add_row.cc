#include "../add_row.h"

#include "../backend.h"

#ifdef TFLFUSE_ARM_MVE

#include "../chain_options.h"
#include "lanes.h"

namespace tflfuse {
namespace {

// A multiplier, and a shift that is not to the left.
struct Scale {
  int32_t multiplier;
  int32_t shift;
};

// x scaled, rounded as Requantize rounds. kShifts: the shift is not 0.
template <bool kShifts>
inline int32x4_t Scaled(int32x4_t x, const Scale& scale) {
  const int32x4_t high = vqrdmulhq_n_s32(x, scale.multiplier);
  return kShifts ? vrshlq_n_s32(vaddq_s32(high, vshrq_n_s32(high, 31)), scale.shift) : high;
}

// Eight operands on the scale in which they are added, those in even lanes and those in odd ones.
template <bool kShifts>
inline int32x4x2_t Operands(int16x8_t x, int32_t zero_point, const Scale& scale) {
  constexpr int kLong = 16;  // how far an instruction shifts while it widens
  const int16x8_t begun = vshlq_n_s16(vsubq_n_s16(x, static_cast<int16_t>(zero_point)), kAddLeftShift - kLong);
  return {{Scaled<kShifts>(vshllbq_n_s16(begun, kLong), scale), Scaled<kShifts>(vshlltq_n_s16(begun, kLong), scale)}};
}

struct Addition {
  Scale a, b, sum;
  int32_t a_zero_point, b_zero_point, zero_point;
  int32_t clamp_min, clamp_max;
};

template <bool kShiftsA, bool kShiftsB>
void Add(const Addition& addition, const int8_t* a, const int8_t* b, uint32_t n, int8_t* output) {
  const Addition p = addition;
  for (uint32_t i = 0; i < n; i += 8) {
    const mve_pred16_t some = vctp16q(n - i);
    const int32x4x2_t x = Operands<kShiftsA>(vldrbq_z_s16(a + i, some), p.a_zero_point, p.a);
    const int32x4x2_t y = Operands<kShiftsB>(vldrbq_z_s16(b + i, some), p.b_zero_point, p.b);
    const int32x4_t even = Scaled<true>(vaddq_s32(x.val[0], y.val[0]), p.sum);
    const int32x4_t odd = Scaled<true>(vaddq_s32(x.val[1], y.val[1]), p.sum);
    const int16x8_t sum = vqaddq_n_s16(Narrowed(even, odd), static_cast<int16_t>(p.zero_point));
    vstrbq_p_s16(output + i, vminq_s16(vmaxq_s16(sum, vdupq_n_s16(static_cast<int16_t>(p.clamp_min))),
                                       vdupq_n_s16(static_cast<int16_t>(p.clamp_max))),
                 some);
  }
}

// Any scales.
int32x4_t AnyOperands(int32x4_t x, int32_t zero_point, int32_t multiplier, int32_t shift) {
  return Requantized<Scaling::kAny>(vshlq_n_s32(vsubq_n_s32(x, zero_point), kAddLeftShift), vdupq_n_s32(multiplier),
                                    vdupq_n_s32(shift));
}

void AddAny(const TflfuseAdd& p, const int8_t* a, const int8_t* b, uint32_t n, int8_t* output) {
  for (uint32_t i = 0; i < n; i += 4) {
    const mve_pred16_t some = vctp32q(n - i);
    const int32x4_t sum =
        vaddq_s32(AnyOperands(vldrbq_z_s32(a + i, some), p.a_zero_point, p.a_multiplier, p.a_shift),
                  AnyOperands(vldrbq_z_s32(b + i, some), p.b_zero_point, p.b_multiplier, p.b_shift));
    const int32x4_t scaled =
        Requantized<Scaling::kAny>(sum, vdupq_n_s32(p.multiplier), vdupq_n_s32(p.shift));
    const int32x4_t y = vaddq_n_s32(scaled, p.zero_point);
    vstrbq_p_s32(output + i, vminq_s32(vmaxq_s32(y, vdupq_n_s32(p.clamp_min)), vdupq_n_s32(p.clamp_max)), some);
  }
}

}  // namespace
}  // namespace tflfuse

extern "C" void tflfuse_add_row(const TflfuseAdd* add, const int8_t* a, const int8_t* b, uint32_t n, int8_t* output) {
  using namespace tflfuse;
  const TflfuseAdd& p = *add;
  if (kSingleRounding || p.a_shift > 0 || p.b_shift > 0 || p.shift >= 0) {
    AddAny(p, a, b, n, output);
    return;
  }
  Addition addition = {{p.a_multiplier, p.a_shift}, {p.b_multiplier, p.b_shift}, {p.multiplier, p.shift},
                       p.a_zero_point, p.b_zero_point, p.zero_point, p.clamp_min, p.clamp_max};
  if (p.a_shift == 0 && p.b_shift == 0) {
    Add<false, false>(addition, a, b, n, output);
  } else if (p.a_shift == 0) {
    Add<false, true>(addition, a, b, n, output);
  } else if (p.b_shift == 0) {
    Add<true, false>(addition, a, b, n, output);
  } else {
    Add<true, true>(addition, a, b, n, output);
  }
}

#endif  // TFLFUSE_ARM_MVE
