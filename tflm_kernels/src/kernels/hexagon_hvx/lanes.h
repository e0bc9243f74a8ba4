// Requantization of 32 sums at once, as requantize.h computes each.
#ifndef TFLFUSE_KERNELS_HEXAGON_HVX_LANES_H_
#define TFLFUSE_KERNELS_HEXAGON_HVX_LANES_H_

#include "../requantize.h"
#include "../window.h"
#include "vectors.h"

namespace tflfuse {

// What a TflfuseQuantization has for all channels.
struct Range {
  HVX_Vector zero_point, low, high;

  explicit Range(const TflfuseQuantization& q)
      : zero_point(Splat(q.zero_point)), low(Splat(q.clamp_min)), high(Splat(q.clamp_max)) {}
};

// 32 channels: int32 each. left, right: the shift to the left; that to the right less one, where there is one. level:
// all bits where there is none to the right.
struct Lanes {
  HVX_Vector bias, multiplier, shift, left, right, level;

  Lanes() = default;
  Lanes(HVX_Vector biases, HVX_Vector multipliers, HVX_Vector shifts)
      : bias(biases), multiplier(multipliers), shift(shifts) {
    const HVX_Vector zero = Q6_V_vzero();
    left = Q6_Vw_vmax_VwVw(shift, zero);
    right = Q6_Vw_vmax_VwVw(Q6_Vw_vsub_VwVw(Splat(-1), shift), zero);
    level = Q6_V_vnot_V(Q6_V_vand_QV(Q6_Q_vcmp_gt_VwVw(zero, shift), Splat(-1)));
  }
};

// Sums as numbers of the output, int32 within int8.
#if defined(TFLITE_SINGLE_ROUNDING) && TFLITE_SINGLE_ROUNDING
inline HVX_Vector Quantized(HVX_Vector sums, const Lanes& lanes, const Range& range) {
  union Words {
    HVX_Vector vector;
    int32_t words[kVectorWords];
  };
  const Words multipliers = {lanes.multiplier}, shifts = {lanes.shift};
  Words y = {sums};
  for (uint32_t i = 0; i < kVectorWords; ++i) {
    y.words[i] = Requantize(y.words[i], multipliers.words[i], shifts.words[i]);
  }
  const HVX_Vector moved = Q6_Vw_vadd_VwVw(y.vector, range.zero_point);
  return Q6_Vw_vmin_VwVw(Q6_Vw_vmax_VwVw(moved, range.low), range.high);
}
#else
inline HVX_Vector Quantized(HVX_Vector sums, const Lanes& lanes, const Range& range) {
  const HVX_Vector x = Q6_Vw_vasl_VwVw(sums, lanes.left);
  // floor(x * m / 2^31 + 1/2): the lower half of m first, to 16 bits less, then the upper.
  const HVX_Vector lower = Q6_Vw_vmpye_VwVuh(x, lanes.multiplier);
  const HVX_Vector high = Q6_Vw_vmpyoacc_VwVwVh_s1_rnd_sat_shift(lower, x, lanes.multiplier);
  const HVX_Vector halves = Q6_Vw_vasr_VwVw(Q6_Vw_vasracc_VwVwR(high, high, 31), lanes.right);
  // (halves + 1) >> 1; where nothing is shifted, (high - [high < 0] + high + 1) >> 1, which is high.
  const HVX_Vector y = Q6_Vw_vavg_VwVw_rnd(halves, Q6_V_vand_VV(high, lanes.level));
  const HVX_Vector moved = Q6_Vw_vadd_VwVw(y, range.zero_point);
  return Q6_Vw_vmin_VwVw(Q6_Vw_vmax_VwVw(moved, range.low), range.high);
}
#endif

}  // namespace tflfuse

#endif  // TFLFUSE_KERNELS_HEXAGON_HVX_LANES_H_
