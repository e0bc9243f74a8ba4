/* One row of a convolution. */
#ifndef TFLFUSE_KERNELS_CONV_ROW_H_
#define TFLFUSE_KERNELS_CONV_ROW_H_

#include "window.h"

#ifdef __cplusplus
extern "C" {
#endif

/* output int8 [width][out_channels] from the windows and weights int8 [out_channels][kernel_h][kernel_w][channels].
 * Three bytes behind the weights may be read, too. Sums wrap at 32 bits. The output overlaps nothing that is read. Any
 * sizes; at least one of each. */
void tflfuse_conv_row(const TflfuseWindow* window, const int8_t* weights, const TflfuseQuantization* quantization,
                      uint32_t width, uint32_t out_channels, int8_t* output);

#ifdef __cplusplus
}
#endif

#endif /* TFLFUSE_KERNELS_CONV_ROW_H_ */
