// The begin of the program, and what the compiler calls: Debian has no C library for Hexagon. Compiled with
// -fno-builtin, or the loops below would call the functions that they are.
#include <stdint.h>
#include <string.h>

#include "system.h"

int main();

namespace {

// Bit by bit, from the first that can be set. b is not 0.
template <typename T>
T Divided(T a, T b) {
  if (a < b) return 0;
  int shift = __builtin_clzll(b) - __builtin_clzll(a);
  T quotient = 0;
  for (b <<= shift; shift >= 0; --shift, b >>= 1) {
    quotient <<= 1;
    if (a < b) continue;
    a -= b;
    quotient |= 1;
  }
  return quotient;
}

}  // namespace

extern "C" {

[[noreturn]] void Start() { system_call::Exit(main()); }

__asm__(
    ".globl _start\n"
    "_start:\n"
    "  r29 = and(r29, #-128)\n"
    "  jump Start\n");

void* memcpy(void* to, const void* from, size_t n) {
  uint8_t* target = static_cast<uint8_t*>(to);
  const uint8_t* source = static_cast<const uint8_t*>(from);
  for (size_t i = 0; i < n; ++i) target[i] = source[i];
  return to;
}

// What Clang makes of copies of structs.
void __hexagon_memcpy_likely_aligned_min32bytes_mult8bytes(void* to, const void* from, size_t n) { memcpy(to, from, n); }

void* memmove(void* to, const void* from, size_t n) {
  uint8_t* target = static_cast<uint8_t*>(to);
  const uint8_t* source = static_cast<const uint8_t*>(from);
  if (target < source) return memcpy(to, from, n);
  while (n-- > 0) target[n] = source[n];
  return to;
}

void* memset(void* to, int value, size_t n) {
  uint8_t* target = static_cast<uint8_t*>(to);
  for (size_t i = 0; i < n; ++i) target[i] = static_cast<uint8_t>(value);
  return to;
}

int memcmp(const void* a, const void* b, size_t n) {
  const uint8_t *left = static_cast<const uint8_t*>(a), *right = static_cast<const uint8_t*>(b);
  for (size_t i = 0; i < n; ++i) {
    if (left[i] != right[i]) return left[i] < right[i] ? -1 : 1;
  }
  return 0;
}

uint32_t __hexagon_udivsi3(uint32_t a, uint32_t b) { return Divided(a, b); }
uint32_t __hexagon_umodsi3(uint32_t a, uint32_t b) { return a - Divided(a, b) * b; }
uint64_t __hexagon_udivdi3(uint64_t a, uint64_t b) { return Divided(a, b); }
uint64_t __hexagon_umoddi3(uint64_t a, uint64_t b) { return a - Divided(a, b) * b; }

int32_t __hexagon_divsi3(int32_t a, int32_t b) {
  const uint32_t x = a < 0 ? 0u - static_cast<uint32_t>(a) : static_cast<uint32_t>(a);
  const uint32_t y = b < 0 ? 0u - static_cast<uint32_t>(b) : static_cast<uint32_t>(b);
  const uint32_t quotient = Divided(x, y);
  return static_cast<int32_t>((a < 0) == (b < 0) ? quotient : 0u - quotient);
}

}  // extern "C"
