/* The sum of pixels and one constant pixel. */
#ifndef TFLFUSE_KERNELS_ADD_CONSTANT_ROW_H_
#define TFLFUSE_KERNELS_ADD_CONSTANT_ROW_H_

#include "add_row.h"

#ifdef __cplusplus
extern "C" {
#endif

/* output[x][c] = a[x][c] + b[c], as TFLM's ADD rounds. b: int32 [channels], already on the scale in which operands are
 * added; the b_ fields are not looked at. a and output: int8 [width][channels]; output may be a. */
void tflfuse_add_constant_row(const TflfuseAdd* add, const int8_t* a, const int32_t* b, uint32_t width,
                              uint32_t channels, int8_t* output);

#ifdef __cplusplus
}
#endif

#endif /* TFLFUSE_KERNELS_ADD_CONSTANT_ROW_H_ */
