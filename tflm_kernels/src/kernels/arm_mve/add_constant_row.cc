#include "../add_constant_row.h"

#include "../backend.h"

#ifdef TFLFUSE_ARM_MVE

#include "../chain_options.h"
#include "uniform.h"

extern "C" void tflfuse_add_constant_row(const TflfuseAdd* add, const int8_t* a, const int32_t* b, uint32_t width,
                                         uint32_t channels, int8_t* output) {
  using namespace tflfuse;
  const TflfuseAdd p = *add;
  const Scale scale(p.a_multiplier, p.a_shift);
  const Uniform uniform(p.multiplier, p.shift, p.zero_point, p.clamp_min, p.clamp_max);
  for (uint32_t c = 0; c < channels; c += 4) {
    const mve_pred16_t some = vctp32q(channels - c);
    const int32x4_t addend = vldrwq_z_s32(b + c, some);
    for (uint32_t at = c, end = c + width * channels; at < end; at += channels) {
      const int32x4_t x = vshlq_n_s32(vsubq_n_s32(vldrbq_z_s32(a + at, some), p.a_zero_point), kAddLeftShift);
      vstrbq_p_s32(output + at, uniform(vaddq_s32(scale(x), addend)), some);
    }
  }
}

#endif  // TFLFUSE_ARM_MVE
