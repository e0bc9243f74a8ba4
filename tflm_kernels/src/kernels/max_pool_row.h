/* One row of a maximum pooling. */
#ifndef TFLFUSE_KERNELS_MAX_POOL_ROW_H_
#define TFLFUSE_KERNELS_MAX_POOL_ROW_H_

#include "pool_row.h"

#ifdef __cplusplus
extern "C" {
#endif

/* output int8 [width][channels]: the largest value in the part of each window that lies in the plane.
 * The output overlaps nothing that is read. */
void tflfuse_max_pool_row(const TflfusePool* pool, uint32_t width, int8_t* output);

#ifdef __cplusplus
}
#endif

#endif /* TFLFUSE_KERNELS_MAX_POOL_ROW_H_ */
