#include "depthwise_row.h"

#include "backend.h"

#ifndef TFLFUSE_HAS_DEPTHWISE_ROW

#include "depthwise_any.h"

extern "C" void tflfuse_depthwise_row(const TflfuseWindow* window, const int8_t* weights,
                                      const TflfuseQuantization* quantization, uint32_t width, uint32_t multiplier,
                                      int8_t* output) {
  tflfuse::depthwise::DepthwiseAny(window, weights, quantization, width, multiplier, output);
}

#endif  // TFLFUSE_HAS_DEPTHWISE_ROW
