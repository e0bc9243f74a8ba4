// What QEMU counts in control registers of its own, which no assembler knows by name.
#ifndef TFLFUSE_TESTS_HEXAGON_COUNTERS_H_
#define TFLFUSE_TESTS_HEXAGON_COUNTERS_H_

#include <stdint.h>

// Executed so far, modulo 2^32. A packet is what the processor issues together.
struct Counters {
  uint32_t packets, instructions, vector_instructions;

  static Counters Now() {
    register uint32_t r0 __asm__("r0");
    register uint32_t r1 __asm__("r1");
    register uint32_t r2 __asm__("r2");
    // r0 = c20, r1 = c21, r2 = c22
    __asm__ volatile(".word 0x6a14c000, 0x6a15c001, 0x6a16c002" : "=r"(r0), "=r"(r1), "=r"(r2)::"memory");
    return {r0, r1, r2};
  }
};

#endif  // TFLFUSE_TESTS_HEXAGON_COUNTERS_H_
