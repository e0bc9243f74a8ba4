/* One row of a depthwise convolution of 3x3 taps. */
#ifndef TFLFUSE_KERNELS_ARM_DSP_DEPTHWISE_3X3_H_
#define TFLFUSE_KERNELS_ARM_DSP_DEPTHWISE_3X3_H_

#include "../window.h"

#ifdef __cplusplus
extern "C" {
#endif

/* As tflfuse_depthwise_row, for windows of 3x3 taps at each column or at every other, dilation below 2^16, of which at
 * least one row lies in the plane, and plain quantization. */
void tflfuse_dsp_depthwise_3x3(const TflfuseWindow* window, const int8_t* weights,
                               const TflfuseQuantization* quantization, uint32_t width, uint32_t multiplier,
                               int8_t* output);

#ifdef __cplusplus
}
#endif

#endif /* TFLFUSE_KERNELS_ARM_DSP_DEPTHWISE_3X3_H_ */
