// A row of a convolution, four output channels at a time, where nothing is clamped but to int8 and shifted to the left.
#ifndef TFLFUSE_KERNELS_ARM_MVE_CONV_QUADS_H_
#define TFLFUSE_KERNELS_ARM_MVE_CONV_QUADS_H_

#include "conv_narrow.h"
#include "lanes.h"
#include "quad.h"

namespace tflfuse {

constexpr uint32_t kChannels = 4;  // output channels computed together: one vector register of sums

// Rows of the windows that lie the same way, above, in or below the plane, and where the weights for them begin.
struct Part {
  Rows rows;
  uint32_t weights;
};

// What ConvolveQuads makes: at least one pixel of at least four output channels.
struct Line {
  const int8_t* weights;
  uint32_t pitch;  // of an output channel's weights
  uint32_t pixels;
  uint32_t channels;
  const Part* parts;     // unless windows have one row: those in padding, and the one in the plane
  uint32_t part_count;
  const Part* inner;
};

// Four output channels from those on that weights and bias belong to. Where there are fewer, n, the last one stands for
// those that are missing.
inline void SetChannels(const int8_t* weights, uint32_t pitch, const int32_t* bias, uint32_t n, Channels* channels) {
  constexpr uint32_t kOrder[] = {0, 2, 1, 3};
  for (uint32_t c = 0; c < kChannels; ++c) {
    const uint32_t channel = kOrder[c] < n ? kOrder[c] : n - 1;
    channels->weights[c] = weights + channel * pitch;
    channels->bias[c] = bias[channel];
  }
}

// Padding is the same for all windows: its share goes to the bias, and the weights of the plane's rows are left.
inline void TakePadding(const Line& line, Channels* channels) {
  const int8_t** w = channels->weights;
  for (const Part* part = line.parts; part < line.parts + line.part_count; ++part) {
    if (part == line.inner) continue;
    const int8_t* const at[] = {w[0] + part->weights, w[1] + part->weights, w[2] + part->weights, w[3] + part->weights};
    Dot1x4(part->rows, part->rows.begin, at, channels->bias);
  }
  for (uint32_t c = 0; c < kChannels; ++c) w[c] += line.inner->weights;
}

// The quad: complete, but for its weights and bias; its output is that of channel 0. kFlat: windows have one row.
template <Scaling kScaling, bool kFlat>
[[gnu::noinline]] void ConvolveQuads(const Line& line, const TflfuseQuantization& q, Quad* quad) {
  constexpr bool kIsClamped = kScaling == Scaling::kClamped;
  const int8_t* windows = quad->windows;
  int8_t* output = quad->output;
  const uint32_t threes = line.pixels / 3, left = line.pixels - 3 * threes;
  for (uint32_t at = 0; at < line.channels; at += kChannels) {
    // The last channels begin earlier rather than to be fewer.
    const uint32_t first = at + kChannels <= line.channels ? at : line.channels - kChannels;
    SetChannels(line.weights + first * line.pitch, line.pitch, q.bias + first, kChannels, &quad->channels);
    if (!kFlat) TakePadding(line, &quad->channels);
    quad->windows = windows;
    quad->rows.offset = 0;
    quad->output = output + first;
    const int32x4_t multiplier = vldrwq_s32(q.multipliers + first), shift = vldrbq_s32(q.shifts + first);
    if (kFlat && kIsClamped && quad->length <= kNarrow) {
      ConvolveNarrow(*quad, multiplier, shift, line.pixels);
      continue;
    }
    quad->threes = threes;
    if (threes > 0) ConvolveQuad<3, kFlat, kIsClamped>(quad, multiplier, shift);
    if (left == 2) ConvolveQuad<2, kFlat, kIsClamped>(quad, multiplier, shift);
    if (left == 1) ConvolveQuad<1, kFlat, kIsClamped>(quad, multiplier, shift);
  }
}

using Convolver = void (*)(const Line& line, const TflfuseQuantization& q, Quad* quad);

inline Convolver ConvolverOf(Scaling scaling, bool flat) {
  if (scaling == Scaling::kClamped) {
    return flat ? ConvolveQuads<Scaling::kClamped, true> : ConvolveQuads<Scaling::kClamped, false>;
  }
  return flat ? ConvolveQuads<Scaling::kRight, true> : ConvolveQuads<Scaling::kRight, false>;
}

}  // namespace tflfuse

#endif  // TFLFUSE_KERNELS_ARM_MVE_CONV_QUADS_H_
