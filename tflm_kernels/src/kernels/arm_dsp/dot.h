/* One or two windows and a run of output channels: the innermost loops of a convolution. */
#ifndef TFLFUSE_KERNELS_ARM_DSP_DOT_H_
#define TFLFUSE_KERNELS_ARM_DSP_DOT_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* pairs .. end: elements of the windows, widened to int16, at least four. Of each four of them 0 2 of the first window,
 * 0 2 of the second, 1 3 of the first, 1 3 of the second; for one window 0 2, 1 3. weights: of the first channel, int8;
 * pitch: bytes from channel to channel. As many are read as there are pairs. channels: minus how many, a multiple of
 * eight. Behind the last of them end: bias and multipliers, int32, the latter 0 or at least 2^30; shifts, int8,
 * negative; first and second, the outputs of each window, int8. sums: int32 [channels][windows], in an order of their
 * own. doubled: 2 * zero point + 1. For _row: window: the elements of the first; stride: bytes from one to the next;
 * step: bytes from a pair's outputs to those of the next; count: of pairs. spare: room for the function. The functions
 * use channels, weights, sums, first, second, window and count up. */
typedef struct TflfuseDspDot {
  int32_t* pairs;
  const int32_t* end;
  const int8_t* weights;
  uint32_t pitch;
  const int32_t* bias;
  int32_t channels;
  const int32_t* multipliers;
  const int8_t* shifts;
  int8_t* first;
  int8_t* second;
  int32_t* sums;
  int32_t doubled;
  const int8_t* window;
  uint32_t stride;
  uint32_t step;
  uint32_t count;
  uint32_t spare[2];
} TflfuseDspDot;

/* sums = bias + products; sums += products. Wrapped at 32 bits. */
void tflfuse_dsp_dot_start(TflfuseDspDot* dot);
void tflfuse_dsp_dot_more(TflfuseDspDot* dot);
/* Outputs of bias + products; of sums + products: rounded the short way of rounding.h, saturated to int8. */
void tflfuse_dsp_dot_whole(TflfuseDspDot* dot);
void tflfuse_dsp_dot_last(TflfuseDspDot* dot);
/* As _whole for count pairs of windows, whose elements it widens itself: as many as there are words of pairs. */
void tflfuse_dsp_dot_row(TflfuseDspDot* dot);

/* As _row, for windows whose elements lie next to each other, where stride, pitch and the number of elements are the
 * same, a multiple of four: nothing is widened. end: pairs, or four words behind where the number of fours is odd. */
void tflfuse_dsp_dot_lying(TflfuseDspDot* dot);

/* The same for one window. */
void tflfuse_dsp_dot_one_start(TflfuseDspDot* dot);
void tflfuse_dsp_dot_one_more(TflfuseDspDot* dot);
void tflfuse_dsp_dot_one_whole(TflfuseDspDot* dot);
void tflfuse_dsp_dot_one_last(TflfuseDspDot* dot);

#ifdef __cplusplus
}
#endif

#endif /* TFLFUSE_KERNELS_ARM_DSP_DOT_H_ */
