/* Parts of pixels from one row to another. */
#ifndef TFLFUSE_KERNELS_COPY_PIXELS_H_
#define TFLFUSE_KERNELS_COPY_PIXELS_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* output[x * output_pitch + c] = input[x * input_pitch + c] for x < width, c < channels. Neither pitch is below channels;
 * what lies between the pixels of the output stays. The output overlaps nothing that is read. */
void tflfuse_copy_pixels(const int8_t* input, uint32_t input_pitch, uint32_t width, uint32_t channels, int8_t* output,
                         uint32_t output_pitch);

#ifdef __cplusplus
}
#endif

#endif /* TFLFUSE_KERNELS_COPY_PIXELS_H_ */
