/* The part of the plane that the windows of one row of a pooling look at. */
#ifndef TFLFUSE_KERNELS_POOL_ROW_H_
#define TFLFUSE_KERNELS_POOL_ROW_H_

#include <stdint.h>

/* rows: pointers to column 0 of the window's rows that lie in the plane, at least one; int8 [in_width][channels] each.
 * Window x covers columns x * stride - pad_left .. + kernel_w - 1, of which at least one lies in the plane.
 * clamp_min, clamp_max: within int8. */
typedef struct TflfusePool {
  const int8_t* const* rows;
  uint32_t row_count;
  uint32_t kernel_w;
  uint32_t stride;
  uint32_t pad_left;
  uint32_t in_width;
  uint32_t channels;
  int32_t clamp_min;
  int32_t clamp_max;
} TflfusePool;

#endif /* TFLFUSE_KERNELS_POOL_ROW_H_ */
