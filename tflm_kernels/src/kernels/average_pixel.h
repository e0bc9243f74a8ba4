/* The pixel that a pooling over the whole plane makes of sums. */
#ifndef TFLFUSE_KERNELS_AVERAGE_PIXEL_H_
#define TFLFUSE_KERNELS_AVERAGE_PIXEL_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* output int8 [channels] = sums int32 [channels] / count, halves away from zero, clamped within int8.
 * count: 1 .. 2^23, of the int8 that each sum has added up. */
void tflfuse_average_pixel(const int32_t* sums, int32_t count, int32_t clamp_min, int32_t clamp_max, uint32_t channels,
                           int8_t* output);

#ifdef __cplusplus
}
#endif

#endif /* TFLFUSE_KERNELS_AVERAGE_PIXEL_H_ */
