#include "copy_pixels.h"

#include <string.h>

extern "C" void tflfuse_copy_pixels(const int8_t* input, uint32_t input_pitch, uint32_t width, uint32_t channels,
                                    int8_t* output, uint32_t output_pitch) {
  // memmove, as options that nobody vouches for may let it overlap.
  for (uint32_t x = 0; x < width; ++x, input += input_pitch, output += output_pitch) memmove(output, input, channels);
}
