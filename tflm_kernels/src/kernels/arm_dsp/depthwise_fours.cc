#include "depthwise_fours.h"

#include "../backend.h"

#ifdef TFLFUSE_ARM_DSP

#include "rounding.h"

namespace tflfuse {
namespace dsp {
namespace {

struct Sums {
  int32_t c0, c1, c2, c3;
};

// Adds n taps, step bytes apart in the input, pitch bytes in the weights. Each word has four channels; those of two
// taps are put together as channels 0 and 1, 2 and 3 of both.
inline Sums AddTaps(const int8_t* x, uint32_t step, const int8_t* w, uint32_t pitch, uint32_t n, Sums s) {
  for (; n >= 2; n -= 2, x += 2 * step, w += 2 * pitch) {
    const int32_t xa = Load4(x), xb = Load4(x + step), wa = Load4(w), wb = Load4(w + pitch);
    const int32_t x01 = Pair(xa, xb), x23 = UpperPair(xa, xb), w01 = Pair(wa, wb), w23 = UpperPair(wa, wb);
    s.c0 = Dot(EvenBytes(x01), EvenBytes(w01), s.c0);
    s.c1 = Dot(OddBytes(x01), OddBytes(w01), s.c1);
    s.c2 = Dot(EvenBytes(x23), EvenBytes(w23), s.c2);
    s.c3 = Dot(OddBytes(x23), OddBytes(w23), s.c3);
  }
  if (n == 0) return s;
  const int32_t xa = Load4(x), wa = Load4(w);
  const int32_t x02 = EvenBytes(xa), x13 = OddBytes(xa), w02 = EvenBytes(wa), w13 = OddBytes(wa);
  return {__smlabb(x02, w02, s.c0), __smlabb(x13, w13, s.c1), __smlatt(x02, w02, s.c2), __smlatt(x13, w13, s.c3)};
}

int8_t Rounded(int32_t sum, const TflfuseQuantization& q, bool any, uint32_t channel) {
  const int32_t x = WrappingAdd(sum, q.bias[channel]), multiplier = q.multipliers[channel], shift = q.shifts[channel];
  if (any) return Quantized(x, multiplier, shift, q.zero_point, q.clamp_min, q.clamp_max);
  return Clamp(Saturated(x, ScaleOf(multiplier, shift, q.zero_point)), q.clamp_min, q.clamp_max);
}

}  // namespace
}  // namespace dsp
}  // namespace tflfuse

extern "C" void tflfuse_dsp_depthwise_fours(const TflfuseWindow* window, const int8_t* weights,
                                            const TflfuseQuantization* quantization, uint32_t width, int8_t* output) {
  using namespace tflfuse::dsp;
  const TflfuseWindow w = *window;
  const TflfuseQuantization q = *quantization;
  const bool any = RoundingOf(q) == Rounding::kAny;
  for (uint32_t next = 0; next < w.channels; next += 4) {
    const uint32_t c = next + 4 <= w.channels ? next : w.channels - 4;  // the last four may be some of those before
    int8_t* out = output + c;
    for (uint32_t x = 0; x < width; ++x, out += w.channels) {
      Sums sums = {};
      const int8_t* row_weights = weights + c;
      for (uint32_t k = 0; k < w.kernel_h; ++k, row_weights += w.kernel_w * w.channels) {
        const uint32_t at = k >= w.inner_begin && k < w.inner_end ? x * w.stride : 0;
        sums = AddTaps(w.rows[k] + at + c, w.dilation, row_weights, w.channels, w.kernel_w, sums);
      }
      out[0] = Rounded(sums.c0, q, any, c);
      out[1] = Rounded(sums.c1, q, any, c + 1);
      out[2] = Rounded(sums.c2, q, any, c + 2);
      out[3] = Rounded(sums.c3, q, any, c + 3);
    }
  }
}

#endif  // TFLFUSE_ARM_DSP
