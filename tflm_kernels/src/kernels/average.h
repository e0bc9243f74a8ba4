/* The mean of integers as TFLM's AVERAGE_POOL_2D rounds it. */
#ifndef TFLFUSE_KERNELS_AVERAGE_H_
#define TFLFUSE_KERNELS_AVERAGE_H_

#include <stdint.h>

namespace tflfuse {

// sum / count to the nearest, halves away from zero. count >= 1, |sum| <= 128 * count.
inline int32_t Average(int32_t sum, int32_t count) {
  const int32_t half = count / 2;
  return (sum > 0 ? sum + half : sum - half) / count;
}

}  // namespace tflfuse

#endif /* TFLFUSE_KERNELS_AVERAGE_H_ */
