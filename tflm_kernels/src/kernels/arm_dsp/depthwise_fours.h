/* One row of a depthwise convolution of any kernel, four channels at once. */
#ifndef TFLFUSE_KERNELS_ARM_DSP_DEPTHWISE_FOURS_H_
#define TFLFUSE_KERNELS_ARM_DSP_DEPTHWISE_FOURS_H_

#include "../window.h"

#ifdef __cplusplus
extern "C" {
#endif

/* As tflfuse_depthwise_row with multiplier 1, for at least four channels. */
void tflfuse_dsp_depthwise_fours(const TflfuseWindow* window, const int8_t* weights,
                                 const TflfuseQuantization* quantization, uint32_t width, int8_t* output);

#ifdef __cplusplus
}
#endif

#endif /* TFLFUSE_KERNELS_ARM_DSP_DEPTHWISE_FOURS_H_ */
