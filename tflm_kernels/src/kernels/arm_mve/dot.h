// Sums of products over the windows of a convolution, several windows and output channels at once. In assembly, for the
// loops that are predicated at their end, which GCC 12 does not make, and because compilers run out of registers here.
#ifndef TFLFUSE_KERNELS_ARM_MVE_DOT_H_
#define TFLFUSE_KERNELS_ARM_MVE_DOT_H_

#include <arm_mve.h>
#include <stddef.h>
#include <stdint.h>

namespace tflfuse {

// Rows of windows and the weights for them. The weights follow each other, row after row.
struct Rows {
  uint32_t length;         // bytes of each row
  uint32_t offset;         // from what the row pointers point to, to the first window
  uint32_t stride;         // from window to window
  int32_t weights_step;    // what is missing to the next row's weights where loops have gone 16 bytes a turn
  const int8_t* const* end;  // of the row pointers
  const int8_t* const* begin;
};
static_assert(offsetof(Rows, end) == 16 && offsetof(Rows, begin) == 20, "the assembly below knows the places");

// clang-format off
#define TFLFUSE_ROWS_END(adds) \
  "letp lr, 2b\n" \
  "3: ldr %[x0], [%[rows], #12]\n" adds \
  "ldr %[x0], [%[rows], #16]\n" \
  "cmp %[at], %[x0]\n" \
  "bne 1b\n"

// sums[c] += window . w[c], for four channels. At least one row. Sums wrap.
[[gnu::always_inline]] inline void Dot1x4(const Rows& rows, const int8_t* const* at, const int8_t* const* w,
                                          int32_t* sums) {
  const int8_t *w0 = w[0], *w1 = w[1], *w2 = w[2], *w3 = w[3], *x0;
  int8x16_t a, b;
  __asm__(
      "1: ldr %[x0], [%[at]], #4\n"
      "ldr lr, [%[rows], #4]\n"
      "add %[x0], lr\n"
      "ldr lr, [%[rows]]\n"
      "wlstp.8 lr, lr, 3f\n"
      "2: vldrb.8 %q[a], [%[x0]], #16\n"
      "vldrb.8 %q[b], [%[w0]], #16\n"
      "vmladava.s8 %[s0], %q[a], %q[b]\n"
      "vldrb.8 %q[b], [%[w1]], #16\n"
      "vmladava.s8 %[s1], %q[a], %q[b]\n"
      "vldrb.8 %q[b], [%[w2]], #16\n"
      "vmladava.s8 %[s2], %q[a], %q[b]\n"
      "vldrb.8 %q[b], [%[w3]], #16\n"
      "vmladava.s8 %[s3], %q[a], %q[b]\n"
      TFLFUSE_ROWS_END("add %[w0], %[x0]\n add %[w1], %[x0]\n add %[w2], %[x0]\n add %[w3], %[x0]\n")
      : [a] "=&w"(a), [b] "=&w"(b), [x0] "=&r"(x0), [at] "+r"(at), [w0] "+r"(w0), [w1] "+r"(w1), [w2] "+r"(w2),
        [w3] "+r"(w3), [s0] "+Te"(sums[0]), [s1] "+Te"(sums[1]), [s2] "+Te"(sums[2]), [s3] "+Te"(sums[3])
      : [rows] "r"(&rows)
      : "lr", "cc", "memory");
}

// sums[2 * i + c] += window i . w[c], for two windows and two channels.
[[gnu::always_inline]] inline void Dot2x2(const Rows& rows, const int8_t* const* at, const int8_t* w0, const int8_t* w1,
                                          int32_t* sums) {
  const int8_t *x0, *x1;
  int8x16_t a, b, c;
  __asm__(
      "1: ldr %[x0], [%[at]], #4\n"
      "ldrd lr, %[x1], [%[rows], #4]\n"
      "add %[x0], lr\n"
      "add %[x1], %[x0]\n"
      "ldr lr, [%[rows]]\n"
      "wlstp.8 lr, lr, 3f\n"
      "2: vldrb.8 %q[a], [%[x0]], #16\n"
      "vldrb.8 %q[b], [%[w0]], #16\n"
      "vmladava.s8 %[s0], %q[a], %q[b]\n"
      "vldrb.8 %q[c], [%[w1]], #16\n"
      "vmladava.s8 %[s1], %q[a], %q[c]\n"
      "vldrb.8 %q[a], [%[x1]], #16\n"
      "vmladava.s8 %[s2], %q[a], %q[b]\n"
      "vmladava.s8 %[s3], %q[a], %q[c]\n"
      TFLFUSE_ROWS_END("add %[w0], %[x0]\n add %[w1], %[x0]\n")
      : [a] "=&w"(a), [b] "=&w"(b), [c] "=&w"(c), [x0] "=&r"(x0), [x1] "=&r"(x1), [at] "+r"(at), [w0] "+r"(w0),
        [w1] "+r"(w1), [s0] "+Te"(sums[0]), [s1] "+Te"(sums[1]), [s2] "+Te"(sums[2]), [s3] "+Te"(sums[3])
      : [rows] "r"(&rows)
      : "lr", "cc", "memory");
}

// Lanes kFirst and kFirst + 2 of v become a and b.
template <int kFirst>
[[gnu::always_inline]] inline void SetLanes(int32x4_t* v, int32_t a, int32_t b) {
  if (kFirst == 0) {
    __asm__("vmov %q0[2], %q0[0], %1, %2" : "+w"(*v) : "r"(a), "r"(b));
  } else {
    __asm__("vmov %q0[3], %q0[1], %1, %2" : "+w"(*v) : "r"(a), "r"(b));
  }
}

// Four output channels in the order 0, 2, 1, 3, and windows of one row each.
struct Quad {
  const int8_t* weights[4];
  int32_t bias[4];
  const int8_t* windows;
  uint32_t length;  // of a window
  uint32_t stride;  // from window to window
  int32_t zero_point;
  uint32_t pitch;  // from pixel to pixel of the output
  int8_t* output;
  uint32_t threes;  // of windows
  const int8_t* const* at;  // ConvolveThrees' own: the row pointer that comes next
  Rows rows;                // where the windows have several rows
};
static_assert(offsetof(Quad, bias) == 16 && offsetof(Quad, windows) == 32 && offsetof(Quad, stride) == 40 &&
                  offsetof(Quad, zero_point) == 44 && offsetof(Quad, output) == 52 && offsetof(Quad, threes) == 56 &&
                  offsetof(Quad, at) == 60 && offsetof(Quad, rows) == 64,
              "the assembly below knows the places");

struct Two {
  int32x4_t sums[2];
};

#define TFLFUSE_TWO_PAIR(weights, bias, first, second) \
  "ldrd %[w0], %[w1], [%[quad], #" weights "]\n" \
  "ldrd %[s0], %[s1], [%[quad], #" bias "]\n" \
  "ldr %[at], [%[rows], #20]\n" \
  "mov %[s2], %[s0]\n" \
  "mov %[s3], %[s1]\n" \
  "1: ldr %[x0], [%[at]], #4\n" \
  "ldrd lr, %[x1], [%[rows], #4]\n" \
  "add %[x0], lr\n" \
  "add %[x1], %[x0]\n" \
  "ldr lr, [%[rows]]\n" \
  "wlstp.8 lr, lr, 3f\n" \
  "2: vldrb.8 %q[a], [%[x0]], #16\n" \
  "vldrb.8 %q[b], [%[w0]], #16\n" \
  "vmladava.s8 %[s0], %q[a], %q[b]\n" \
  "vldrb.8 %q[c], [%[w1]], #16\n" \
  "vmladava.s8 %[s1], %q[a], %q[c]\n" \
  "vldrb.8 %q[a], [%[x1]], #16\n" \
  "vmladava.s8 %[s2], %q[a], %q[b]\n" \
  "vmladava.s8 %[s3], %q[a], %q[c]\n" \
  TFLFUSE_ROWS_END("add %[w0], %[x0]\n add %[w1], %[x0]\n") \
  "vmov %q[t0][" second "], %q[t0][" first "], %[s0], %[s1]\n" \
  "vmov %q[t1][" second "], %q[t1][" first "], %[s2], %[s3]\n"

// Lane c of sums[i] becomes the sum for channel c and window i, for two windows that consist of these rows.
[[gnu::always_inline]] inline Two Dot2x4(const Rows& rows, const Quad& quad) {
  const int8_t *x0, *x1, *w0, *w1;
  const int8_t* const* at;
  int32_t s0, s1, s2, s3;
  int8x16_t a, b, c;
  Two two;
  __asm__(TFLFUSE_TWO_PAIR("0", "16", "0", "2") TFLFUSE_TWO_PAIR("8", "24", "1", "3")
          : [a] "=&w"(a), [b] "=&w"(b), [c] "=&w"(c), [t0] "=&w"(two.sums[0]), [t1] "=&w"(two.sums[1]), [x0] "=&r"(x0),
            [x1] "=&r"(x1), [w0] "=&r"(w0), [w1] "=&r"(w1), [at] "=&r"(at), [s0] "=&Te"(s0), [s1] "=&Te"(s1),
            [s2] "=&Te"(s2), [s3] "=&Te"(s3)
          : [rows] "r"(&rows), [quad] "r"(&quad)
          : "lr", "cc", "memory");
  return two;
}
#undef TFLFUSE_TWO_PAIR
#undef TFLFUSE_ROWS_END

#define TFLFUSE_THREE_BEGIN(weights, bias) \
  "ldrd %[w0], %[w1], [%[quad], #" weights "]\n" \
  "ldrd %[s0], %[s1], [%[quad], #" bias "]\n" \
  "mov %[s2], %[s0]\n" \
  "mov %[s3], %[s1]\n" \
  "mov %[s4], %[s0]\n" \
  "mov %[s5], %[s1]\n"
#define TFLFUSE_THREE_DOT \
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
#define TFLFUSE_THREE_END(first, second) \
  "vmov %q[t0][" second "], %q[t0][" first "], %[s0], %[s1]\n" \
  "vmov %q[t1][" second "], %q[t1][" first "], %[s2], %[s3]\n" \
  "vmov %q[t2][" second "], %q[t2][" first "], %[s4], %[s5]\n"
#define TFLFUSE_THREE_FLAT(weights, bias, first, second) \
  TFLFUSE_THREE_BEGIN(weights, bias) \
  "ldrd %[x0], lr, [%[quad], #32]\n" \
  "ldr %[x2], [%[quad], #40]\n" \
  TFLFUSE_THREE_DOT TFLFUSE_THREE_END(first, second)
#define TFLFUSE_THREE_ROWS(weights, bias, first, second) \
  TFLFUSE_THREE_BEGIN(weights, bias) \
  "ldr %[x1], [%[quad], #84]\n" \
  "4: ldr %[x0], [%[x1]], #4\n" \
  "str %[x1], [%[quad], #60]\n" \
  "ldrd %[x1], %[x2], [%[quad], #68]\n" \
  "ldr lr, [%[quad], #64]\n" \
  "add %[x0], %[x1]\n" \
  TFLFUSE_THREE_DOT \
  "ldr %[x0], [%[quad], #76]\n" \
  "add %[w0], %[x0]\n" \
  "add %[w1], %[x0]\n" \
  "ldr %[x1], [%[quad], #60]\n" \
  "ldr %[x0], [%[quad], #80]\n" \
  "cmp %[x1], %[x0]\n" \
  "bne 4b\n" \
  TFLFUSE_THREE_END(first, second)
// ROUND: what makes halves of negative sums go away from zero.
#define TFLFUSE_THREE_OUTPUT(t) \
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
  TFLFUSE_THREE_OUTPUT("t0") TFLFUSE_THREE_OUTPUT("t1") TFLFUSE_THREE_OUTPUT("t2") \
  "str %[x2], [%[quad], #52]\n" \
  "ldr %[x0], [%[quad], #56]\n" \
  "subs %[x0], #1\n" \
  "str %[x0], [%[quad], #56]\n" \
  "bne 1b\n"
#define TFLFUSE_THREE_OPERANDS \
  : [a] "=&w"(a), [b] "=&w"(b), [c] "=&w"(c), [t0] "=&w"(t0), [t1] "=&w"(t1), [t2] "=&w"(t2), [x0] "=&r"(x0), \
    [x1] "=&r"(x1), [x2] "=&l"(x2), [w0] "=&r"(w0), [w1] "=&r"(w1), [s0] "=&Te"(s0), [s1] "=&Te"(s1), \
    [s2] "=&Te"(s2), [s3] "=&Te"(s3), [s4] "=&Te"(s4), [s5] "=&Te"(s5) \
  : [quad] "r"(quad), [multiplier] "w"(multiplier), [shift] "w"(shift) \
  : "lr", "cc", "memory"

#define TFLFUSE_THREE_ASSEMBLY \
  if (kFlat) { \
    __asm__ volatile(TFLFUSE_THREE(TFLFUSE_THREE_FLAT, "32") TFLFUSE_THREE_OPERANDS); \
  } else { \
    __asm__ volatile(TFLFUSE_THREE(TFLFUSE_THREE_ROWS, "68") TFLFUSE_THREE_OPERANDS); \
  }

// The outputs of three windows, as often as the quad says, at least once. kFlat: windows have one row. For scales of
// which Scaling is kClamped, or else kRight, and no clamps but those of int8. The quad's windows and output move on.
template <bool kFlat, bool kClampedScaling>
[[gnu::always_inline]] inline void ConvolveThrees(Quad* quad, int32x4_t multiplier, int32x4_t shift) {
  const int8_t *x0, *x1, *x2, *w0, *w1;
  int32_t s0, s1, s2, s3, s4, s5;
  int32x4_t a, b, c, t0, t1, t2;
  if (kClampedScaling) {
#define ROUND(t)
    TFLFUSE_THREE_ASSEMBLY
#undef ROUND
  } else {
#define ROUND(t) "vand %q[a], %q[" t "], %q[shift]\n vshr.s32 %q[a], %q[a], #31\n vadd.i32 %q[" t "], %q[" t "], %q[a]\n"
    TFLFUSE_THREE_ASSEMBLY
#undef ROUND
  }
}
#undef TFLFUSE_THREE_BEGIN
#undef TFLFUSE_THREE_DOT
#undef TFLFUSE_THREE_END
#undef TFLFUSE_THREE_FLAT
#undef TFLFUSE_THREE_ROWS
#undef TFLFUSE_THREE_OUTPUT
#undef TFLFUSE_THREE
#undef TFLFUSE_THREE_OPERANDS
#undef TFLFUSE_THREE_ASSEMBLY
// clang-format on

}  // namespace tflfuse

#endif  // TFLFUSE_KERNELS_ARM_MVE_DOT_H_
