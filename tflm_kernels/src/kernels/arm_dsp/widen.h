// Bytes to pairs of int16 for the loops of dot.h: of each four, 0 and 2, then 1 and 3; of two windows by turns.
#ifndef TFLFUSE_KERNELS_ARM_DSP_WIDEN_H_
#define TFLFUSE_KERNELS_ARM_DSP_WIDEN_H_

#include "dsp.h"

namespace tflfuse {
namespace dsp {

// n < 4 bytes: the pairs of a four with zeros behind them.
inline int32_t EvenOf(const int8_t* p, uint32_t n) { return Pair(p[0], n == 3 ? p[2] : 0); }
inline int32_t OddOf(const int8_t* p, uint32_t n) { return n == 1 ? 0 : Pair(p[1], 0); }

// n bytes of one window; the last four may not be full. Returns the end of the pairs.
inline int32_t* WidenOne(const int8_t* a, uint32_t n, int32_t* pairs) {
  for (; n >= 4; n -= 4, a += 4, pairs += 2) {
    const int32_t word = Load4(a);
    pairs[0] = EvenBytes(word);
    pairs[1] = OddBytes(word);
  }
  if (n == 0) return pairs;
  pairs[0] = EvenOf(a, n);
  pairs[1] = OddOf(a, n);
  return pairs + 2;
}

// n bytes of each of two windows.
inline int32_t* WidenTwo(const int8_t* a, const int8_t* b, uint32_t n, int32_t* pairs) {
  for (const int8_t* end = a + n / 4 * 4; a != end;) {
    __asm__(  // a compiler would store four times
        "ldr r6, [%0], #4\n ldr r8, [%1], #4\n"
        "sxtb16 r4, r6\n sxtb16 r5, r8\n"
        "sxtb16 r6, r6, ror #8\n sxtb16 r8, r8, ror #8\n"
        "stm %2!, {r4, r5, r6, r8}\n"
        : "+r"(a), "+r"(b), "+r"(pairs)
        :
        : "r4", "r5", "r6", "r8", "memory");
  }
  n %= 4;
  if (n == 0) return pairs;
  pairs[0] = EvenOf(a, n);
  pairs[1] = EvenOf(b, n);
  pairs[2] = OddOf(a, n);
  pairs[3] = OddOf(b, n);
  return pairs + 4;
}

}  // namespace dsp
}  // namespace tflfuse

#endif  // TFLFUSE_KERNELS_ARM_DSP_WIDEN_H_
