#include "max_pool_row.h"

#include "backend.h"

#ifndef TFLFUSE_HAS_MAX_POOL_ROW

#include <string.h>

#include "pool_columns.h"
#include "requantize.h"

extern "C" void tflfuse_max_pool_row(const TflfusePool* pool, uint32_t width, int8_t* output) {
  using namespace tflfuse;
  const TflfusePool p = *pool;
  for (uint32_t x = 0; x < width; ++x, output += p.channels) {
    const Columns columns = ColumnsOf(p, x);
    memset(output, -128, p.channels);
    for (uint32_t k = 0; k < p.row_count; ++k) {
      const int8_t* in = p.rows[k] + columns.begin * p.channels;
      for (uint32_t column = columns.begin; column < columns.end; ++column, in += p.channels) {
        for (uint32_t c = 0; c < p.channels; ++c) output[c] = in[c] > output[c] ? in[c] : output[c];
      }
    }
    for (uint32_t c = 0; c < p.channels; ++c) output[c] = Clamp(output[c], p.clamp_min, p.clamp_max);
  }
}

#endif  // TFLFUSE_HAS_MAX_POOL_ROW
