#include "average_pixel.h"

#include "backend.h"

#ifndef TFLFUSE_HAS_AVERAGE_PIXEL

#include "average.h"
#include "requantize.h"

extern "C" void tflfuse_average_pixel(const int32_t* sums, int32_t count, int32_t clamp_min, int32_t clamp_max,
                                      uint32_t channels, int8_t* output) {
  using namespace tflfuse;
  for (uint32_t c = 0; c < channels; ++c) output[c] = Clamp(Average(sums[c], count), clamp_min, clamp_max);
}

#endif  // TFLFUSE_HAS_AVERAGE_PIXEL
