#include "../mul_constant_row.h"

#include "../backend.h"

#ifdef TFLFUSE_ARM_MVE

#include "uniform.h"

extern "C" void tflfuse_mul_constant_row(const TflfuseMul* mul, const int8_t* a, const int32_t* b, uint32_t width,
                                         uint32_t channels, int8_t* output) {
  using namespace tflfuse;
  const TflfuseMul p = *mul;
  const Uniform uniform(p.multiplier, p.shift, p.zero_point, p.clamp_min, p.clamp_max);
  for (uint32_t c = 0; c < channels; c += 4) {
    const mve_pred16_t some = vctp32q(channels - c);
    const int32x4_t factor = vldrwq_z_s32(b + c, some);
    for (uint32_t at = c, end = c + width * channels; at < end; at += channels) {
      const int32x4_t x = vsubq_n_s32(vldrbq_z_s32(a + at, some), p.a_zero_point);
      vstrbq_p_s32(output + at, uniform(vmulq_s32(x, factor)), some);
    }
  }
}

#endif  // TFLFUSE_ARM_MVE
