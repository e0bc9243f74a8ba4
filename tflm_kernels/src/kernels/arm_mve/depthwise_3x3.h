// The sums of one window of a 3x3 depthwise convolution: in assembly, since compilers run out of vector registers here.
#ifndef TFLFUSE_KERNELS_ARM_MVE_DEPTHWISE_3X3_H_
#define TFLFUSE_KERNELS_ARM_MVE_DEPTHWISE_3X3_H_

#include <arm_mve.h>
#include <stddef.h>
#include <stdint.h>

namespace tflfuse {

// Channels that are summed together: one vector register of bytes.
constexpr uint32_t kBlock = 16;

// How the sums of up to 16 channels begin, and become int8; zeros where there are fewer. Lane i of the k-th vector
// belongs to channel 4 * i + k.
struct Parameters {
  int32x4_t bias[4];
  int32x4_t multiplier[4];
  int32x4_t shifts;  // byte k of lane i
};

struct Block3x3 {
  int8_t weights[9][kBlock];
  Parameters parameters;
  int32_t steps[3];  // in each row from the last column of a window to the first one of the next
};
static_assert(offsetof(Block3x3, parameters) == 144 && offsetof(Parameters, multiplier) == 64 &&
                  offsetof(Parameters, shifts) == 128 && offsetof(Block3x3, steps) == 288,
              "the assembly below knows the places");

// Lane i of s[k] belongs to channel 4 * i + k.
struct Sums {
  int32x4_t s[4];
};

// clang-format off
// Products of even and odd channels in t2 and t0, as int16; then all of them are added to the sums.
#define TFLFUSE_FIRST(x, w) LOAD("%q[t0]", x) \
  "vldrw.u32 %q[t1], [%[block], #" #w "]\n" \
  "vmullb.s8 %q[t2], %q[t0], %q[t1]\n" \
  "vmullt.s8 %q[t0], %q[t0], %q[t1]\n"
// Loaded twice: there is no register for the product of odd channels otherwise.
#define TFLFUSE_SECOND(x, w) LOAD("%q[t1]", x) \
  "vldrw.u32 %q[t3], [%[block], #" #w "]\n" \
  "vmullb.s8 %q[t1], %q[t1], %q[t3]\n" \
  "vadd.i16 %q[t2], %q[t2], %q[t1]\n" LOAD("%q[t1]", x) \
  "vmullt.s8 %q[t1], %q[t1], %q[t3]\n" \
  "vadd.i16 %q[t0], %q[t0], %q[t1]\n"
#define TFLFUSE_WIDEN \
  "vmovlb.s16 %q[t1], %q[t2]\n" \
  "vadd.i32 %q[s0], %q[s0], %q[t1]\n" \
  "vmovlt.s16 %q[t2], %q[t2]\n" \
  "vadd.i32 %q[s2], %q[s2], %q[t2]\n" \
  "vmovlb.s16 %q[t3], %q[t0]\n" \
  "vadd.i32 %q[s1], %q[s1], %q[t3]\n" \
  "vmovlt.s16 %q[t0], %q[t0]\n" \
  "vadd.i32 %q[s3], %q[s3], %q[t0]\n"
#define TFLFUSE_NEXT(row) "add %[" #row "], %[column]\n"
#define TFLFUSE_STEP(row, at) "ldr %[step], [%[block], #" #at "]\n add %[" #row "], %[step]\n"

#define TFLFUSE_SUM_3X3 \
  "vldrw.u32 %q[s0], [%[block], #144]\n" \
  "vldrw.u32 %q[s1], [%[block], #160]\n" \
  "vldrw.u32 %q[s2], [%[block], #176]\n" \
  "vldrw.u32 %q[s3], [%[block], #192]\n" \
  TFLFUSE_FIRST("a", 0) TFLFUSE_SECOND("b", 48) TFLFUSE_WIDEN TFLFUSE_NEXT(a) TFLFUSE_NEXT(b) \
  TFLFUSE_FIRST("a", 16) TFLFUSE_SECOND("b", 64) TFLFUSE_WIDEN TFLFUSE_NEXT(a) TFLFUSE_NEXT(b) \
  TFLFUSE_FIRST("a", 32) TFLFUSE_SECOND("b", 80) TFLFUSE_WIDEN \
  TFLFUSE_FIRST("c", 96) TFLFUSE_NEXT(c) TFLFUSE_SECOND("c", 112) TFLFUSE_WIDEN TFLFUSE_NEXT(c) \
  TFLFUSE_FIRST("c", 128) TFLFUSE_WIDEN \
  TFLFUSE_STEP(a, 288) TFLFUSE_STEP(b, 292) TFLFUSE_STEP(c, 296)

#define TFLFUSE_SUM_3X3_OPERANDS \
  : [s0] "=&w"(sums.s[0]), [s1] "=&w"(sums.s[1]), [s2] "=&w"(sums.s[2]), [s3] "=&w"(sums.s[3]), [t0] "=&w"(t0), \
    [t1] "=&w"(t1), [t2] "=&w"(t2), [t3] "=&w"(t3), [step] "=&r"(step), [a] "+r"(a), [b] "+r"(b), [c] "+r"(c) \
  : [block] "r"(&block), [column] "r"(column)

// The sums of the channels that lanes tells, for the window whose rows begin at a, b, and c, which move on to the next
// one. column: bytes from column to column. No weight is -128: pairs of products fit int16. kWhole: all 16 channels.
// Otherwise the predicate becomes lanes, which GCC 12 cannot be told: no other one may be live around it.
template <bool kWhole>
[[gnu::always_inline]] inline Sums Sum3x3(const Block3x3& block, mve_pred16_t lanes, uint32_t column, const int8_t*& a,
                                          const int8_t*& b, const int8_t*& c) {
  Sums sums;
  int32x4_t t0, t1, t2, t3;
  int32_t step;
  if (kWhole) {
#define LOAD(q, x) "vldrb.u8 " q ", [%[" x "]]\n"
    __asm__(TFLFUSE_SUM_3X3 TFLFUSE_SUM_3X3_OPERANDS : "memory");
#undef LOAD
  } else {
#define LOAD(q, x) "vpst\n vldrbt.u8 " q ", [%[" x "]]\n"
    __asm__("vmsr p0, %[lanes]\n" TFLFUSE_SUM_3X3 TFLFUSE_SUM_3X3_OPERANDS, [lanes] "r"(lanes) : "memory");
#undef LOAD
  }
  return sums;
}
#undef TFLFUSE_NEXT
#undef TFLFUSE_STEP
#undef TFLFUSE_SUM_3X3
#undef TFLFUSE_SUM_3X3_OPERANDS

// Adds the taps of one row of a window, of 16 channels, no weight of which is -128. step: bytes from tap to tap; pitch:
// those from weight to weight. At least one tap.
[[gnu::always_inline]] inline void AddTaps(const int8_t* x, uint32_t step, const int8_t* w, uint32_t pitch,
                                           uint32_t taps, Sums* sums) {
  int32x4_t t0, t1, t2, t3;
  if (taps >= 2) {
    __asm__("dls lr, %[pairs]\n"
            "1: vldrb.u8 %q[t0], [%[x]]\n"
            "vldrb.u8 %q[t1], [%[w]]\n"
            "add %[x], %[step]\n"
            "add %[w], %[pitch]\n"
            "vmullb.s8 %q[t2], %q[t0], %q[t1]\n"
            "vmullt.s8 %q[t0], %q[t0], %q[t1]\n"
            "vldrb.u8 %q[t1], [%[x]]\n"
            "vldrb.u8 %q[t3], [%[w]]\n"
            "vmullb.s8 %q[t1], %q[t1], %q[t3]\n"
            "vadd.i16 %q[t2], %q[t2], %q[t1]\n"
            "vldrb.u8 %q[t1], [%[x]]\n"
            "vmullt.s8 %q[t1], %q[t1], %q[t3]\n"
            "vadd.i16 %q[t0], %q[t0], %q[t1]\n"
            "add %[x], %[step]\n"
            "add %[w], %[pitch]\n" TFLFUSE_WIDEN
            "le lr, 1b\n"
            : [s0] "+w"(sums->s[0]), [s1] "+w"(sums->s[1]), [s2] "+w"(sums->s[2]), [s3] "+w"(sums->s[3]),
              [t0] "=&w"(t0), [t1] "=&w"(t1), [t2] "=&w"(t2), [t3] "=&w"(t3), [x] "+r"(x), [w] "+r"(w)
            : [step] "r"(step), [pitch] "r"(pitch), [pairs] "r"(taps / 2)
            : "lr", "memory");
  }
  if (taps % 2 != 0) {
    __asm__("vldrb.u8 %q[t0], [%[x]]\n"
            "vldrb.u8 %q[t1], [%[w]]\n"
            "vmullb.s8 %q[t2], %q[t0], %q[t1]\n"
            "vmullt.s8 %q[t0], %q[t0], %q[t1]\n" TFLFUSE_WIDEN
            : [s0] "+w"(sums->s[0]), [s1] "+w"(sums->s[1]), [s2] "+w"(sums->s[2]), [s3] "+w"(sums->s[3]),
              [t0] "=&w"(t0), [t1] "=&w"(t1), [t2] "=&w"(t2), [t3] "=&w"(t3)
            : [x] "r"(x), [w] "r"(w)
            : "memory");
  }
}
#undef TFLFUSE_WIDEN

// The sums as int8, where Scaling is kClamped, but for the clamps that int8 does not set by itself.
[[gnu::always_inline]] inline int8x16_t Output3x3(const Block3x3& block, Sums sums, int32_t zero_point) {
  int32x4_t t;
  int8x16_t y;
  __asm__(
      "vldrw.u32 %q[t], [%[block], #208]\n vqrdmulh.s32 %q[s0], %q[s0], %q[t]\n"
      "vldrw.u32 %q[t], [%[block], #224]\n vqrdmulh.s32 %q[s1], %q[s1], %q[t]\n"
      "vldrw.u32 %q[t], [%[block], #240]\n vqrdmulh.s32 %q[s2], %q[s2], %q[t]\n"
      "vldrw.u32 %q[t], [%[block], #256]\n vqrdmulh.s32 %q[s3], %q[s3], %q[t]\n"
      "vldrw.u32 %q[t], [%[block], #272]\n vrshl.s32 %q[s0], %q[s0], %q[t]\n"  // by the lowest byte of each lane
      "vshr.u32 %q[t], %q[t], #8\n vrshl.s32 %q[s1], %q[s1], %q[t]\n"
      "vshr.u32 %q[t], %q[t], #8\n vrshl.s32 %q[s2], %q[s2], %q[t]\n"
      "vshr.u32 %q[t], %q[t], #8\n vrshl.s32 %q[s3], %q[s3], %q[t]\n"
      "vadd.i32 %q[s0], %q[s0], %[zero]\n vadd.i32 %q[s1], %q[s1], %[zero]\n"
      "vadd.i32 %q[s2], %q[s2], %[zero]\n vadd.i32 %q[s3], %q[s3], %[zero]\n"
      "vqmovnb.s32 %q[y], %q[s0]\n vqmovnt.s32 %q[y], %q[s2]\n"
      "vqmovnb.s32 %q[s1], %q[s1]\n vqmovnt.s32 %q[s1], %q[s3]\n"
      "vqmovnb.s16 %q[y], %q[y]\n vqmovnt.s16 %q[y], %q[s1]\n"
      : [s0] "+w"(sums.s[0]), [s1] "+w"(sums.s[1]), [s2] "+w"(sums.s[2]), [s3] "+w"(sums.s[3]), [t] "=&w"(t), [y] "=&w"(y)
      : [block] "r"(&block), [zero] "r"(zero_point)
      : "memory");
  return y;
}
// clang-format on

}  // namespace tflfuse

#endif  // TFLFUSE_KERNELS_ARM_MVE_DEPTHWISE_3X3_H_
