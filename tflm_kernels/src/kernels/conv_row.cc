#include "conv_row.h"

#include "backend.h"

#ifndef TFLFUSE_HAS_CONV_ROW

#include "requantize.h"

namespace tflfuse {
namespace {

constexpr uint32_t kChannels = 4;  // output channels that share the loads of a window

// sums[c] += x . w[c], for four output channels whose weights lie pitch apart.
inline void Dot1x4(const int8_t* x, const int8_t* w, uint32_t pitch, uint32_t n, int32_t* sums) {
  const int8_t *w0 = w, *w1 = w0 + pitch, *w2 = w1 + pitch, *w3 = w2 + pitch;
  int32_t s0 = 0, s1 = 0, s2 = 0, s3 = 0;
  for (uint32_t i = 0; i < n; ++i) {
    const int32_t a = x[i];
    s0 += a * w0[i];
    s1 += a * w1[i];
    s2 += a * w2[i];
    s3 += a * w3[i];
  }
  sums[0] = WrappingAdd(sums[0], s0);
  sums[1] = WrappingAdd(sums[1], s1);
  sums[2] = WrappingAdd(sums[2], s2);
  sums[3] = WrappingAdd(sums[3], s3);
}

// The same for two windows, whose sums follow each other.
inline void Dot2x4(const int8_t* x, const int8_t* y, const int8_t* w, uint32_t pitch, uint32_t n, int32_t* sums) {
  const int8_t *w0 = w, *w1 = w0 + pitch, *w2 = w1 + pitch, *w3 = w2 + pitch;
  int32_t s0 = 0, s1 = 0, s2 = 0, s3 = 0, t0 = 0, t1 = 0, t2 = 0, t3 = 0;
  for (uint32_t i = 0; i < n; ++i) {
    const int32_t a = x[i], b = y[i];
    const int32_t v0 = w0[i], v1 = w1[i], v2 = w2[i], v3 = w3[i];
    s0 += a * v0;
    t0 += b * v0;
    s1 += a * v1;
    t1 += b * v1;
    s2 += a * v2;
    t2 += b * v2;
    s3 += a * v3;
    t3 += b * v3;
  }
  sums[0] = WrappingAdd(sums[0], s0);
  sums[1] = WrappingAdd(sums[1], s1);
  sums[2] = WrappingAdd(sums[2], s2);
  sums[3] = WrappingAdd(sums[3], s3);
  sums[4] = WrappingAdd(sums[4], t0);
  sums[5] = WrappingAdd(sums[5], t1);
  sums[6] = WrappingAdd(sums[6], t2);
  sums[7] = WrappingAdd(sums[7], t3);
}

inline void Dot1x1(const int8_t* x, const int8_t* w, uint32_t n, int32_t* sums) {
  int32_t s = 0;
  for (uint32_t i = 0; i < n; ++i) s += x[i] * w[i];
  sums[0] = WrappingAdd(sums[0], s);
}

// The bytes of a window that lie next to each other in one row, and how many such runs a row has.
struct Runs {
  uint32_t length;
  uint32_t count;
};

Runs RunsOf(const TflfuseWindow& window) {
  if (window.dilation == window.channels) return {window.kernel_w * window.channels, 1};
  return {window.channels, window.kernel_w};
}

void Sum4(const TflfuseWindow& window, const Runs& runs, const int8_t* w, uint32_t pitch, uint32_t x, bool two,
          int32_t* sums) {
  for (uint32_t k = 0; k < window.kernel_h; ++k) {
    const uint32_t stride = k >= window.inner_begin && k < window.inner_end ? window.stride : 0;
    const int8_t* row = window.rows[k] + x * stride;
    for (uint32_t run = 0; run < runs.count; ++run, row += window.dilation, w += runs.length) {
      if (two) {
        Dot2x4(row, row + stride, w, pitch, runs.length, sums);
      } else {
        Dot1x4(row, w, pitch, runs.length, sums);
      }
    }
  }
}

void Sum1(const TflfuseWindow& window, const Runs& runs, const int8_t* w, uint32_t x, int32_t* sums) {
  for (uint32_t k = 0; k < window.kernel_h; ++k) {
    const bool inner = k >= window.inner_begin && k < window.inner_end;
    const int8_t* row = window.rows[k] + (inner ? x * window.stride : 0);
    for (uint32_t run = 0; run < runs.count; ++run, row += window.dilation, w += runs.length) {
      Dot1x1(row, w, runs.length, sums);
    }
  }
}

inline int8_t Output(const TflfuseQuantization& q, uint32_t channel, int32_t sum) {
  return Quantized(sum, q.multipliers[channel], q.shifts[channel], q.zero_point, q.clamp_min, q.clamp_max);
}

}  // namespace
}  // namespace tflfuse

extern "C" void tflfuse_conv_row(const TflfuseWindow* window, const int8_t* weights,
                                 const TflfuseQuantization* quantization, uint32_t width, uint32_t out_channels,
                                 int8_t* output) {
  using namespace tflfuse;
  const TflfuseQuantization q = *quantization;
  const Runs runs = RunsOf(*window);
  const uint32_t pitch = window->kernel_h * window->kernel_w * window->channels;
  uint32_t channel = 0;
  // Channels outside, pixels inside: weights lie in slow flash, the rows in fast memory.
  for (; channel + kChannels <= out_channels; channel += kChannels, weights += kChannels * pitch) {
    const int32_t* b = q.bias + channel;
    int8_t* out = output + channel;
    for (uint32_t x = 0; x < width; x += 2) {
      const bool two = x + 1 < width;
      int32_t sums[2 * kChannels] = {b[0], b[1], b[2], b[3], b[0], b[1], b[2], b[3]};
      Sum4(*window, runs, weights, pitch, x, two, sums);
      for (uint32_t c = 0; c < kChannels; ++c) out[c] = Output(q, channel + c, sums[c]);
      out += out_channels;
      if (!two) break;
      for (uint32_t c = 0; c < kChannels; ++c) out[c] = Output(q, channel + c, sums[kChannels + c]);
      out += out_channels;
    }
  }
  for (; channel < out_channels; ++channel, weights += pitch) {
    for (uint32_t x = 0; x < width; ++x) {
      int32_t sum = q.bias[channel];
      Sum1(*window, runs, weights, x, &sum);
      output[x * out_channels + channel] = Output(q, channel, sum);
    }
  }
}

#endif  // TFLFUSE_HAS_CONV_ROW
