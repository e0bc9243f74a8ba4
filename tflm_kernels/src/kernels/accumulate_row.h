/* Sums over rows, channel by channel. */
#ifndef TFLFUSE_KERNELS_ACCUMULATE_ROW_H_
#define TFLFUSE_KERNELS_ACCUMULATE_ROW_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* sums[c] += input[x][c] over all x, wrapped at 32 bits. input: int8 [width][channels]; sums: int32 [channels]. */
void tflfuse_accumulate_row(const int8_t* input, uint32_t width, uint32_t channels, int32_t* sums);

#ifdef __cplusplus
}
#endif

#endif /* TFLFUSE_KERNELS_ACCUMULATE_ROW_H_ */
