// A row of a convolution whose windows consist of short pieces: these are laid side by side first.
#ifndef TFLFUSE_KERNELS_ARM_MVE_CONV_PACKED_H_
#define TFLFUSE_KERNELS_ARM_MVE_CONV_PACKED_H_

#include "conv_quads.h"

namespace tflfuse {

constexpr uint32_t kPacked = 168;      // bytes of windows that are laid side by side
constexpr uint32_t kShort = 12;        // bytes of a piece that fills too little of a vector register
constexpr uint32_t kMost = 3;          // windows that there must be room for

// The pieces of a window.
struct Pieces {
  uint32_t length;
  uint32_t count;  // in each row

  explicit Pieces(const TflfuseWindow& window) {
    const bool adjacent = window.dilation == window.channels;
    length = adjacent ? window.kernel_w * window.channels : window.channels;
    count = adjacent ? 1 : window.kernel_w;
  }
};

// Whether this is the faster way; there are two pieces or more, and three pixels.
inline bool IsPacked(const TflfuseWindow& window, uint32_t width) {
  const Pieces pieces(window);
  const uint32_t all = window.kernel_h * pieces.count;
  return width >= kMost && all > 1 && pieces.length <= kShort && all <= kPacked / kMost / pieces.length;
}

// n windows from the one at x on, one behind the other.
[[gnu::noinline]] inline void Pack(const TflfuseWindow& window, uint32_t x, uint32_t n, int8_t* packed) {
  const Pieces pieces(window);
  const mve_pred16_t piece = vctp8q(pieces.length);
  const uint32_t pitch = window.kernel_h * pieces.count * pieces.length;
  for (uint32_t k = 0; k < window.kernel_h; ++k) {
    const uint32_t stride = k >= window.inner_begin && k < window.inner_end ? window.stride : 0;
    const int8_t* row = window.rows[k] + x * stride;
    for (uint32_t i = 0; i < pieces.count; ++i, row += window.dilation, packed += pieces.length) {
      const int8_t* from = row;
      int8_t* to = packed;
      for (uint32_t p = 0; p < n; ++p, from += stride, to += pitch) vstrbq_p_s8(to, vldrbq_z_s8(from, piece), piece);
    }
  }
}

// Where IsPacked, at least four output channels and no clamps but those of int8.
[[gnu::noinline]] inline void ConvolvePacked(const TflfuseWindow& window, const TflfuseQuantization& q,
                                             Scaling scaling, const int8_t* weights, uint32_t width,
                                             uint32_t out_channels, int8_t* output) {
  const Convolver convolve = ConvolverOf(scaling, true);
  int8_t packed[kPacked];
  const uint32_t pitch = window.kernel_h * window.kernel_w * window.channels;
  const uint32_t room = kPacked / pitch / 3 * 3, n = width < room ? width : room;
  const Line line = {weights, pitch, n, out_channels, nullptr, 0, nullptr};
  Quad quad;
  quad.length = quad.stride = pitch;
  quad.zero_point = q.zero_point;
  quad.pitch = out_channels;
  for (uint32_t at = 0; at < width; at += n) {
    // The last windows begin earlier rather than to be fewer.
    const uint32_t x = at + n <= width ? at : width - n;
    Pack(window, x, n, packed);
    quad.windows = packed;
    quad.output = output + x * out_channels;
    convolve(line, q, &quad);
  }
}

}  // namespace tflfuse

#endif  // TFLFUSE_KERNELS_ARM_MVE_CONV_PACKED_H_
