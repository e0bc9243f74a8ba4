#include "average_pool_row.h"

#include "backend.h"

#ifndef TFLFUSE_HAS_AVERAGE_POOL_ROW

#include "average.h"
#include "pool_columns.h"
#include "requantize.h"

extern "C" void tflfuse_average_pool_row(const TflfusePool* pool, uint32_t width, int8_t* output) {
  using namespace tflfuse;
  const TflfusePool p = *pool;
  for (uint32_t x = 0; x < width; ++x, output += p.channels) {
    const Columns columns = ColumnsOf(p, x);
    const int32_t count = static_cast<int32_t>((columns.end - columns.begin) * p.row_count);
    for (uint32_t first = 0; first < p.channels; first += kPoolBlock) {
      const uint32_t n = BlockSize(first, p.channels);
      int32_t sums[kPoolBlock] = {};
      for (uint32_t k = 0; k < p.row_count; ++k) {
        const int8_t* in = p.rows[k] + columns.begin * p.channels + first;
        for (uint32_t column = columns.begin; column < columns.end; ++column, in += p.channels) {
          for (uint32_t c = 0; c < n; ++c) sums[c] += in[c];
        }
      }
      for (uint32_t c = 0; c < n; ++c) output[first + c] = Clamp(Average(sums[c], count), p.clamp_min, p.clamp_max);
    }
  }
}

#endif  // TFLFUSE_HAS_AVERAGE_POOL_ROW
