#include "../mean_pixel.h"

#include "../backend.h"

#ifdef TFLFUSE_ARM_MVE

#include "uniform.h"

extern "C" void tflfuse_mean_pixel(const TflfuseMean* mean, const int32_t* sums, uint32_t channels, int8_t* output) {
  using namespace tflfuse;
  const TflfuseMean m = *mean;
  const Uniform uniform(m.multiplier, m.shift, m.zero_point, m.clamp_min, m.clamp_max);
  for (uint32_t c = 0; c < channels; c += 4) {
    const mve_pred16_t some = vctp32q(channels - c);
    vstrbq_p_s32(output + c, uniform(vsubq_n_s32(vldrwq_z_s32(sums + c, some), m.offset)), some);
  }
}

#endif  // TFLFUSE_ARM_MVE
