#include "mean_pixel.h"

#include "backend.h"

#ifndef TFLFUSE_HAS_MEAN_PIXEL

#include "requantize.h"

extern "C" void tflfuse_mean_pixel(const TflfuseMean* mean, const int32_t* sums, uint32_t channels, int8_t* output) {
  using namespace tflfuse;
  const TflfuseMean m = *mean;
  const int32_t negated = static_cast<int32_t>(0u - static_cast<uint32_t>(m.offset));
  for (uint32_t c = 0; c < channels; ++c) {
    output[c] = Quantized(WrappingAdd(sums[c], negated), m.multiplier, m.shift, m.zero_point, m.clamp_min, m.clamp_max);
  }
}

#endif  // TFLFUSE_HAS_MEAN_PIXEL
