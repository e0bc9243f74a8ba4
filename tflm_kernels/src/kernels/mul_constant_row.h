/* The product of pixels and one constant pixel. */
#ifndef TFLFUSE_KERNELS_MUL_CONSTANT_ROW_H_
#define TFLFUSE_KERNELS_MUL_CONSTANT_ROW_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* multiplier: >= 0; shift: -31 .. 30, positive to the left; the rest within int8. */
typedef struct TflfuseMul {
  int32_t a_zero_point;
  int32_t multiplier;
  int32_t shift;
  int32_t zero_point;
  int32_t clamp_min;
  int32_t clamp_max;
} TflfuseMul;

/* output[x][c] = a[x][c] * b[c], as TFLM's MUL rounds. b: int32 [channels], less its zero point: -255 .. 255, others
 * wrap. a and output: int8 [width][channels]; output may be a. */
void tflfuse_mul_constant_row(const TflfuseMul* mul, const int8_t* a, const int32_t* b, uint32_t width,
                              uint32_t channels, int8_t* output);

#ifdef __cplusplus
}
#endif

#endif /* TFLFUSE_KERNELS_MUL_CONSTANT_ROW_H_ */
