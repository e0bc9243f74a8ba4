#include "../depthwise_row.h"

#include "../backend.h"

#ifdef TFLFUSE_ARM_MVE

#include <string.h>

#include "depthwise_3x3.h"
#include "lanes.h"

namespace tflfuse {
namespace {

// int32 values of n channels in the order of Sums, and zeros.
[[gnu::always_inline]] inline void Deal(const int32_t* values, uint32_t n, int32x4_t* dealt) {
  if (n < kBlock) {
    for (uint32_t k = 0; k < 4; ++k) dealt[k] = vldrwq_z_s32(values + 4 * k, vctp32q(n > 4 * k ? n - 4 * k : 0));
    values = static_cast<const int32_t*>(static_cast<const void*>(dealt));
  }
  // GCC 12 takes the intrinsics' result through memory twice.
  __asm__(
      "vld40.32 {q0, q1, q2, q3}, [%0]\n vld41.32 {q0, q1, q2, q3}, [%0]\n"
      "vld42.32 {q0, q1, q2, q3}, [%0]\n vld43.32 {q0, q1, q2, q3}, [%0]\n"
      "vstrw.32 q0, [%1]\n vstrw.32 q1, [%1, #16]\n vstrw.32 q2, [%1, #32]\n vstrw.32 q3, [%1, #48]\n" ::"r"(values),
      "r"(dealt)
      : "q0", "q1", "q2", "q3", "memory");
}

// What n channels from the first on need, but for their weights.
[[gnu::noinline]] void Fill(const TflfuseQuantization& q, uint32_t first, uint32_t n, Parameters* block) {
  Deal(q.bias + first, n, block->bias);
  Deal(q.multipliers + first, n, block->multiplier);
  block->shifts = vreinterpretq_s32_s8(vldrbq_z_s8(q.shifts + first, vctp8q(n)));
}

// even and odd: int16 sums of products of even and odd channels.
inline void Widen(int32x4_t* sums, int16x8_t even, int16x8_t odd) {
  sums[0] = vaddq_s32(sums[0], vmovlbq_s16(even));
  sums[1] = vaddq_s32(sums[1], vmovlbq_s16(odd));
  sums[2] = vaddq_s32(sums[2], vmovltq_s16(even));
  sums[3] = vaddq_s32(sums[3], vmovltq_s16(odd));
}

inline void Add(int32x4_t* sums, int8x16_t x, int8x16_t w) {
  Widen(sums, vmullbq_int_s8(x, w), vmulltq_int_s8(x, w));
}

// Two taps, whose sums fit int16 as long as no weight is -128.
inline void AddPair(int32x4_t* sums, int8x16_t x, int8x16_t w, int8x16_t y, int8x16_t v) {
  Widen(sums, vaddq_s16(vmullbq_int_s8(x, w), vmullbq_int_s8(y, v)),
        vaddq_s16(vmulltq_int_s8(x, w), vmulltq_int_s8(y, v)));
}

// Any scale.
[[gnu::noinline]] int8x16_t Output(Sums sums, const Parameters& block, int32_t zero_point) {
  int32x4_t shifts = block.shifts;
  for (int k = 0; k < 4; ++k, shifts = vshrq_n_s32(shifts, 8)) {
    const int32x4_t shift = vshrq_n_s32(vshlq_n_s32(shifts, 24), 24);
    sums.s[k] = vaddq_n_s32(Requantized<Scaling::kAny>(sums.s[k], block.multiplier[k], shift), zero_point);
  }
  return Narrowed(Narrowed(sums.s[0], sums.s[2]), Narrowed(sums.s[1], sums.s[3]));
}

inline int8x16_t Clamped(int8x16_t y, const TflfuseQuantization& q) {
  return vminq_s8(vmaxq_s8(y, vdupq_n_s8(static_cast<int8_t>(q.clamp_min))),
                  vdupq_n_s8(static_cast<int8_t>(q.clamp_max)));
}

// The smallest of the weights of up to 16 channels, which go to kept, 16 bytes for each tap, unless that is null.
int8_t TakeWeights(const int8_t* weights, uint32_t taps, uint32_t pitch, mve_pred16_t lanes, int8_t* kept) {
  int8x16_t smallest = vdupq_n_s8(0);
  for (; taps > 0; --taps, weights += pitch) {
    const int8x16_t w = vldrbq_z_s8(weights, lanes);
    smallest = vminq_s8(smallest, w);
    if (kept == nullptr) continue;
    vstrbq_s8(kept, w);
    kept += kBlock;
  }
  return vminvq_s8(0, smallest);
}

// Where row k of the first window begins, and how far it is to the next.
struct Row {
  const int8_t* begin;
  uint32_t stride;
};

Row RowOf(const TflfuseWindow& window, uint32_t k) {
  const bool inner = k >= window.inner_begin && k < window.inner_end;
  return {window.rows[k], inner ? window.stride : 0};
}

// One row of up to 16 channels, any window. kRepeated: several output channels look at one input channel.
template <bool kRepeated>
struct AnyBlock {
  const TflfuseWindow& window;
  const int8_t* weights;
  uint32_t first;  // the input channel that lane 0 looks at
  uint32_t out_channels;
  uint8x16_t inputs;   // kRepeated: the channel that each lane looks at
  mve_pred16_t lanes;  // those that are channels

  int8x16_t input(const int8_t* at) const {
    return kRepeated ? vldrbq_gather_offset_z_s8(at, inputs, lanes) : vldrbq_z_s8(at, lanes);
  }

  int8x16_t weight(const int8_t* at) const { return vldrbq_z_s8(at, lanes); }

  void sum(uint32_t x, bool pairs, Sums* sums) const {
    const int8_t* w = weights;
    for (uint32_t k = 0; k < window.kernel_h; ++k) {
      const Row row = RowOf(window, k);
      const int8_t* at = row.begin + x * row.stride + first;
      uint32_t taps = window.kernel_w;
      if (!kRepeated && pairs && out_channels >= kBlock) {
        AddTaps(at, window.dilation, w, out_channels, taps, sums);
        w += taps * out_channels;
        continue;
      }
      for (; pairs && taps >= 2; taps -= 2, at += 2 * window.dilation, w += 2 * out_channels) {
        AddPair(sums->s, input(at), weight(w), input(at + window.dilation), weight(w + out_channels));
      }
      for (; taps > 0; --taps, at += window.dilation, w += out_channels) Add(sums->s, input(at), weight(w));
    }
  }

  // to: the first of the output's channels.
  void row(const TflfuseQuantization& q, uint32_t to, uint32_t n, uint32_t width, int8_t* output) const {
    Parameters block;
    Fill(q, to, n, &block);
    const bool pairs = TakeWeights(weights, window.kernel_h * window.kernel_w, out_channels, lanes, nullptr) > -128;
    for (uint32_t x = 0; x < width; ++x, output += out_channels) {
      Sums sums = {{block.bias[0], block.bias[1], block.bias[2], block.bias[3]}};
      sum(x, pairs, &sums);
      vstrbq_p_s8(output, Clamped(Output(sums, block, q.zero_point), q), lanes);
    }
  }
};

// One row of n channels, up to 16, of a 3x3 convolution without multiplier. False if a weight is -128: then it does
// nothing.
template <Scaling kScaling, bool kWhole>
[[gnu::noinline]] bool Row3x3(const TflfuseWindow& window, const int8_t* weights, uint32_t first, uint32_t n,
                              const TflfuseQuantization& q, uint32_t width, int8_t* output) {
  const mve_pred16_t lanes = vctp8q(n);
  Block3x3 block;
  if (TakeWeights(weights, 9, window.channels, lanes, block.weights[0]) == -128) return false;
  Fill(q, first, n, &block.parameters);
  const Row rows[] = {RowOf(window, 0), RowOf(window, 1), RowOf(window, 2)};
  for (int k = 0; k < 3; ++k) block.steps[k] = static_cast<int32_t>(rows[k].stride - 2 * window.dilation);
  const int8_t *a = rows[0].begin + first, *b = rows[1].begin + first, *c = rows[2].begin + first;
  const uint32_t column = window.dilation, channels = window.channels;
  const int32_t zero_point = q.zero_point;
  const bool limited = q.clamp_min > -128 || q.clamp_max < 127;
  for (uint32_t x = 0; x < width; ++x, output += channels) {
    const Sums sums = Sum3x3<kWhole>(block, lanes, column, a, b, c);
    int8x16_t y = kScaling == Scaling::kClamped ? Output3x3(block, sums, zero_point)
                                                : Output(sums, block.parameters, zero_point);
    if (limited) y = Clamped(y, q);
    if (kWhole) {
      vstrbq_s8(output, y);
    } else {
      vstrbq_p_s8(output, y, lanes);
    }
  }
  return true;
}

// The channels that each lane of a block looks at, counted from those that the first one does.
uint8x16_t InputsOf(uint32_t first, uint32_t multiplier, uint32_t n) {
  uint8_t inputs[kBlock] = {};
  for (uint32_t c = 0; c < n; ++c) inputs[c] = static_cast<uint8_t>((first + c) / multiplier - first / multiplier);
  return vldrbq_u8(inputs);
}

// One row of n channels, up to 16, from output channel first on.
template <bool kRepeated>
[[gnu::noinline]] void AnyRow(const TflfuseWindow& window, const int8_t* weights, uint32_t first, uint32_t n,
                              uint32_t multiplier, const TflfuseQuantization& q, uint32_t width, int8_t* output) {
  const uint8x16_t inputs = kRepeated ? InputsOf(first, multiplier, n) : vdupq_n_u8(0);
  const uint32_t input = kRepeated ? first / multiplier : first;
  const AnyBlock<kRepeated> block = {window, weights, input, window.channels * multiplier, inputs, vctp8q(n)};
  block.row(q, first, n, width, output);
}

}  // namespace
}  // namespace tflfuse

extern "C" void tflfuse_depthwise_row(const TflfuseWindow* window, const int8_t* weights,
                                      const TflfuseQuantization* quantization, uint32_t width, uint32_t multiplier,
                                      int8_t* output) {
  using namespace tflfuse;
  const TflfuseQuantization& q = *quantization;
  const uint32_t out_channels = window->channels * multiplier;
  const bool is_3x3 = window->kernel_h == 3 && window->kernel_w == 3 && multiplier == 1;
  const uint32_t n = out_channels < kBlock ? out_channels : kBlock;
  const bool clamped = ScalingOf(q, out_channels) == Scaling::kClamped;
  const auto row_3x3 = n < kBlock ? clamped ? Row3x3<Scaling::kClamped, false> : Row3x3<Scaling::kAny, false>
                       : clamped  ? Row3x3<Scaling::kClamped, true>
                                  : Row3x3<Scaling::kAny, true>;
  const auto any_row = multiplier == 1 ? AnyRow<false> : AnyRow<true>;
  for (uint32_t at = 0; at < out_channels; at += kBlock) {
    // The last block begins earlier rather than to be incomplete.
    const uint32_t first = at + n <= out_channels ? at : out_channels - n;
    if (is_3x3 && row_3x3(*window, weights + first, first, n, q, width, output + first)) continue;
    any_row(*window, weights + first, first, n, multiplier, q, width, output + first);
  }
}

#endif  // TFLFUSE_ARM_MVE
