/* Any function of one int8. */
#ifndef TFLFUSE_KERNELS_TABLE_ROW_H_
#define TFLFUSE_KERNELS_TABLE_ROW_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* output[i] = table[input[i] + 128]. table: int8 [256]; input and output: int8 [n], possibly the same. */
void tflfuse_table_row(const int8_t* table, const int8_t* input, uint32_t n, int8_t* output);

#ifdef __cplusplus
}
#endif

#endif /* TFLFUSE_KERNELS_TABLE_ROW_H_ */
