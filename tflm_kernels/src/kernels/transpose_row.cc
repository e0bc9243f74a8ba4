#include "transpose_row.h"

extern "C" void tflfuse_transpose_row(const int8_t* input, uint32_t plane, uint32_t width, uint32_t channels,
                                      int8_t* output) {
  for (uint32_t c = 0; c < channels; ++c, input += plane) {
    for (uint32_t x = 0; x < width; ++x) output[x * channels + c] = input[x];
  }
}
