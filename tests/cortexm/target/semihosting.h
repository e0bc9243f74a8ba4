// What the debugger's side does for the target: text, and an end with a status.
#ifndef TFLFUSE_TESTS_CORTEXM_SEMIHOSTING_H_
#define TFLFUSE_TESTS_CORTEXM_SEMIHOSTING_H_

#include <stdint.h>

namespace semihosting {

inline void Call(uint32_t operation, const void* argument) {
  register uint32_t r0 __asm__("r0") = operation;
  register const void* r1 __asm__("r1") = argument;
  __asm__ volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory");
}

inline void Write(const char* text) { Call(0x04, text); }

inline void Write(uint32_t number) {
  char digits[11];
  char* at = digits + sizeof digits - 1;
  *at = '\0';
  do {
    *--at = static_cast<char>('0' + number % 10);
    number /= 10;
  } while (number != 0);
  Write(at);
}

[[noreturn]] inline void Exit(uint32_t status) {
  const uint32_t application_exit[] = {0x20026, status};
  for (;;) Call(0x20, application_exit);
}

}  // namespace semihosting

#endif  // TFLFUSE_TESTS_CORTEXM_SEMIHOSTING_H_
