#include "../average_pool_row.h"

#include "../backend.h"

#ifdef TFLFUSE_ARM_MVE

#include "../pool_columns.h"
#include "average_lanes.h"

extern "C" void tflfuse_average_pool_row(const TflfusePool* pool, uint32_t width, int8_t* output) {
  using namespace tflfuse;
  const TflfusePool p = *pool;
  for (uint32_t x = 0; x < width; ++x, output += p.channels) {
    const Columns columns = ColumnsOf(p, x);
    const uint32_t taps = columns.end - columns.begin;
    const Averager average(static_cast<int32_t>(taps * p.row_count));
    for (uint32_t c = 0; c < p.channels; c += 4) {
      const mve_pred16_t some = vctp32q(p.channels - c);
      int32x4_t sum = vdupq_n_s32(0);
      for (uint32_t k = 0; k < p.row_count; ++k) {
        const int8_t* in = p.rows[k] + columns.begin * p.channels + c;
        for (uint32_t tap = 0; tap < taps; ++tap, in += p.channels) sum = vaddq_s32(sum, vldrbq_z_s32(in, some));
      }
      vstrbq_p_s32(output + c, Clamped(average(sum), p.clamp_min, p.clamp_max), some);
    }
  }
}

#endif  // TFLFUSE_ARM_MVE
