/* One row of a depthwise convolution of any taps, four channels at once. */
#ifndef TFLFUSE_KERNELS_ARM_DSP_TAPS_H_
#define TFLFUSE_KERNELS_ARM_DSP_TAPS_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* inner, above, below: rows of the windows inside the plane, at least one, and of padding over and under it, of which
 * each window reads the same; pointers to the first column of the first window, with a null pointer behind the last.
 * inner_weights, above_weights, below_weights: int8, of these rows, pitch bytes from tap to tap. padded: not 0 where
 * there is padding.
 * bias, multipliers: int32 [pitch], as for the short way of rounding.h; shifts: int8 [pitch]. output: int8
 * [windows][pitch]. pitch: the number of channels, at least four. step: bytes from tap to tap of a row. stride: bytes
 * from window to window. span: those of all windows together. threes, rest: taps of a row, divided by three and the
 * rest; at least one three. doubled: 2 * zero point + 1. */
typedef struct TflfuseDspTaps {
  const int8_t* inner_weights;
  const int8_t* const* inner;
  const int8_t* above_weights;
  const int8_t* const* above;
  const int8_t* below_weights;
  const int8_t* const* below;
  const int32_t* bias;
  const int32_t* multipliers;
  const int8_t* shifts;
  int8_t* output;
  uint32_t pitch;
  uint32_t step;
  uint32_t stride;
  uint32_t span;
  uint32_t threes;
  uint32_t rest;
  int32_t doubled;
  uint32_t padded;
} TflfuseDspTaps;

void tflfuse_dsp_taps(TflfuseDspTaps taps);

#ifdef __cplusplus
}
#endif

#endif /* TFLFUSE_KERNELS_ARM_DSP_TAPS_H_ */
