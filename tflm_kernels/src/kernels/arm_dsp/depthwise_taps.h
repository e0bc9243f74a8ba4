/* One row of a depthwise convolution of any taps. */
#ifndef TFLFUSE_KERNELS_ARM_DSP_DEPTHWISE_TAPS_H_
#define TFLFUSE_KERNELS_ARM_DSP_DEPTHWISE_TAPS_H_

#include "../window.h"

#ifdef __cplusplus
extern "C" {
#endif

/* As tflfuse_depthwise_row with multiplier 1, for at least four channels, windows at least three columns wide and at
 * most TFLFUSE_DSP_MOST_ROWS high, of which at least one row lies in the plane, and plain quantization. */
#define TFLFUSE_DSP_MOST_ROWS 13
void tflfuse_dsp_depthwise_taps(const TflfuseWindow* window, const int8_t* weights,
                                const TflfuseQuantization* quantization, uint32_t width, int8_t* output);

#ifdef __cplusplus
}
#endif

#endif /* TFLFUSE_KERNELS_ARM_DSP_DEPTHWISE_TAPS_H_ */
