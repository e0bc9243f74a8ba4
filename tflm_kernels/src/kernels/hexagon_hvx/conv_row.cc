#include "../conv_row.h"

#include "../backend.h"

#ifdef TFLFUSE_HEXAGON_HVX

#include "lanes.h"
#include "transpose_words.h"
#include "vectors.h"

namespace tflfuse {
namespace {

constexpr uint32_t kChannels = kVectorWords;  // output channels that one multiply serves
constexpr uint32_t kTogether = 4;             // windows that share the loads of weights
constexpr uint32_t kPixels = 16;              // windows whose sums are kept while the weights change

// Up to 128 bytes of each window that lie next to each other in one row, and the weights for them.
struct Segment {
  const int8_t* row;  // in the window at column 0
  uint32_t stride;
  uint32_t length;
  const int8_t* weights;  // of the first channel
};

// What is the same for all segments of a block of channels.
struct Block {
  uint32_t pitch;     // from channel to channel
  uint32_t channels;  // 1 to 32
};

// packed[g] = bytes 4 * g to 4 * g + 3 of each channel, and zeros behind the last byte.
void Pack(const Segment& segment, const Block& block, HVX_Vector* packed) {
  HVX_Vector rows[kChannels];  // those behind the last channel are arbitrary, as is what they make
  const int8_t* w = segment.weights;
  for (uint32_t c = 0; c < block.channels; ++c, w += block.pitch) rows[c] = Load(w, segment.length);
  const uint32_t groups = (segment.length + 3) / 4, odd = segment.length % 4;
  TransposeWords(rows, groups, packed);
  if (odd != 0) packed[groups - 1] = Q6_V_vand_VV(packed[groups - 1], Splat((1 << (8 * odd)) - 1));
}

// The network that gives every word of a vector the value of the first; see Accumulate.
inline HVX_Vector Places() {
  alignas(kVectorBytes) static constexpr uint8_t kPlaces[kVectorBytes] = {
#define TFLFUSE_WORD(n) 4 * (n), 4 * (n), 4 * (n), 4 * (n)
#define TFLFUSE_WORDS(n) TFLFUSE_WORD(n), TFLFUSE_WORD(n + 1), TFLFUSE_WORD(n + 2), TFLFUSE_WORD(n + 3)
      TFLFUSE_WORDS(0),  TFLFUSE_WORDS(4),  TFLFUSE_WORDS(8),  TFLFUSE_WORDS(12),
      TFLFUSE_WORDS(16), TFLFUSE_WORDS(20), TFLFUSE_WORDS(24), TFLFUSE_WORDS(28)
#undef TFLFUSE_WORDS
#undef TFLFUSE_WORD
  };
  return *static_cast<const HVX_Vector*>(static_cast<const void*>(kPlaces));
}

// Adds a segment's products to the sums of the windows from x on; those behind the last one get the last one's.
//
// vrdelta with the control bits i ^ j at place i leads the byte of place j everywhere.
void Accumulate(const Segment& segment, uint32_t x, uint32_t width, HVX_Vector places, const HVX_Vector* packed,
                HVX_Vector* sums) {
  HVX_Vector windows[kTogether];
  for (uint32_t i = 0; i < kTogether; ++i) {
    const uint32_t column = x + i < width ? x + i : width - 1;
    windows[i] = Load(segment.row + column * segment.stride, segment.length);
  }
  HVX_Vector s0 = sums[0], s1 = sums[1], s2 = sums[2], s3 = sums[3];
  uint32_t group = 0;
  for (const HVX_Vector* end = packed + (segment.length + 3) / 4; packed < end; ++packed, group += 0x04040404) {
    const HVX_Vector to_all = Q6_V_vxor_VV(places, Splat(static_cast<int32_t>(group)));
    s0 = Q6_Vw_vrmpyacc_VwVbVb(s0, *packed, Q6_V_vrdelta_VV(windows[0], to_all));
    s1 = Q6_Vw_vrmpyacc_VwVbVb(s1, *packed, Q6_V_vrdelta_VV(windows[1], to_all));
    s2 = Q6_Vw_vrmpyacc_VwVbVb(s2, *packed, Q6_V_vrdelta_VV(windows[2], to_all));
    s3 = Q6_Vw_vrmpyacc_VwVbVb(s3, *packed, Q6_V_vrdelta_VV(windows[3], to_all));
  }
  sums[0] = s0;
  sums[1] = s1;
  sums[2] = s2;
  sums[3] = s3;
}

// Calls visit(segment) for every part of the window.
template <typename Visit>
void ForSegments(const TflfuseWindow& window, const int8_t* weights, Visit visit) {
  const bool adjacent = window.dilation == window.channels;
  const uint32_t runs = adjacent ? 1 : window.kernel_w;
  const uint32_t length = adjacent ? window.kernel_w * window.channels : window.channels;
  for (uint32_t k = 0; k < window.kernel_h; ++k) {
    const bool inner = k >= window.inner_begin && k < window.inner_end;
    const int8_t* row = window.rows[k];
    for (uint32_t run = 0; run < runs; ++run, row += window.dilation) {
      for (uint32_t at = 0; at < length; at += kVectorBytes) {
        const uint32_t n = length - at < kVectorBytes ? length - at : kVectorBytes;
        visit(Segment{row + at, inner ? window.stride : 0, n, weights});
        weights += n;
      }
    }
  }
}

Lanes LanesOf(const TflfuseQuantization& q, uint32_t first, uint32_t n) {
  const HVX_Vector halves = Q6_V_lo_W(Q6_Wh_vunpack_Vb(Load(q.shifts + first, n)));
  return Lanes(Load(q.bias + first, 4 * n), Load(q.multipliers + first, 4 * n), Q6_V_lo_W(Q6_Ww_vunpack_Vh(halves)));
}

// 32 numbers within int8 as the first 32 bytes.
inline HVX_Vector Bytes(HVX_Vector words) {
  const HVX_Vector halves = Q6_Vh_vpacke_VwVw(words, words);
  return Q6_Vb_vpacke_VhVh(halves, halves);
}

}  // namespace
}  // namespace tflfuse

extern "C" void tflfuse_conv_row(const TflfuseWindow* window, const int8_t* weights,
                                 const TflfuseQuantization* quantization, uint32_t width, uint32_t out_channels,
                                 int8_t* output) {
  using namespace tflfuse;
  const Range range(*quantization);
  const HVX_Vector places = Places();
  const uint32_t pitch = window->kernel_h * window->kernel_w * window->channels;
  uint32_t segments = 0;
  ForSegments(*window, weights, [&](const Segment&) { ++segments; });
  for (uint32_t channel = 0; channel < out_channels; channel += kChannels, weights += kChannels * pitch) {
    const Block block = {pitch, out_channels - channel < kChannels ? out_channels - channel : kChannels};
    const Lanes lanes = LanesOf(*quantization, channel, block.channels);
    HVX_Vector packed[kVectorWords];
    int8_t* out = output + channel;
    for (uint32_t begin = 0; begin < width; begin += kPixels) {
      const uint32_t end = width - begin < kPixels ? width : begin + kPixels;
      HVX_Vector sums[kPixels];
      for (HVX_Vector& sum : sums) sum = lanes.bias;
      ForSegments(*window, weights, [&](const Segment& segment) {
        if (begin == 0 || segments > 1) Pack(segment, block, packed);
        for (uint32_t x = begin; x < end; x += kTogether) {
          Accumulate(segment, x, end, places, packed, sums + (x - begin));
        }
      });
      for (uint32_t x = begin; x < end; ++x, out += out_channels) {
        Store(out, Bytes(Quantized(sums[x - begin], lanes, range)), block.channels);
      }
    }
  }
}

#endif  // TFLFUSE_HEXAGON_HVX
