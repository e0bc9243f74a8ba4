/* The sum of two int8 arrays that have scales of their own. */
#ifndef TFLFUSE_KERNELS_ADD_ROW_H_
#define TFLFUSE_KERNELS_ADD_ROW_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Multipliers are >= 0, shifts -31 .. 30, positive to the left; zero points and clamps within int8. */
typedef struct TflfuseAdd {
  int32_t a_zero_point;
  int32_t a_multiplier;
  int32_t a_shift;
  int32_t b_zero_point;
  int32_t b_multiplier;
  int32_t b_shift;
  int32_t multiplier;
  int32_t shift;
  int32_t zero_point;
  int32_t clamp_min;
  int32_t clamp_max;
} TflfuseAdd;

/* output[i] = a[i] + b[i], as TFLM's ADD rounds: operands scaled up by 2^20. Arrays of n; output may be a or b. */
void tflfuse_add_row(const TflfuseAdd* add, const int8_t* a, const int8_t* b, uint32_t n, int8_t* output);

#ifdef __cplusplus
}
#endif

#endif /* TFLFUSE_KERNELS_ADD_ROW_H_ */
