/* One row of a depthwise convolution. */
#ifndef TFLFUSE_KERNELS_DEPTHWISE_ROW_H_
#define TFLFUSE_KERNELS_DEPTHWISE_ROW_H_

#include "window.h"

#ifdef __cplusplus
extern "C" {
#endif

/* output int8 [width][window.channels * multiplier] from the windows and weights int8 [kernel_h][kernel_w][channels *
 * multiplier]: output channel i * multiplier + m looks at input channel i. Sums wrap at 32 bits.
 * The output overlaps nothing that is read. Any sizes; at least one of each. */
void tflfuse_depthwise_row(const TflfuseWindow* window, const int8_t* weights, const TflfuseQuantization* quantization,
                           uint32_t width, uint32_t multiplier, int8_t* output);

#ifdef __cplusplus
}
#endif

#endif /* TFLFUSE_KERNELS_DEPTHWISE_ROW_H_ */
