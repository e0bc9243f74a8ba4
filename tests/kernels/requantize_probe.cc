// For ctypes: the inline functions of requantize.h, over arrays.
#include "requantize.h"

extern "C" __attribute__((visibility("default"))) void requantize(const int32_t* x, const int32_t* multiplier,
                                                                  const int32_t* shift, int n, int32_t* y) {
  for (int i = 0; i < n; ++i) y[i] = tflfuse::Requantize(x[i], multiplier[i], shift[i]);
}
