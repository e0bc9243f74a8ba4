#include "../table_row.h"

#include "../backend.h"

#ifdef TFLFUSE_ARM_MVE

#include <arm_mve.h>

extern "C" void tflfuse_table_row(const int8_t* table, const int8_t* input, uint32_t n, int8_t* output) {
  const uint8x16_t middle = vdupq_n_u8(128);
  for (uint32_t i = 0; i < n; i += 16) {
    const mve_pred16_t some = vctp8q(n - i);
    const uint8x16_t places = veorq_u8(vreinterpretq_u8_s8(vldrbq_z_s8(input + i, some)), middle);
    vstrbq_p_s8(output + i, vldrbq_gather_offset_s8(table, places), some);
  }
}

#endif  // TFLFUSE_ARM_MVE
