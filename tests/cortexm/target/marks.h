// What tells the meter where to count: stores to the two words of `marks`, which nothing else touches.
#ifndef TFLFUSE_TESTS_CORTEXM_MARKS_H_
#define TFLFUSE_TESTS_CORTEXM_MARKS_H_

#include <stdint.h>

extern "C" uint32_t marks[2];

// The load after the first mark tells the meter where the executor counts the rows that its stages have made.
inline void BeginSpan(const void* state) {
  uint32_t unused;
  __asm__ volatile("str %1, [%1]\n ldrb %0, [%2]" : "=&l"(unused) : "l"(marks), "l"(state) : "memory");
}

inline void EndSpan() { __asm__ volatile("str %0, [%0, #4]" ::"l"(marks) : "memory"); }

#endif  // TFLFUSE_TESTS_CORTEXM_MARKS_H_
