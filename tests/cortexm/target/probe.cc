// Two spans whose difference is known to the instruction and byte: what the meter is tested with.
#include <stdint.h>

#include "image.h"
#include "marks.h"

namespace {

uint32_t memory[4];

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

}  // namespace

int main() {
  const uint32_t turns[] = {1, 1001};
  for (const uint32_t n : turns) {
    BeginSpan(memory + 3);
    Turns(n);
    EndSpan();
  }
  return 0;
}
