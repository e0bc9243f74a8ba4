// Linux for Hexagon, as far as the harness needs it.
#ifndef TFLFUSE_TESTS_HEXAGON_SYSTEM_H_
#define TFLFUSE_TESTS_HEXAGON_SYSTEM_H_

#include <stdint.h>

namespace system_call {

inline int32_t Call(uint32_t number, uint32_t a = 0, uint32_t b = 0, uint32_t c = 0, uint32_t d = 0, uint32_t e = 0) {
  register uint32_t r0 __asm__("r0") = a;
  register uint32_t r1 __asm__("r1") = b;
  register uint32_t r2 __asm__("r2") = c;
  register uint32_t r3 __asm__("r3") = d;
  register uint32_t r4 __asm__("r4") = e;
  register uint32_t r5 __asm__("r5") = 0;
  register uint32_t r6 __asm__("r6") = number;
  __asm__ volatile("trap0(#1)" : "+r"(r0) : "r"(r1), "r"(r2), "r"(r3), "r"(r4), "r"(r5), "r"(r6) : "memory");
  return static_cast<int32_t>(r0);
}

inline uint32_t Number(const void* address) { return reinterpret_cast<uintptr_t>(address); }

[[noreturn]] inline void Exit(int status) {
  for (;;) Call(94, static_cast<uint32_t>(status));
}

// Bytes read from standard input; 0 at the end.
inline int32_t Read(void* to, uint32_t n) { return Call(63, 0, Number(to), n); }

// Memory that must not be touched.
inline uint8_t* Reserve(uint32_t n) {
  constexpr uint32_t kNoAccess = 0, kPrivateAnonymous = 0x22;
  return reinterpret_cast<uint8_t*>(Call(222, 0, n, kNoAccess, kPrivateAnonymous, ~0u));
}

// Part of it that may. Whether that was possible.
inline bool Open(uint8_t* begin, uint32_t n) {
  constexpr uint32_t kReadWrite = 3;
  return Call(226, Number(begin), n, kReadWrite) == 0;
}

inline void Write(const char* text) {
  uint32_t n = 0;
  while (text[n] != '\0') ++n;
  Call(64, 1, Number(text), n);
}

inline void Write(uint64_t number) {
  char digits[21];
  char* at = digits + sizeof digits - 1;
  *at = '\0';
  do {
    *--at = static_cast<char>('0' + number % 10);
    number /= 10;
  } while (number != 0);
  Write(at);
}

}  // namespace system_call

#endif  // TFLFUSE_TESTS_HEXAGON_SYSTEM_H_
