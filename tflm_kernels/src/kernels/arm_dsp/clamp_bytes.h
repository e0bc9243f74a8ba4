// Bytes into a range, four at once.
#ifndef TFLFUSE_KERNELS_ARM_DSP_CLAMP_BYTES_H_
#define TFLFUSE_KERNELS_ARM_DSP_CLAMP_BYTES_H_

#include "../requantize.h"
#include "dsp.h"

namespace tflfuse {
namespace dsp {

inline int32_t FourTimes(int32_t byte) { return (byte & 0xFF) * 0x01010101; }

inline int32_t Larger(int32_t a, int32_t b) {
  __asm__("ssub8 r12, %0, %1\n sel %0, %0, %1" : "+r"(a) : "r"(b) : "r12", "cc");
  return a;
}
inline int32_t Smaller(int32_t a, int32_t b) {
  __asm__("ssub8 r12, %0, %1\n sel %0, %1, %0" : "+r"(a) : "r"(b) : "r12", "cc");
  return a;
}

inline void ClampBytes(int8_t* p, uint32_t n, int32_t low, int32_t high) {
  const int32_t lows = FourTimes(low), highs = FourTimes(high);
  for (; n >= 4; n -= 4, p += 4) Store4(p, Smaller(Larger(Load4(p), lows), highs));
  for (; n > 0; --n, ++p) *p = Clamp(*p, low, high);
}

}  // namespace dsp
}  // namespace tflfuse

#endif  // TFLFUSE_KERNELS_ARM_DSP_CLAMP_BYTES_H_
