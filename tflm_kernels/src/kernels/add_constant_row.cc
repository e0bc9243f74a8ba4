#include "add_constant_row.h"

#include "backend.h"

#ifndef TFLFUSE_HAS_ADD_CONSTANT_ROW

#include "add_scaled.h"

extern "C" void tflfuse_add_constant_row(const TflfuseAdd* add, const int8_t* a, const int32_t* b, uint32_t width,
                                         uint32_t channels, int8_t* output) {
  using namespace tflfuse;
  const TflfuseAdd p = *add;
  for (uint32_t x = 0; x < width; ++x, a += channels, output += channels) {
    for (uint32_t c = 0; c < channels; ++c) {
      const int32_t sum = WrappingAdd(AddScaled(a[c], p.a_zero_point, p.a_multiplier, p.a_shift), b[c]);
      output[c] = Quantized(sum, p.multiplier, p.shift, p.zero_point, p.clamp_min, p.clamp_max);
    }
  }
}

#endif  // TFLFUSE_HAS_ADD_CONSTANT_ROW
