#include "mul_constant_row.h"

#include "backend.h"

#ifndef TFLFUSE_HAS_MUL_CONSTANT_ROW

#include "requantize.h"

extern "C" void tflfuse_mul_constant_row(const TflfuseMul* mul, const int8_t* a, const int32_t* b, uint32_t width,
                                         uint32_t channels, int8_t* output) {
  using namespace tflfuse;
  const TflfuseMul p = *mul;
  for (uint32_t x = 0; x < width; ++x, a += channels, output += channels) {
    for (uint32_t c = 0; c < channels; ++c) {
      const int32_t product = WrappingMultiply(a[c] - p.a_zero_point, b[c]);
      output[c] = Quantized(product, p.multiplier, p.shift, p.zero_point, p.clamp_min, p.clamp_max);
    }
  }
}

#endif  // TFLFUSE_HAS_MUL_CONSTANT_ROW
