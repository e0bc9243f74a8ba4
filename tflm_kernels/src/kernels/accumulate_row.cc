#include "accumulate_row.h"

#include "backend.h"

#ifndef TFLFUSE_HAS_ACCUMULATE_ROW

#include "requantize.h"

extern "C" void tflfuse_accumulate_row(const int8_t* input, uint32_t width, uint32_t channels, int32_t* sums) {
  for (uint32_t x = 0; x < width; ++x, input += channels) {
    for (uint32_t c = 0; c < channels; ++c) sums[c] = tflfuse::WrappingAdd(sums[c], input[c]);
  }
}

#endif  // TFLFUSE_HAS_ACCUMULATE_ROW
