// The instructions of Arm's DSP extension that the kernels of this folder use, by what they do here.
#ifndef TFLFUSE_KERNELS_ARM_DSP_DSP_H_
#define TFLFUSE_KERNELS_ARM_DSP_DSP_H_

#include <arm_acle.h>
#include <stdint.h>
#include <string.h>

namespace tflfuse {
namespace dsp {

// Four bytes at any address: one LDR, which these processors take unaligned.
inline int32_t Load4(const void* p) {
  int32_t word;
  memcpy(&word, p, sizeof word);
  return word;
}

inline void Store4(void* p, int32_t word) { memcpy(p, &word, sizeof word); }

// x, of which the compiler does not know where it comes from: that it adds it, and does not subtract before it shifts.
inline int32_t Opaque(int32_t x) {
  __asm__("" : "+r"(x));
  return x;
}

// Bytes 0 and 2, and bytes 1 and 3, as halfwords.
inline int32_t EvenBytes(int32_t word) { return __sxtb16(word); }
inline int32_t OddBytes(int32_t word) {
  int32_t halves;
  __asm__("sxtb16 %0, %1, ror #8" : "=r"(halves) : "r"(word));
  return halves;
}

// The halves of sum + these.
inline int32_t AddEvenBytes(int32_t sum, int32_t word) { return __sxtab16(sum, word); }
inline int32_t AddOddBytes(int32_t sum, int32_t word) {
  int32_t halves;
  __asm__("sxtab16 %0, %1, %2, ror #8" : "=r"(halves) : "r"(sum), "r"(word));
  return halves;
}

// low in the low half, high in the high half.
inline int32_t Pair(int32_t low, int32_t high) {
  int32_t both;
  __asm__("pkhbt %0, %1, %2, lsl #16" : "=r"(both) : "r"(low), "r"(high));
  return both;
}

// The high halves of both.
inline int32_t UpperPair(int32_t low, int32_t high) {
  int32_t both;
  __asm__("pkhtb %0, %1, %2, asr #16" : "=r"(both) : "r"(high), "r"(low));
  return both;
}

// sum + both products of halves.
inline int32_t Dot(int32_t a, int32_t b, int32_t sum) { return __smlad(a, b, sum); }
inline int32_t Dot(int32_t a, int32_t b) { return __smuad(a, b); }
// sum + a * the low half, or the high half, of b; of a the low half counts.
inline int32_t MultiplyLow(int32_t a, int32_t b, int32_t sum) { return __smlabb(a, b, sum); }
inline int32_t MultiplyHigh(int32_t a, int32_t b, int32_t sum) { return __smlabt(a, b, sum); }

// sum + the upper word of a * b, rounded.
inline int32_t MultiplyUpper(int32_t a, int32_t b, int32_t sum) {
  int32_t result;
  __asm__("smmlar %0, %1, %2, %3" : "=r"(result) : "r"(a), "r"(b), "r"(sum));
  return result;
}
inline int32_t MultiplyUpper(int32_t a, int32_t b) {
  int32_t result;
  __asm__("smmulr %0, %1, %2" : "=r"(result) : "r"(a), "r"(b));
  return result;
}

inline int32_t SaturateHalf(int32_t x) {  // x / 2, rounded down, as an int8
  int32_t result;
  __asm__("ssat %0, #8, %1, asr #1" : "=r"(result) : "r"(x));
  return result;
}

}  // namespace dsp
}  // namespace tflfuse

#endif  // TFLFUSE_KERNELS_ARM_DSP_DSP_H_
