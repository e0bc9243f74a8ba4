#include "../conv_row.h"

#include "../backend.h"

#ifdef TFLFUSE_ARM_MVE

#include "conv_packed.h"
#include "conv_quads.h"

namespace tflfuse {
namespace {

constexpr uint32_t kBytes = 16;    // of a window, in a vector register

// The windows of a row.
struct Shape {
  Part parts[3];
  uint32_t part_count;
  const Part* inner;  // in the plane; null where there is none
  uint32_t run;       // bytes of a window that lie next to each other in one row
  uint32_t runs;      // of these in each row
  uint32_t dilation;  // from run to run
};

void Describe(const TflfuseWindow& window, Shape* shape) {
  const bool adjacent = window.dilation == window.channels;
  shape->part_count = 0;
  shape->inner = nullptr;
  shape->run = adjacent ? window.kernel_w * window.channels : window.channels;
  shape->runs = adjacent ? 1 : window.kernel_w;
  shape->dilation = window.dilation;
  const uint32_t row = shape->run * shape->runs, turned = (shape->run + kBytes - 1) / kBytes * kBytes;
  const uint32_t edges[] = {0, window.inner_begin, window.inner_end, window.kernel_h};
  for (uint32_t i = 0; i < 3; ++i) {
    if (edges[i] >= edges[i + 1]) continue;
    Part* part = &shape->parts[shape->part_count++];
    part->rows = {shape->run, 0, i == 1 ? window.stride : 0, static_cast<int32_t>(row - turned),
                  window.rows + edges[i + 1], window.rows + edges[i]};
    part->weights = edges[i] * row;
    if (i == 1) shape->inner = part;
  }
}

// How the sums of up to four channels become int8.
struct Quantizer {
  int32x4_t multiplier;
  int32x4_t shift;
  mve_pred16_t lanes;
};

// The output of one pixel from its sums.
inline void Store(int32x4_t sums, const Quantizer& quantizer, const TflfuseQuantization& q, int8_t* output) {
  int32x4_t y = Requantized<Scaling::kAny>(sums, quantizer.multiplier, quantizer.shift);
  y = vaddq_n_s32(y, q.zero_point);
  y = vminq_s32(vmaxq_s32(y, vdupq_n_s32(q.clamp_min)), vdupq_n_s32(q.clamp_max));
  vstrbq_p_s32(output, y, quantizer.lanes);
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

[[gnu::noinline]] int32x4_t SumOne(Shape* shape, const Channels& channels, uint32_t x) {
  int32_t s[kChannels] = {channels.bias[0], channels.bias[1], channels.bias[2], channels.bias[3]};
  ForRows(shape, x, [&](const Rows& rows, const int8_t* const* at, uint32_t weights) {
    const int8_t* const w[] = {channels.weights[0] + weights, channels.weights[1] + weights, channels.weights[2] + weights,
                               channels.weights[3] + weights};
    Dot1x4(rows, at, w, s);
  });
  int32x4_t sums = vuninitializedq_s32();
  SetLanes<0>(&sums, s[0], s[1]);
  SetLanes<1>(&sums, s[2], s[3]);
  return sums;
}

template <int kFirst>
[[gnu::always_inline]] inline void SumPair(Shape* shape, const Channels& channels, uint32_t x, int32x4_t* sums) {
  const int32_t* b = channels.bias + 2 * kFirst;
  const int8_t* const* w = channels.weights + 2 * kFirst;
  int32_t s[] = {b[0], b[1], b[0], b[1]};
  ForRows(shape, x, [&](const Rows& rows, const int8_t* const* at, uint32_t weights) {
    Dot2x2(rows, at, w[0] + weights, w[1] + weights, s);
  });
  SetLanes<kFirst>(&sums[0], s[0], s[1]);
  SetLanes<kFirst>(&sums[1], s[2], s[3]);
}

struct Two {
  int32x4_t sums[2];
};

[[gnu::noinline]] Two SumTwo(Shape* shape, const Channels& channels, uint32_t x) {
  Two two = {{vuninitializedq_s32(), vuninitializedq_s32()}};
  SumPair<0>(shape, channels, x, two.sums);
  SumPair<1>(shape, channels, x, two.sums);
  return two;
}

// Any windows, channels, scales and clamps.
[[gnu::noinline]] void ConvolveAny(Shape* shape, const TflfuseQuantization& q, const int8_t* weights, uint32_t pitch,
                                   uint32_t width, uint32_t out_channels, int8_t* output) {
  const uint32_t n = out_channels < kChannels ? out_channels : kChannels;
  Channels four;
  Quantizer quantizer;
  quantizer.lanes = vctp32q(n);
  for (uint32_t at = 0; at < out_channels; at += kChannels) {
    // The last channels begin earlier rather than to be fewer.
    const uint32_t first = at + n <= out_channels ? at : out_channels - n;
    SetChannels(weights + first * pitch, pitch, q.bias + first, n, &four);
    quantizer.multiplier = vldrwq_z_s32(q.multipliers + first, quantizer.lanes);
    quantizer.shift = vldrbq_z_s32(q.shifts + first, quantizer.lanes);
    int8_t* out = output + first;
    uint32_t x = 0;
    for (; x + 2 <= width; x += 2, out += 2 * out_channels) {
      const Two two = SumTwo(shape, four, x);
      Store(two.sums[0], quantizer, q, out);
      Store(two.sums[1], quantizer, q, out + out_channels);
    }
    if (x < width) Store(SumOne(shape, four, x), quantizer, q, out);
  }
}

// What a quad has whatever its windows are.
Quad QuadOf(const TflfuseQuantization& q, uint32_t out_channels, int8_t* output) {
  Quad quad;
  quad.zero_point = q.zero_point;
  quad.pitch = out_channels;
  quad.output = output;
  return quad;
}

// Windows of which each row is one run, some of them in the plane.
[[gnu::noinline]] void ConvolveRuns(const Shape& shape, const TflfuseQuantization& q, Scaling scaling,
                                    const int8_t* weights, uint32_t pitch, uint32_t width, uint32_t out_channels,
                                    int8_t* output) {
  const Line line = {weights, pitch, width, out_channels, shape.parts, shape.part_count, shape.inner};
  Quad quad = QuadOf(q, out_channels, output);
  quad.stride = shape.inner->rows.stride;
  quad.rows = shape.inner->rows;
  ConvolverOf(scaling, false)(line, q, &quad);
}

// Whether windows are one run in the plane.
bool IsFlat(const TflfuseWindow& window) {
  return window.kernel_h == 1 && window.inner_begin == 0 && window.inner_end == 1 &&
         (window.kernel_w == 1 || window.dilation == window.channels);
}

[[gnu::noinline]] void ConvolveFlat(const TflfuseWindow& window, const TflfuseQuantization& q, Scaling scaling,
                                    const int8_t* weights, uint32_t width, uint32_t out_channels, int8_t* output) {
  const uint32_t length = window.kernel_w * window.channels;
  const Line line = {weights, length, width, out_channels, nullptr, 0, nullptr};
  Quad quad = QuadOf(q, out_channels, output);
  quad.windows = window.rows[0];
  quad.length = length;
  quad.stride = window.stride;
  ConvolverOf(scaling, true)(line, q, &quad);
}

[[gnu::noinline]] void ConvolveRows(const TflfuseWindow& window, const TflfuseQuantization& q, Scaling scaling,
                                    const int8_t* weights, uint32_t width, uint32_t out_channels, int8_t* output) {
  Shape shape;
  Describe(window, &shape);
  const uint32_t pitch = window.kernel_h * window.kernel_w * window.channels;
  if (scaling == Scaling::kAny || shape.runs > 1 || shape.inner == nullptr) {
    ConvolveAny(&shape, q, weights, pitch, width, out_channels, output);
  } else {
    ConvolveRuns(shape, q, scaling, weights, pitch, width, out_channels, output);
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
  const auto convolve = scaling == Scaling::kAny  ? ConvolveRows
                        : IsFlat(*window)           ? ConvolveFlat
                        : IsPacked(*window, width) ? ConvolvePacked
                                                    : ConvolveRows;
  convolve(*window, q, scaling, weights, width, out_channels, output);
}

#endif  // TFLFUSE_ARM_MVE
