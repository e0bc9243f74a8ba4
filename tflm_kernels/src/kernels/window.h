/* The rows and columns that the windows of one output row look at. */
#ifndef TFLFUSE_KERNELS_WINDOW_H_
#define TFLFUSE_KERNELS_WINDOW_H_

#include <stdint.h>

/* rows: kernel_h pointers to the first column of the first window, in the row of each tap. Those below inner_begin and
 * from inner_end on point to padding instead, (kernel_w - 1) * dilation + channels bytes of one value that serve every
 * window.
 * stride: bytes from window to window. dilation: bytes from tap to tap of a row; channels where the taps are adjacent.
 * Of the other rows, (width - 1) * stride + (kernel_w - 1) * dilation + channels bytes are read. */
typedef struct TflfuseWindow {
  const int8_t* const* rows;
  uint32_t kernel_h;
  uint32_t kernel_w;
  uint32_t inner_begin;
  uint32_t inner_end;
  uint32_t stride;
  uint32_t dilation;
  uint32_t channels;
} TflfuseWindow;

/* How sums become int8: multipliers int32 [channels], >= 0; shifts int8 [channels], -31 .. 30, positive to the left;
 * bias int32 [channels], with the share of the input's zero point over all taps; zero point and clamps within int8.
 * plain: not 0 where every multiplier is 0 or at least 2^30, every shift is -23 .. -1, and no sum reaches 2^30. */
typedef struct TflfuseQuantization {
  const int32_t* bias;
  const int32_t* multipliers;
  const int8_t* shifts;
  int32_t zero_point;
  int32_t clamp_min;
  int32_t clamp_max;
  uint32_t plain;
} TflfuseQuantization;

#endif /* TFLFUSE_KERNELS_WINDOW_H_ */
