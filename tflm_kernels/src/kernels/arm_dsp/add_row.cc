#include "../add_row.h"

#include "../backend.h"

#ifdef TFLFUSE_ARM_DSP

#include "../add_scaled.h"
#include "add_short.h"

extern "C" void tflfuse_add_row(const TflfuseAdd* add, const int8_t* a, const int8_t* b, uint32_t n, int8_t* output) {
  using namespace tflfuse;
  if (dsp::AddShort(*add, a, b, n, output)) return;
  const TflfuseAdd p = *add;
  for (uint32_t i = 0; i < n; ++i) {
    const int32_t sum = WrappingAdd(AddScaled(a[i], p.a_zero_point, p.a_multiplier, p.a_shift),
                                    AddScaled(b[i], p.b_zero_point, p.b_multiplier, p.b_shift));
    output[i] = Quantized(sum, p.multiplier, p.shift, p.zero_point, p.clamp_min, p.clamp_max);
  }
}

#endif  // TFLFUSE_ARM_DSP
