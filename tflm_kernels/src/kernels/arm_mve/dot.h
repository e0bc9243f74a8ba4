// Sums of products over the rows of windows. In assembly, for the loops that are predicated at their end, which GCC 12
// does not make.
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

#undef TFLFUSE_ROWS_END
// clang-format on

}  // namespace tflfuse

#endif  // TFLFUSE_KERNELS_ARM_MVE_DOT_H_
