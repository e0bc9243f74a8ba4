// The outputs of one, two or three windows for four output channels. In assembly, for the loops that are predicated at
// their end, which GCC 12 does not make, and because compilers run out of registers here.
#ifndef TFLFUSE_KERNELS_ARM_MVE_QUAD_H_
#define TFLFUSE_KERNELS_ARM_MVE_QUAD_H_

#include <arm_mve.h>
#include <stddef.h>
#include <stdint.h>

#include "dot.h"

namespace tflfuse {

// Four output channels in the order 0, 2, 1, 3.
struct Channels {
  const int8_t* weights[4];
  int32_t bias[4];
};

// Windows of one row, or several, and what becomes of them.
struct Quad {
  Channels channels;
  const int8_t* windows;
  uint32_t length;  // of a window
  uint32_t stride;  // from window to window
  int32_t zero_point;
  uint32_t pitch;  // from pixel to pixel of the output
  int8_t* output;
  uint32_t threes;  // of windows, for ConvolveThrees
  const int8_t* const* at;  // the assembly's own: the row pointer that comes next
  Rows rows;                // where the windows have several rows
};
static_assert(offsetof(Channels, bias) == 16 && offsetof(Quad, windows) == 32 && offsetof(Quad, stride) == 40 &&
                  offsetof(Quad, zero_point) == 44 && offsetof(Quad, output) == 52 && offsetof(Quad, threes) == 56 &&
                  offsetof(Quad, at) == 60 && offsetof(Quad, rows) == 64,
              "the assembly below knows the places");

// clang-format off
// weights, bias, at: where they lie in the quad. first, second: lanes.
#define TFLFUSE_BEGIN_ONE \
  "ldrd %[w0], %[w1], [%[quad]]\n" \
  "ldrd %[w2], %[w3], [%[quad], #8]\n" \
  "ldrd %[s0], %[s1], [%[quad], #16]\n" \
  "ldrd %[s2], %[s3], [%[quad], #24]\n"
#define TFLFUSE_DOT_ONE \
  "wlstp.8 lr, lr, 3f\n" \
  "2: vldrb.8 %q[a], [%[x0]], #16\n" \
  "vldrb.8 %q[b], [%[w0]], #16\n" \
  "vmladava.s8 %[s0], %q[a], %q[b]\n" \
  "vldrb.8 %q[b], [%[w1]], #16\n" \
  "vmladava.s8 %[s1], %q[a], %q[b]\n" \
  "vldrb.8 %q[b], [%[w2]], #16\n" \
  "vmladava.s8 %[s2], %q[a], %q[b]\n" \
  "vldrb.8 %q[b], [%[w3]], #16\n" \
  "vmladava.s8 %[s3], %q[a], %q[b]\n" \
  "letp lr, 2b\n" \
  "3: \n"
#define TFLFUSE_ONE_FLAT TFLFUSE_BEGIN_ONE "ldrd %[x0], lr, [%[quad], #32]\n" TFLFUSE_DOT_ONE
#define TFLFUSE_ONE_ROWS \
  TFLFUSE_BEGIN_ONE \
  "ldr %[x1], [%[quad], #84]\n" \
  "4: ldr %[x0], [%[x1]], #4\n" \
  "ldrd lr, %[x2], [%[quad], #64]\n" \
  "add %[x0], %[x2]\n" \
  TFLFUSE_DOT_ONE \
  "ldr %[x0], [%[quad], #76]\n" \
  "add %[w0], %[x0]\n" \
  "add %[w1], %[x0]\n" \
  "add %[w2], %[x0]\n" \
  "add %[w3], %[x0]\n" \
  "ldr %[x0], [%[quad], #80]\n" \
  "cmp %[x1], %[x0]\n" \
  "bne 4b\n"

#define TFLFUSE_BEGIN_TWO(weights, bias) \
  "ldrd %[w0], %[w1], [%[quad], #" weights "]\n" \
  "ldrd %[s0], %[s1], [%[quad], #" bias "]\n" \
  "mov %[s2], %[s0]\n" \
  "mov %[s3], %[s1]\n"
#define TFLFUSE_DOT_TWO \
  "add %[x1], %[x0]\n" \
  "wlstp.8 lr, lr, 3f\n" \
  "2: vldrb.8 %q[a], [%[x0]], #16\n" \
  "vldrb.8 %q[b], [%[w0]], #16\n" \
  "vmladava.s8 %[s0], %q[a], %q[b]\n" \
  "vldrb.8 %q[c], [%[w1]], #16\n" \
  "vmladava.s8 %[s1], %q[a], %q[c]\n" \
  "vldrb.8 %q[a], [%[x1]], #16\n" \
  "vmladava.s8 %[s2], %q[a], %q[b]\n" \
  "vmladava.s8 %[s3], %q[a], %q[c]\n" \
  "letp lr, 2b\n" \
  "3: \n"
#define TFLFUSE_END_TWO(first, second) \
  "vmov %q[t0][" second "], %q[t0][" first "], %[s0], %[s1]\n" \
  "vmov %q[t1][" second "], %q[t1][" first "], %[s2], %[s3]\n"
#define TFLFUSE_TWO_FLAT(weights, bias, first, second) \
  TFLFUSE_BEGIN_TWO(weights, bias) \
  "ldrd %[x0], lr, [%[quad], #32]\n" \
  "ldr %[x1], [%[quad], #40]\n" \
  TFLFUSE_DOT_TWO TFLFUSE_END_TWO(first, second)
#define TFLFUSE_TWO_ROWS(weights, bias, first, second) \
  TFLFUSE_BEGIN_TWO(weights, bias) \
  "ldr %[x2], [%[quad], #84]\n" \
  "4: ldr %[x0], [%[x2]], #4\n" \
  "ldrd lr, %[x1], [%[quad], #68]\n" \
  "add %[x0], lr\n" \
  "ldr lr, [%[quad], #64]\n" \
  TFLFUSE_DOT_TWO \
  "ldr %[x0], [%[quad], #76]\n" \
  "add %[w0], %[x0]\n" \
  "add %[w1], %[x0]\n" \
  "ldr %[x0], [%[quad], #80]\n" \
  "cmp %[x2], %[x0]\n" \
  "bne 4b\n" \
  TFLFUSE_END_TWO(first, second)

#define TFLFUSE_BEGIN_THREE(weights, bias) \
  TFLFUSE_BEGIN_TWO(weights, bias) \
  "mov %[s4], %[s0]\n" \
  "mov %[s5], %[s1]\n"
#define TFLFUSE_DOT_THREE \
  "add %[x1], %[x0], %[x2]\n" \
  "add %[x2], %[x1]\n" \
  "wlstp.8 lr, lr, 3f\n" \
  "2: vldrb.8 %q[a], [%[x0]], #16\n" \
  "vldrb.8 %q[b], [%[w0]], #16\n" \
  "vmladava.s8 %[s0], %q[a], %q[b]\n" \
  "vldrb.8 %q[c], [%[w1]], #16\n" \
  "vmladava.s8 %[s1], %q[a], %q[c]\n" \
  "vldrb.8 %q[a], [%[x1]], #16\n" \
  "vmladava.s8 %[s2], %q[a], %q[b]\n" \
  "vmladava.s8 %[s3], %q[a], %q[c]\n" \
  "vldrb.8 %q[a], [%[x2]], #16\n" \
  "vmladava.s8 %[s4], %q[a], %q[b]\n" \
  "vmladava.s8 %[s5], %q[a], %q[c]\n" \
  "letp lr, 2b\n" \
  "3: \n"
#define TFLFUSE_END_THREE(first, second) \
  TFLFUSE_END_TWO(first, second) \
  "vmov %q[t2][" second "], %q[t2][" first "], %[s4], %[s5]\n"
#define TFLFUSE_THREE_FLAT(weights, bias, first, second) \
  TFLFUSE_BEGIN_THREE(weights, bias) \
  "ldrd %[x0], lr, [%[quad], #32]\n" \
  "ldr %[x2], [%[quad], #40]\n" \
  TFLFUSE_DOT_THREE TFLFUSE_END_THREE(first, second)
#define TFLFUSE_THREE_ROWS(weights, bias, first, second) \
  TFLFUSE_BEGIN_THREE(weights, bias) \
  "ldr %[x1], [%[quad], #84]\n" \
  "4: ldr %[x0], [%[x1]], #4\n" \
  "str %[x1], [%[quad], #60]\n" \
  "ldrd %[x1], %[x2], [%[quad], #68]\n" \
  "ldr lr, [%[quad], #64]\n" \
  "add %[x0], %[x1]\n" \
  TFLFUSE_DOT_THREE \
  "ldr %[x0], [%[quad], #76]\n" \
  "add %[w0], %[x0]\n" \
  "add %[w1], %[x0]\n" \
  "ldr %[x1], [%[quad], #60]\n" \
  "ldr %[x0], [%[quad], #80]\n" \
  "cmp %[x1], %[x0]\n" \
  "bne 4b\n" \
  TFLFUSE_END_THREE(first, second)
// ROUND: what makes halves of negative sums go away from zero.
#define TFLFUSE_OUTPUT(t) \
  "vqrdmulh.s32 %q[" t "], %q[" t "], %q[multiplier]\n" ROUND(t) \
  "vrshl.s32 %q[" t "], %q[" t "], %q[shift]\n" \
  "vadd.i32 %q[" t "], %q[" t "], %[s0]\n" \
  "vqmovnb.s32 %q[" t "], %q[" t "]\n" \
  "vqmovnb.s16 %q[" t "], %q[" t "]\n" \
  "vstrb.32 %q[" t "], [%[x2]]\n" \
  "add %[x2], %[s1]\n"
// at: of the place of the first window.
#define TFLFUSE_THREE(pair, at) \
  "1: " pair("0", "16", "0", "2") pair("8", "24", "1", "3") \
  "ldrd %[x0], %[x1], [%[quad], #40]\n" \
  "ldr %[x2], [%[quad], #" at "]\n" \
  "add %[x0], %[x0], %[x0], lsl #1\n" \
  "add %[x2], %[x0]\n" \
  "str %[x2], [%[quad], #" at "]\n" \
  "mov %[s0], %[x1]\n" \
  "ldrd %[s1], %[x2], [%[quad], #48]\n" \
  TFLFUSE_OUTPUT("t0") TFLFUSE_OUTPUT("t1") TFLFUSE_OUTPUT("t2") \
  "str %[x2], [%[quad], #52]\n" \
  "ldr %[x0], [%[quad], #56]\n" \
  "subs %[x0], #1\n" \
  "str %[x0], [%[quad], #56]\n" \
  "bne 1b\n"
#define TFLFUSE_LAST "ldr %[s0], [%[quad], #44]\n ldrd %[s1], %[x2], [%[quad], #48]\n"
#define TFLFUSE_TWO(pair) \
  pair("0", "16", "0", "2") pair("8", "24", "1", "3") TFLFUSE_LAST TFLFUSE_OUTPUT("t0") TFLFUSE_OUTPUT("t1")
#define TFLFUSE_ONE(dot) \
  dot "vmov %q[t0][2], %q[t0][0], %[s0], %[s1]\n" "vmov %q[t0][3], %q[t0][1], %[s2], %[s3]\n" \
  TFLFUSE_LAST TFLFUSE_OUTPUT("t0")

#define TFLFUSE_INPUTS \
  : [quad] "r"(quad), [multiplier] "w"(multiplier), [shift] "w"(shift) \
  : "lr", "cc", "memory"
#define TFLFUSE_TEMPORARIES \
  [a] "=&w"(a), [b] "=&w"(b), [t0] "=&w"(t0), [x0] "=&r"(x0), [x1] "=&r"(x1), [x2] "=&l"(x2), [w0] "=&r"(w0), \
  [w1] "=&r"(w1), [s0] "=&Te"(s0), [s1] "=&Te"(s1), [s2] "=&Te"(s2), [s3] "=&Te"(s3)
#define TFLFUSE_ONE_OPERANDS : TFLFUSE_TEMPORARIES, [w2] "=&r"(w2), [w3] "=&r"(w3) TFLFUSE_INPUTS
#define TFLFUSE_TWO_OPERANDS : TFLFUSE_TEMPORARIES, [c] "=&w"(c), [t1] "=&w"(t1) TFLFUSE_INPUTS
#define TFLFUSE_THREE_OPERANDS \
  : TFLFUSE_TEMPORARIES, [c] "=&w"(c), [t1] "=&w"(t1), [t2] "=&w"(t2), [s4] "=&Te"(s4), [s5] "=&Te"(s5) TFLFUSE_INPUTS

// The outputs of kWindows windows; of three, as often as the quad says, at least once, while its windows and output move
// on. kFlat: windows have one row. For scales of which Scaling is kClamped, or else kRight, and no clamps but those of
// int8.
#define TFLFUSE_ASSEMBLY \
  if (kWindows == 1 && kFlat) { \
    __asm__ volatile(TFLFUSE_ONE(TFLFUSE_ONE_FLAT) TFLFUSE_ONE_OPERANDS); \
  } else if (kWindows == 1) { \
    __asm__ volatile(TFLFUSE_ONE(TFLFUSE_ONE_ROWS) TFLFUSE_ONE_OPERANDS); \
  } else if (kWindows == 2 && kFlat) { \
    __asm__ volatile(TFLFUSE_TWO(TFLFUSE_TWO_FLAT) TFLFUSE_TWO_OPERANDS); \
  } else if (kWindows == 2) { \
    __asm__ volatile(TFLFUSE_TWO(TFLFUSE_TWO_ROWS) TFLFUSE_TWO_OPERANDS); \
  } else if (kFlat) { \
    __asm__ volatile(TFLFUSE_THREE(TFLFUSE_THREE_FLAT, "32") TFLFUSE_THREE_OPERANDS); \
  } else { \
    __asm__ volatile(TFLFUSE_THREE(TFLFUSE_THREE_ROWS, "68") TFLFUSE_THREE_OPERANDS); \
  }

template <int kWindows, bool kFlat, bool kClampedScaling>
[[gnu::always_inline]] inline void ConvolveQuad(Quad* quad, int32x4_t multiplier, int32x4_t shift) {
  const int8_t *x0, *x1, *x2, *w0, *w1, *w2, *w3;
  int32_t s0, s1, s2, s3, s4, s5;
  int32x4_t a, b, c, t0, t1, t2;
  if (kClampedScaling) {
#define ROUND(t)
    TFLFUSE_ASSEMBLY
#undef ROUND
  } else {
#define ROUND(t) "vand %q[a], %q[" t "], %q[shift]\n vshr.s32 %q[a], %q[a], #31\n vadd.i32 %q[" t "], %q[" t "], %q[a]\n"
    TFLFUSE_ASSEMBLY
#undef ROUND
  }
}
// clang-format on

}  // namespace tflfuse

#endif  // TFLFUSE_KERNELS_ARM_MVE_QUAD_H_
