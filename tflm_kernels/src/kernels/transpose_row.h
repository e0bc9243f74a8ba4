/* A row of pixels out of planes. */
#ifndef TFLFUSE_KERNELS_TRANSPOSE_ROW_H_
#define TFLFUSE_KERNELS_TRANSPOSE_ROW_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* output[x][c] = input[c * plane + x]. input: the row in plane 0, planes lie plane bytes apart;
 * output: int8 [width][channels], overlaps nothing that is read. */
void tflfuse_transpose_row(const int8_t* input, uint32_t plane, uint32_t width, uint32_t channels, int8_t* output);

#ifdef __cplusplus
}
#endif

#endif /* TFLFUSE_KERNELS_TRANSPOSE_ROW_H_ */
