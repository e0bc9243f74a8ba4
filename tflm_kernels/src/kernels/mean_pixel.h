/* The pixel that MEAN makes of sums over the plane. */
#ifndef TFLFUSE_KERNELS_MEAN_PIXEL_H_
#define TFLFUSE_KERNELS_MEAN_PIXEL_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* multiplier, shift: of the scales' ratio divided by the number of summands, >= 0 and -31 .. 30. offset: what the
 * input's zero point has added to every sum. zero_point, clamps: within int8. */
typedef struct TflfuseMean {
  int32_t offset;
  int32_t multiplier;
  int32_t shift;
  int32_t zero_point;
  int32_t clamp_min;
  int32_t clamp_max;
} TflfuseMean;

/* output int8 [channels] from sums int32 [channels]. */
void tflfuse_mean_pixel(const TflfuseMean* mean, const int32_t* sums, uint32_t channels, int8_t* output);

#ifdef __cplusplus
}
#endif

#endif /* TFLFUSE_KERNELS_MEAN_PIXEL_H_ */
