#include "../add_row.h"

#include "../backend.h"

#ifdef TFLFUSE_ARM_MVE

#include "../chain_options.h"
#include "lanes.h"

namespace tflfuse {
namespace {

// A multiplier and shift for all lanes.
struct Scale {
  int32_t multiplier;
  int32_t shift;
};

// x * scale, rounded as Requantize rounds.
inline int32x4_t Scaled(int32x4_t x, const Scale& scale) {
  return Requantized<Scaling::kAny>(x, vdupq_n_s32(scale.multiplier), vdupq_n_s32(scale.shift));
}

// Operands on the scale in which they are added.
inline int32x4_t Operands(int32x4_t x, int32_t zero_point, const Scale& scale) {
  return Scaled(vshlq_n_s32(vsubq_n_s32(x, zero_point), kAddLeftShift), scale);
}

}  // namespace
}  // namespace tflfuse

extern "C" void tflfuse_add_row(const TflfuseAdd* add, const int8_t* a, const int8_t* b, uint32_t n, int8_t* output) {
  using namespace tflfuse;
  const TflfuseAdd p = *add;
  const Scale a_scale = {p.a_multiplier, p.a_shift}, b_scale = {p.b_multiplier, p.b_shift};
  const Scale scale = {p.multiplier, p.shift};
  for (uint32_t i = 0; i < n; i += 4) {
    const mve_pred16_t some = vctp32q(n - i);
    const int32x4_t sum = vaddq_s32(Operands(vldrbq_z_s32(a + i, some), p.a_zero_point, a_scale),
                                    Operands(vldrbq_z_s32(b + i, some), p.b_zero_point, b_scale));
    const int32x4_t y = vaddq_n_s32(Scaled(sum, scale), p.zero_point);
    vstrbq_p_s32(output + i, vminq_s32(vmaxq_s32(y, vdupq_n_s32(p.clamp_min)), vdupq_n_s32(p.clamp_max)), some);
  }
}

#endif  // TFLFUSE_ARM_MVE
