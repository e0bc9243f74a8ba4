#include "../accumulate_row.h"

#include "../backend.h"

#ifdef TFLFUSE_ARM_MVE

#include <arm_mve.h>

extern "C" void tflfuse_accumulate_row(const int8_t* input, uint32_t width, uint32_t channels, int32_t* sums) {
  uint32_t c = 0;
  for (; c + 8 <= channels; c += 8) {
    int32x4_t lower = vldrwq_s32(sums + c), upper = vldrwq_s32(sums + c + 4);
    const int8_t* in = input + c;
    for (uint32_t x = 0; x < width; ++x, in += channels) {
      lower = vaddq_s32(lower, vldrbq_s32(in));
      upper = vaddq_s32(upper, vldrbq_s32(in + 4));
    }
    vstrwq_s32(sums + c, lower);
    vstrwq_s32(sums + c + 4, upper);
  }
  for (; c < channels; c += 4) {
    const mve_pred16_t some = vctp32q(channels - c);
    int32x4_t sum = vldrwq_z_s32(sums + c, some);
    const int8_t* in = input + c;
    for (uint32_t x = 0; x < width; ++x, in += channels) sum = vaddq_s32(sum, vldrbq_z_s32(in, some));
    vstrwq_p_s32(sums + c, sum, some);
  }
}

#endif  // TFLFUSE_ARM_MVE
