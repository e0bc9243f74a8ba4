#include "../conv_row.h"

#include "../backend.h"

#ifdef TFLFUSE_ARM_MVE

#include "conv_narrow.h"
#include "conv_packed.h"
#include "conv_threes.h"

namespace tflfuse {
namespace {

constexpr uint32_t kBytes = 16;    // of a window, in a vector register

// Rows of the windows that lie the same way, above, in or below the plane, and where the weights for them begin.
struct Part {
  Rows rows;
  uint32_t weights;
};

// What is the same for all output channels.
struct Shape {
  Part parts[3];
  uint32_t part_count;
  uint32_t run;       // bytes of a window that lie next to each other in one row
  uint32_t runs;      // of these in each row
  uint32_t dilation;  // from run to run
  uint32_t pixels;    // in a row of the output
  uint32_t channels;
  bool flat;          // a window is one run, in the plane
  bool whole;         // a window has one run in each row, all in the plane
};

Shape ShapeOf(const TflfuseWindow& window, uint32_t pixels, uint32_t channels) {
  const bool adjacent = window.dilation == window.channels;
  Shape shape;
  shape.part_count = 0;
  shape.run = adjacent ? window.kernel_w * window.channels : window.channels;
  shape.runs = adjacent ? 1 : window.kernel_w;
  shape.dilation = window.dilation;
  shape.pixels = pixels;
  shape.channels = channels;
  shape.whole = shape.runs == 1 && window.inner_begin == 0 && window.inner_end == window.kernel_h;
  shape.flat = shape.whole && window.kernel_h == 1;
  const uint32_t row = shape.run * shape.runs, turned = (shape.run + kBytes - 1) / kBytes * kBytes;
  const uint32_t edges[] = {0, window.inner_begin, window.inner_end, window.kernel_h};
  for (uint32_t i = 0; i < 3; ++i) {
    if (edges[i] >= edges[i + 1]) continue;
    Part& part = shape.parts[shape.part_count++];
    part.rows = {shape.run, 0, i == 1 ? window.stride : 0, static_cast<int32_t>(row - turned),
                 window.rows + edges[i + 1], window.rows + edges[i]};
    part.weights = edges[i] * row;
  }
  return shape;
}

// The output of one pixel from its sums. But for kAny, there are four channels and no clamps but those of int8.
template <Scaling kScaling>
inline void Store(int32x4_t sums, const Quantizer& q, int8_t* output) {
  int32x4_t y = vaddq_n_s32(Requantized<kScaling>(sums, q.multiplier, q.shift), q.zero_point);
  if (kScaling == Scaling::kAny) {
    y = vminq_s32(vmaxq_s32(y, vdupq_n_s32(q.clamp_min)), vdupq_n_s32(q.clamp_max));
    vstrbq_p_s32(output, y, vctp32q(q.n));
  } else {
    y = vreinterpretq_s32_s16(vqmovnbq_s32(vreinterpretq_s16_s32(y), y));
    y = vreinterpretq_s32_s8(vqmovnbq_s16(vreinterpretq_s8_s32(y), vreinterpretq_s16_s32(y)));
    vstrbq_s32(output, y);
  }
}

// Calls dot with all rows of a window and the weights for them.
template <typename Dot>
[[gnu::always_inline]] inline void ForRows(Shape* shape, uint32_t x, const Dot& dot) {
  for (uint32_t i = 0; i < shape->part_count; ++i) {
    Part* part = &shape->parts[i];
    part->rows.offset = x * part->rows.stride;
    dot(part->rows, part->rows.begin, part->weights);
    for (uint32_t run = 1; run < shape->runs; ++run) {
      part->rows.offset += shape->dilation;
      dot(part->rows, part->rows.begin, part->weights + run * shape->run);
    }
  }
}

[[gnu::noinline]] int32x4_t SumOne(Shape* shape, const Quad& quad, uint32_t x) {
  int32_t s[kChannels] = {quad.bias[0], quad.bias[1], quad.bias[2], quad.bias[3]};
  ForRows(shape, x, [&](const Rows& rows, const int8_t* const* at, uint32_t weights) {
    const int8_t* const w[] = {quad.weights[0] + weights, quad.weights[1] + weights, quad.weights[2] + weights,
                               quad.weights[3] + weights};
    Dot1x4(rows, at, w, s);
  });
  int32x4_t sums = vuninitializedq_s32();
  SetLanes<0>(&sums, s[0], s[1]);
  SetLanes<1>(&sums, s[2], s[3]);
  return sums;
}

template <int kFirst>
[[gnu::always_inline]] inline void SumPair(Shape* shape, const Quad& quad, uint32_t x, int32x4_t* sums) {
  const int32_t* b = quad.bias + 2 * kFirst;
  const int8_t* const* w = quad.weights + 2 * kFirst;
  int32_t s[] = {b[0], b[1], b[0], b[1]};
  ForRows(shape, x, [&](const Rows& rows, const int8_t* const* at, uint32_t weights) {
    Dot2x2(rows, at, w[0] + weights, w[1] + weights, s);
  });
  SetLanes<kFirst>(&sums[0], s[0], s[1]);
  SetLanes<kFirst>(&sums[1], s[2], s[3]);
}

[[gnu::noinline]] Two SumTwo(Shape* shape, const Quad& quad, uint32_t x) {
  if (shape->whole) {
    Rows* rows = &shape->parts[0].rows;
    rows->offset = x * rows->stride;
    return Dot2x4(*rows, quad);
  }
  Two two = {{vuninitializedq_s32(), vuninitializedq_s32()}};
  SumPair<0>(shape, quad, x, two.sums);
  SumPair<1>(shape, quad, x, two.sums);
  return two;
}

// A whole row of four output channels.
template <Scaling kScaling>
inline void Convolve(Shape* shape, const Quantizer& quantizer, Quad* quad) {
  uint32_t left = shape->pixels;
  if (kScaling != Scaling::kAny && shape->flat) {
    if (kScaling == Scaling::kClamped && quad->length <= kNarrow) {
      ConvolveNarrow(*quad, quantizer.multiplier, quantizer.shift, shape->pixels);
      return;
    }
    left = ConvolveMost<kScaling, true>(shape->pixels, quantizer, quad);
  } else if (kScaling != Scaling::kAny && shape->whole) {
    quad->rows = shape->parts[0].rows;
    quad->rows.offset = 0;
    left = ConvolveMost<kScaling, false>(shape->pixels, quantizer, quad);
  }
  int8_t* output = quad->output;
  uint32_t x = shape->pixels - left;
  for (; left >= 2; left -= 2, x += 2, output += 2 * shape->channels) {
    const Two two = SumTwo(shape, *quad, x);
    Store<kScaling>(two.sums[0], quantizer, output);
    Store<kScaling>(two.sums[1], quantizer, output + shape->channels);
  }
  if (left == 1) Store<kScaling>(SumOne(shape, *quad, x), quantizer, output);
}

template <Scaling kScaling>
void ConvolveAll(const TflfuseWindow& window, const TflfuseQuantization& q, const int8_t* weights, uint32_t width,
                 uint32_t out_channels, int8_t* output) {
  Shape shape = ShapeOf(window, width, out_channels);
  const uint32_t pitch = window.kernel_h * window.kernel_w * window.channels;
  const uint32_t n = kScaling == Scaling::kAny && out_channels < kChannels ? out_channels : kChannels;
  const mve_pred16_t lanes = vctp32q(n);
  Quad quad;
  quad.length = pitch;
  quad.stride = window.stride;
  quad.zero_point = q.zero_point;
  quad.pitch = out_channels;
  Quantizer quantizer;
  quantizer.zero_point = q.zero_point;
  quantizer.clamp_min = q.clamp_min;
  quantizer.clamp_max = q.clamp_max;
  quantizer.n = n;
  for (uint32_t at = 0; at < out_channels; at += kChannels) {
    // The last channels begin earlier rather than to be fewer.
    const uint32_t first = at + n <= out_channels ? at : out_channels - n;
    SetChannels(weights + first * pitch, pitch, q.bias + first, n, &quad);
    quad.windows = window.rows[0];
    quad.output = output + first;
    quantizer.multiplier = vldrwq_z_s32(q.multipliers + first, lanes);
    quantizer.shift = vldrbq_z_s32(q.shifts + first, lanes);
    Convolve<kScaling>(&shape, quantizer, &quad);
  }
}

}  // namespace
}  // namespace tflfuse

extern "C" void tflfuse_conv_row(const TflfuseWindow* window, const int8_t* weights,
                                 const TflfuseQuantization* quantization, uint32_t width, uint32_t out_channels,
                                 int8_t* output) {
  using namespace tflfuse;
  const TflfuseQuantization& q = *quantization;
  const bool limited = q.clamp_min > -128 || q.clamp_max < 127;
  const Scaling scaling = out_channels < kChannels || limited ? Scaling::kAny : ScalingOf(q, out_channels);
  if (scaling != Scaling::kAny && IsPacked(*window, width)) {
    const auto convolve = scaling == Scaling::kClamped ? ConvolvePacked<Scaling::kClamped>
                                                       : ConvolvePacked<Scaling::kRight>;
    convolve(*window, q, weights, width, out_channels, output);
    return;
  }
  const auto convolve = scaling == Scaling::kClamped ? ConvolveAll<Scaling::kClamped>
                        : scaling == Scaling::kRight ? ConvolveAll<Scaling::kRight>
                                                     : ConvolveAll<Scaling::kAny>;
  convolve(*window, q, weights, width, out_channels, output);
}

#endif  // TFLFUSE_ARM_MVE
