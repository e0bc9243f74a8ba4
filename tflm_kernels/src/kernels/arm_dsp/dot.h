/* One or two windows and a run of output channels: the innermost loops of a convolution. */
#ifndef TFLFUSE_KERNELS_ARM_DSP_DOT_H_
#define TFLFUSE_KERNELS_ARM_DSP_DOT_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What becomes of the products.
 * start: sums = bias + products; more: sums += products, both wrapped at 32 bits.
 * whole: outputs of bias + products; last: of sums + products: rounded the short way of rounding.h, saturated to int8.
 * row: as whole, for count pairs of windows whose elements lie next to each other, of which it makes those at elements.
 */
enum {
  TFLFUSE_DSP_START,
  TFLFUSE_DSP_MORE,
  TFLFUSE_DSP_LAST,
  TFLFUSE_DSP_WHOLE,
  TFLFUSE_DSP_ROW,
};
/* How the elements lie. For one window there is no row. */
enum {
  TFLFUSE_DSP_WIDE = 0,
  TFLFUSE_DSP_ZIPPED = 5,
  TFLFUSE_DSP_ONE = 10,
  TFLFUSE_DSP_UPWARDS = 32,
};

/* elements .. end: those of the windows, fours of them at least once, in one of three ways:
 * wide: int16, of each four 0 2 of the first window, 0 2 of the second, 1 3 of the first, 1 3 of the second;
 * zipped: int8, of each four 0 of the first window, 0 of the second, 2 2, 1 1, 3 3;
 * one: int8, of one window, as they lie, at any address.
 * weights: of the first channel, int8; pitch: bytes from channel to channel. As many are read as there are elements.
 * channels: minus how many, a multiple of eight. Behind the last of them end: bias and multipliers, int32, the latter 0
 * or at least 2^30; shifts, int8, negative; first and second, the outputs of each window, int8. sums: int32
 * [channels][windows], in an order of their own. doubled: 2 * zero point + 1. For rows: window: the elements of the
 * first; stride: bytes from one to the next; step: bytes from a pair's outputs to those of the next; count: of pairs.
 * fours: of elements of a window. mode: how they lie and what becomes of the products, added;
 * with TFLFUSE_DSP_UPWARDS, where RoundsUpwards of rounding.h is true. All lie on the stack in
 * this order. */
void tflfuse_dsp_dot(const void* elements, const void* end, const int8_t* weights, uint32_t pitch, const int32_t* bias,
                     int32_t channels, const int32_t* multipliers, const int8_t* shifts, int8_t* first, int8_t* second,
                     int32_t* sums, int32_t doubled, const int8_t* window, uint32_t stride, uint32_t step,
                     uint32_t count, uint32_t fours, uint32_t mode);

#ifdef __cplusplus
}
#endif

#endif /* TFLFUSE_KERNELS_ARM_DSP_DOT_H_ */
