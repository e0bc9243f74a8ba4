/* Several channels of one row of a depthwise convolution of 3x3 taps. */
#ifndef TFLFUSE_KERNELS_ARM_DSP_CHANNELS_3X3_H_
#define TFLFUSE_KERNELS_ARM_DSP_CHANNELS_3X3_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TFLFUSE_DSP_MOST_WINDOWS 40

/* top: the first column of the upper row, behind the last channel; middle, bottom: the bytes from there to the other
 * rows. step: the bytes from column to column, below 2^16, times 2^16. weights: int8 [9][pitch], behind the last
 * channel. channel: minus how many there are, at least one. next: all ones where each has a channel of the input of its
 * own, 0 where all look at one, which top is then.
 * bias, multipliers: int32, as for the short way of rounding.h; shifts: int8; all behind the last channel. doubled: 2 *
 * zero point + 1. output: int8 [windows][pitch], behind the last channel. upwards: as RoundsUpwards of rounding.h.
 * windows: at most TFLFUSE_DSP_MOST_WINDOWS. stride: columns from window to window, 1 or 2. padded: not 0 where a row
 * lies outside the plane, which then may point to any row inside. upper_padding: the pixel that counts there, in the
 * low half if the upper row is outside, in the high half if the middle one is; lower_padding: in both halves if the
 * lower one is; else 0. upper_kept, lower_kept: ones where the weights of rows inside lie, likewise. All lie on the
 * stack in this order. */
void tflfuse_dsp_channels_3x3(const int8_t* top, int32_t middle, int32_t bottom, uint32_t step, const int8_t* weights,
                              uint32_t pitch, int32_t channel, uint32_t next, const int32_t* bias,
                              const int32_t* multipliers, const int8_t* shifts, int32_t doubled, int8_t* output,
                              uint32_t upwards, uint32_t windows, uint32_t stride, uint32_t padded,
                              int32_t upper_padding, int32_t lower_padding, uint32_t upper_kept, uint32_t lower_kept);

#ifdef __cplusplus
}
#endif

#endif /* TFLFUSE_KERNELS_ARM_DSP_CHANNELS_3X3_H_ */
