/* An operand of ADD on the scale in which the operands are added. */
#ifndef TFLFUSE_KERNELS_ADD_SCALED_H_
#define TFLFUSE_KERNELS_ADD_SCALED_H_

#include "chain_options.h"
#include "requantize.h"

namespace tflfuse {

inline int32_t AddScaled(int32_t x, int32_t zero_point, int32_t multiplier, int32_t shift) {
  return Requantize((x - zero_point) * (1 << kAddLeftShift), multiplier, shift);
}

}  // namespace tflfuse

#endif /* TFLFUSE_KERNELS_ADD_SCALED_H_ */
