#include "../average_pixel.h"

#include "../backend.h"

#ifdef TFLFUSE_ARM_MVE

#include "average_lanes.h"

extern "C" void tflfuse_average_pixel(const int32_t* sums, int32_t count, int32_t clamp_min, int32_t clamp_max,
                                      uint32_t channels, int8_t* output) {
  using namespace tflfuse;
  const Averager average(count);
  for (uint32_t c = 0; c < channels; c += 4) {
    const mve_pred16_t some = vctp32q(channels - c);
    vstrbq_p_s32(output + c, Clamped(average(vldrwq_z_s32(sums + c, some)), clamp_min, clamp_max), some);
  }
}

#endif  // TFLFUSE_ARM_MVE
