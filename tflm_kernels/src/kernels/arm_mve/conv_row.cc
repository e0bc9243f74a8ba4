#include "../conv_row.h"

#include "../backend.h"

#ifdef TFLFUSE_ARM_MVE

#include "conv_narrow.h"
#include "dot.h"
#include "lanes.h"

namespace tflfuse {
namespace {

constexpr uint32_t kChannels = 4;  // output channels computed together: one vector register of sums
constexpr uint32_t kBytes = 16;    // of a window, in a vector register

// Rows of the windows that lie the same way: above, in or below the plane.
struct Part {
  Rows rows;
  const int8_t* const* begin;  // of the row pointers
  uint32_t weights;            // offset of the weights for them
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
  shape.flat = window.kernel_h == 1 && shape.runs == 1 && window.inner_begin < window.inner_end;
  const uint32_t row = shape.run * shape.runs, turned = (shape.run + kBytes - 1) / kBytes * kBytes;
  const uint32_t edges[] = {0, window.inner_begin, window.inner_end, window.kernel_h};
  for (uint32_t i = 0; i < 3; ++i) {
    if (edges[i] >= edges[i + 1]) continue;
    Part& part = shape.parts[shape.part_count++];
    part.rows = {shape.run, 0, i == 1 ? window.stride : 0, static_cast<int32_t>(row - turned),
                 window.rows + edges[i + 1]};
    part.begin = window.rows + edges[i];
    part.weights = edges[i] * row;
  }
  return shape;
}

// n output channels from the first on, 1 to 4. Where there are fewer than 4, the last one stands for those missing.
Quad QuadOf(const int32_t* bias, const int8_t* weights, uint32_t pitch, uint32_t n) {
  Quad quad;
  constexpr uint32_t kOrder[] = {0, 2, 1, 3};
  for (uint32_t c = 0; c < kChannels; ++c) {
    const uint32_t channel = kOrder[c] < n ? kOrder[c] : n - 1;
    quad.weights[c] = weights + channel * pitch;
    quad.bias[c] = bias[channel];
  }
  return quad;
}

// How the sums of up to four channels become int8.
struct Quantizer {
  int32x4_t multiplier;
  int32x4_t shift;
  int32_t zero_point;
  int32_t clamp_min;
  int32_t clamp_max;
  uint32_t n;
  bool plain;  // four channels, and no clamps but those of int8
};

Quantizer QuantizerOf(const TflfuseQuantization& q, uint32_t first, uint32_t n) {
  const mve_pred16_t lanes = vctp32q(n);
  return {vldrwq_z_s32(q.multipliers + first, lanes),
          vldrbq_z_s32(q.shifts + first, lanes),
          q.zero_point,
          q.clamp_min,
          q.clamp_max,
          n,
          n == kChannels && q.clamp_min == -128 && q.clamp_max == 127};
}

// The output of one pixel from its sums.
template <Scaling kScaling>
inline void Store(int32x4_t sums, const Quantizer& q, int8_t* output) {
  int32x4_t y = vaddq_n_s32(Requantized<kScaling>(sums, q.multiplier, q.shift), q.zero_point);
  if (q.plain) {
    y = vreinterpretq_s32_s16(vqmovnbq_s32(vreinterpretq_s16_s32(y), y));
    y = vreinterpretq_s32_s8(vqmovnbq_s16(vreinterpretq_s8_s32(y), vreinterpretq_s16_s32(y)));
    vstrbq_s32(output, y);
  } else {
    y = vminq_s32(vmaxq_s32(y, vdupq_n_s32(q.clamp_min)), vdupq_n_s32(q.clamp_max));
    vstrbq_p_s32(output, y, vctp32q(q.n));
  }
}

// Calls dot with all rows of a window and the weights for them.
template <typename Dot>
[[gnu::always_inline]] inline void ForRows(Shape* shape, uint32_t x, const Dot& dot) {
  for (uint32_t i = 0; i < shape->part_count; ++i) {
    Part* part = &shape->parts[i];
    part->rows.offset = x * part->rows.stride;
    dot(part->rows, part->begin, part->weights);
    for (uint32_t run = 1; run < shape->runs; ++run) {
      part->rows.offset += shape->dilation;
      dot(part->rows, part->begin, part->weights + run * shape->run);
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

struct Two {
  int32x4_t sums[2];
};

[[gnu::noinline]] Two SumTwo(Shape* shape, const Quad& quad, uint32_t x) {
  Two two = {{vuninitializedq_s32(), vuninitializedq_s32()}};
  SumPair<0>(shape, quad, x, two.sums);
  SumPair<1>(shape, quad, x, two.sums);
  return two;
}

// All pixels of the channels of a quad.
template <Scaling kScaling>
void Convolve(Shape* shape, Quad* next, const Quantizer& q, int8_t* output) {
  const Quantizer quantizer = q;  // the output cannot overlap it
  Quad& quad = *next;
  const uint32_t channels = shape->channels;
  uint32_t x = 0, left = shape->pixels;
  if (shape->flat) {
    for (; left > 4 || left == 3; left -= 3, x += 3) {
      int32x4_t sums[3];
      Dot3x4(quad, sums);
      quad.windows += 3 * quad.stride;
      for (const int32x4_t sum : sums) {
        Store<kScaling>(sum, quantizer, output);
        output += channels;
      }
    }
  }
  for (; left >= 2; left -= 2, x += 2) {
    const Two two = SumTwo(shape, quad, x);
    for (const int32x4_t sum : two.sums) {
      Store<kScaling>(sum, quantizer, output);
      output += channels;
    }
  }
  if (left == 1) Store<kScaling>(SumOne(shape, quad, x), quantizer, output);
}

}  // namespace
}  // namespace tflfuse

extern "C" void tflfuse_conv_row(const TflfuseWindow* window, const int8_t* weights,
                                 const TflfuseQuantization* quantization, uint32_t width, uint32_t out_channels,
                                 int8_t* output) {
  using namespace tflfuse;
  const TflfuseQuantization q = *quantization;
  Shape shape = ShapeOf(*window, width, out_channels);
  const uint32_t pitch = window->kernel_h * window->kernel_w * window->channels;
  const Scaling scaling = ScalingOf(q, out_channels);
  const auto convolve = scaling == Scaling::kClamped ? Convolve<Scaling::kClamped>
                        : scaling == Scaling::kRight ? Convolve<Scaling::kRight>
                                                     : Convolve<Scaling::kAny>;
  const bool narrow = shape.flat && scaling == Scaling::kClamped && pitch <= kNarrow;
  const uint32_t n = out_channels < kChannels ? out_channels : kChannels;
  for (uint32_t at = 0; at < out_channels; at += kChannels) {
    // The last channels begin earlier rather than to be fewer.
    const uint32_t first = at + n <= out_channels ? at : out_channels - n;
    const Quantizer quantizer = QuantizerOf(q, first, n);
    Quad quad = QuadOf(q.bias + first, weights + first * pitch, pitch, n);
    quad.windows = window->rows[0];
    quad.length = pitch;
    quad.stride = window->stride;
    if (narrow && quantizer.plain) {
      ConvolveNarrow(quad, quantizer.multiplier, quantizer.shift, q.zero_point, width, out_channels, output + first);
    } else {
      convolve(&shape, &quad, quantizer, output + first);
    }
  }
}

#endif  // TFLFUSE_ARM_MVE
