#include "../max_pool_row.h"

#include "../backend.h"

#ifdef TFLFUSE_ARM_MVE

#include <arm_mve.h>

#include "../pool_columns.h"

extern "C" void tflfuse_max_pool_row(const TflfusePool* pool, uint32_t width, int8_t* output) {
  using namespace tflfuse;
  const TflfusePool p = *pool;
  const int8x16_t low = vdupq_n_s8(static_cast<int8_t>(p.clamp_min)), high = vdupq_n_s8(static_cast<int8_t>(p.clamp_max));
  for (uint32_t x = 0; x < width; ++x, output += p.channels) {
    const Columns columns = ColumnsOf(p, x);
    for (uint32_t c = 0; c < p.channels; c += 16) {
      const mve_pred16_t some = vctp8q(p.channels - c);
      int8x16_t largest = low;
      for (uint32_t k = 0; k < p.row_count; ++k) {
        const int8_t* in = p.rows[k] + columns.begin * p.channels + c;
        for (uint32_t column = columns.begin; column < columns.end; ++column, in += p.channels) {
          largest = vmaxq_s8(largest, vldrbq_z_s8(in, some));
        }
      }
      vstrbq_p_s8(output + c, vminq_s8(largest, high), some);
    }
  }
}

#endif  // TFLFUSE_ARM_MVE
