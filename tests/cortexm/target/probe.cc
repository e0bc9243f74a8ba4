// Pairs of spans whose difference is known to the instruction and byte: what the meter is tested with.
#include <stdint.h>

#include "image.h"
#include "marks.h"

namespace {

uint32_t memory[8];

// Each turn: 7 instructions, 4 + 1 bytes loaded from SRAM, 2 + 8 stored there, 4 loaded from the image.
void Turns(uint32_t turns) {
  uint32_t a, b;
  __asm__ volatile(
      "1: ldr %0, [%3]\n"
      "ldrb %1, [%3, #4]\n"
      "strh %1, [%3, #8]\n"
      "ldr %1, [%4]\n"
      "stm %3, {%0, %1}\n"
      "subs %2, #1\n"
      "bne 1b\n"
      : "=&l"(a), "=&l"(b), "+l"(turns)
      : "l"(memory), "l"(image)
      : "cc", "memory");
}

#ifdef __ARM_FEATURE_MVE
// Each turn: 7 instructions, 16 + 8 bytes and the 2 that a predicate lets through loaded from SRAM, 16 stored there.
void VectorTurns(uint32_t turns) {
  __asm__ volatile(
      "dls lr, %0\n"
      "1: vldrw.32 q0, [%1]\n"
      "vldrb.s16 q1, [%1, #8]\n"
      "vstrw.32 q0, [%1, #16]\n"
      "vctp.8 %2\n"
      "vpst\n"
      "vldrbt.8 q1, [%1]\n"
      "le lr, 1b\n" ::"r"(turns), "r"(memory), "r"(2)
      : "lr", "q0", "q1", "cc", "memory");
}
#endif

}  // namespace

int main() {
  const uint32_t turns[] = {1, 1001};
  for (const uint32_t n : turns) {
    BeginSpan(memory + 3);
    Turns(n);
    EndSpan();
  }
#ifdef __ARM_FEATURE_MVE
  for (const uint32_t n : turns) {
    BeginSpan(memory + 3);
    VectorTurns(n);
    EndSpan();
  }
#endif
  return 0;
}
