// A row of a convolution whose windows fit a vector register, as those of 1x1 convolutions of up to 16 channels do.
#ifndef TFLFUSE_KERNELS_ARM_MVE_CONV_NARROW_H_
#define TFLFUSE_KERNELS_ARM_MVE_CONV_NARROW_H_

#include <arm_mve.h>
#include <stdint.h>

#include "quad.h"

namespace tflfuse {

constexpr uint32_t kNarrow = 16;  // bytes of a window

// clang-format off
#define TFLFUSE_NARROW(load) \
  "dls lr, %[width]\n" \
  "1: " load " %q[x], [%[windows]]\n" \
  "add %[windows], %[stride]\n" \
  "vmladav.s8 %[s0], %q[x], %q[w0]\n" \
  "vmladav.s8 %[s1], %q[x], %q[w1]\n" \
  "vmladav.s8 %[s2], %q[x], %q[w2]\n" \
  "vmladav.s8 %[s3], %q[x], %q[w3]\n" \
  "vmov %q[x][2], %q[x][0], %[s0], %[s1]\n" \
  "vmov %q[x][3], %q[x][1], %[s2], %[s3]\n" \
  "vadd.i32 %q[x], %q[x], %q[bias]\n" \
  "vqrdmulh.s32 %q[x], %q[x], %q[multiplier]\n" \
  "vrshl.s32 %q[x], %q[x], %q[shift]\n" \
  "vadd.i32 %q[x], %q[x], %[zero]\n" \
  "vqmovnb.s32 %q[x], %q[x]\n" \
  "vqmovnb.s16 %q[x], %q[x]\n" \
  "vstrb.32 %q[x], [%[output]]\n" \
  "add %[output], %[pitch]\n" \
  "le lr, 1b\n"
#define TFLFUSE_NARROW_OPERANDS \
  : [windows] "+r"(windows), [output] "+l"(output), [x] "=&w"(x), [s0] "=&Te"(s0), [s1] "=&Te"(s1), [s2] "=&Te"(s2), \
    [s3] "=&Te"(s3) \
  : [w0] "w"(w0), [w1] "w"(w1), [w2] "w"(w2), [w3] "w"(w3), [bias] "w"(bias), [multiplier] "w"(multiplier), \
    [shift] "w"(shift), [stride] "r"(quad.stride), [zero] "r"(quad.zero_point), [pitch] "r"(quad.pitch), [width] "r"(width)

// width pixels of the output. For scales of which Scaling is kClamped, and no clamps but those of int8. Sets the
// predicate, which GCC 12 cannot be told: not to be inlined.
[[gnu::noinline]] inline void ConvolveNarrow(const Quad& quad, int32x4_t multiplier, int32x4_t shift, uint32_t width) {
  const mve_pred16_t lanes = vctp8q(quad.length);
  const int8x16_t w0 = vldrbq_z_s8(quad.channels.weights[0], lanes), w1 = vldrbq_z_s8(quad.channels.weights[1], lanes),
                  w2 = vldrbq_z_s8(quad.channels.weights[2], lanes), w3 = vldrbq_z_s8(quad.channels.weights[3], lanes);
  const int32x4_t bias = {quad.channels.bias[0], quad.channels.bias[2], quad.channels.bias[1], quad.channels.bias[3]};
  const int8_t* windows = quad.windows;
  int8_t* output = quad.output;
  int32x4_t x;
  int32_t s0, s1, s2, s3;
  if (quad.length == kNarrow) {
    __asm__ volatile(TFLFUSE_NARROW("vldrb.u8") TFLFUSE_NARROW_OPERANDS : "lr", "memory");
  } else {
    __asm__ volatile("vmsr p0, %[lanes]\n" TFLFUSE_NARROW("vpst\n vldrbt.u8") TFLFUSE_NARROW_OPERANDS, [lanes] "r"(lanes)
                     : "lr", "memory");
  }
}
#undef TFLFUSE_NARROW
#undef TFLFUSE_NARROW_OPERANDS
// clang-format on

}  // namespace tflfuse

#endif  // TFLFUSE_KERNELS_ARM_MVE_CONV_NARROW_H_
