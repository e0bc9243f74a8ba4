// The elements of two windows as dot.h wants them.
#ifndef TFLFUSE_KERNELS_ARM_DSP_WIDEN_H_
#define TFLFUSE_KERNELS_ARM_DSP_WIDEN_H_

#include "dsp.h"

namespace tflfuse {
namespace dsp {

// n bytes of each of two windows, a multiple of four. Returns the end of what is written.
inline int8_t* Widen(const int8_t* a, const int8_t* b, uint32_t n, int8_t* to) {
  for (const int8_t* end = a + n; a != end;) {
    __asm__(  // a compiler would store four times
        "ldr r6, [%0], #4\n ldr r8, [%1], #4\n"
        "sxtb16 r4, r6\n sxtb16 r5, r8\n"
        "sxtb16 r6, r6, ror #8\n sxtb16 r8, r8, ror #8\n"
        "stm %2!, {r4, r5, r6, r8}\n"
        : "+r"(a), "+r"(b), "+r"(to)
        :
        : "r4", "r5", "r6", "r8", "memory");
  }
  return to;
}

inline int8_t* Zip(const int8_t* a, const int8_t* b, uint32_t n, int8_t* to) {
  for (const int8_t* end = a + n; a != end;) {
    __asm__(
        "ldr r6, [%0], #4\n ldr r8, [%1], #4\n"
        "uxtb16 r4, r6\n uxtb16 r5, r8\n"
        "orr r4, r4, r5, lsl #8\n"
        "uxtb16 r6, r6, ror #8\n bic r8, r8, #0x00FF00FF\n"
        "orr r5, r6, r8\n"
        "stm %2!, {r4, r5}\n"
        : "+r"(a), "+r"(b), "+r"(to)
        :
        : "r4", "r5", "r6", "r8", "memory");
  }
  return to;
}

}  // namespace dsp
}  // namespace tflfuse

#endif  // TFLFUSE_KERNELS_ARM_DSP_WIDEN_H_
