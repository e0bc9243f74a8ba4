#include "../depthwise_row.h"

#include "../backend.h"

#ifdef TFLFUSE_HEXAGON_HVX

#include "lanes.h"
#include "vectors.h"

namespace tflfuse {
namespace {

constexpr uint32_t kTiles = 32;  // taps whose weights are laid out before the row is made

// Sums of 128 output bytes in the order in which multiplications give them: 4 * i, 4 * i + 1, ... of place i.
struct Quarters {
  Lanes lanes[4];
};

// Natural order to that of Quarters.
void Deal(const HVX_Vector* natural, HVX_Vector* quarters) {
  const HVX_VectorPair lower = Q6_W_vdeal_VVR(natural[1], natural[0], -4);
  const HVX_VectorPair upper = Q6_W_vdeal_VVR(natural[3], natural[2], -4);
  const HVX_VectorPair even = Q6_W_vdeal_VVR(Q6_V_lo_W(upper), Q6_V_lo_W(lower), -4);
  const HVX_VectorPair odd = Q6_W_vdeal_VVR(Q6_V_hi_W(upper), Q6_V_hi_W(lower), -4);
  quarters[0] = Q6_V_lo_W(even);
  quarters[1] = Q6_V_lo_W(odd);
  quarters[2] = Q6_V_hi_W(even);
  quarters[3] = Q6_V_hi_W(odd);
}

// period bytes, again and again, copies times; up to a vector behind them is written too.
void Tile(const void* from, uint32_t period, uint32_t copies, void* to) {
  const int8_t* source = static_cast<const int8_t*>(from);
  int8_t* target = static_cast<int8_t*>(to);
  for (uint32_t copy = 0; copy < copies; ++copy, target += period) {
    for (uint32_t at = 0; at < period; at += kVectorBytes) {
      StoreWhole(target + at, Load(source + at, period - at < kVectorBytes ? period - at : kVectorBytes));
    }
  }
}

// A block of output bytes: channels of one pixel, or all the channels of some pixels that lie next to each other.
struct Block {
  uint32_t first;     // channel
  uint32_t channels;  // of each pixel
  uint32_t pixels;
};

void FillQuarters(const TflfuseQuantization& q, const Block& block, Quarters* quarters) {
  HVX_Vector words[5], bias[4], multipliers[4];
  Tile(q.bias + block.first, 4 * block.channels, block.pixels, words);
  Deal(words, bias);
  Tile(q.multipliers + block.first, 4 * block.channels, block.pixels, words);
  Deal(words, multipliers);
  Tile(q.shifts + block.first, block.channels, block.pixels, words);
  const HVX_VectorPair halves = Q6_Wh_vsxt_Vb(words[0]);
  const HVX_VectorPair even = Q6_Ww_vsxt_Vh(Q6_V_lo_W(halves)), odd = Q6_Ww_vsxt_Vh(Q6_V_hi_W(halves));
  quarters->lanes[0] = Lanes(bias[0], multipliers[0], Q6_V_lo_W(even));
  quarters->lanes[1] = Lanes(bias[1], multipliers[1], Q6_V_lo_W(odd));
  quarters->lanes[2] = Lanes(bias[2], multipliers[2], Q6_V_hi_W(even));
  quarters->lanes[3] = Lanes(bias[3], multipliers[3], Q6_V_hi_W(odd));
}

// How the input bytes of a block are loaded for one tap, whose first channel is that of the pixel.
struct Whole {
  uint32_t first;
  HVX_Vector operator()(const int8_t* pixel) const { return LoadWhole(pixel + first); }
};
struct Part {
  uint32_t first, n;
  HVX_Vector operator()(const int8_t* pixel) const { return Load(pixel + first, n); }
};
// Input channels for n output channels from the first on, each as often as outputs look at it.
struct Repeated {
  uint32_t first, n, multiplier;
  HVX_Vector operator()(const int8_t* pixel) const {
    alignas(kVectorBytes) int8_t bytes[kVectorBytes];
    uint32_t channel = first / multiplier, left = multiplier - first % multiplier;
    for (uint32_t i = 0; i < n; ++i) {
      bytes[i] = pixel[channel];
      if (--left > 0) continue;
      ++channel;
      left = multiplier;
    }
    return *Around(bytes);
  }
};
struct Tiles {
  const HVX_Vector* tiles;
  HVX_Vector operator()(uint32_t tap) const { return tiles[tap]; }
};
struct Weights {
  const int8_t* first;
  uint32_t pitch, n;
  HVX_Vector operator()(uint32_t tap) const { return Load(first + tap * pitch, n); }
};

// The output bytes of a block whose windows begin with the one at x.
template <typename Inputs, typename Taps>
HVX_Vector Outputs(const TflfuseWindow& window, const Inputs& inputs, const Taps& taps, uint32_t x,
                   const Quarters& quarters, const Range& range) {
  const Lanes* lanes = quarters.lanes;
  HVX_VectorPair even = Q6_W_vcombine_VV(lanes[2].bias, lanes[0].bias);
  HVX_VectorPair odd = Q6_W_vcombine_VV(lanes[3].bias, lanes[1].bias);
  uint32_t tap = 0;
  for (uint32_t k = 0; k < window.kernel_h; ++k) {
    const bool inner = k >= window.inner_begin && k < window.inner_end;
    const int8_t* row = window.rows[k] + (inner ? x * window.stride : 0);
    const HVX_Vector padding = Q6_Vb_vsplat_R(*row);
    uint32_t column = 0;
    for (; column + 2 <= window.kernel_w; column += 2, row += 2 * window.dilation, tap += 2) {
      const HVX_VectorPair a = Q6_Wh_vmpy_VbVb(inner ? inputs(row) : padding, taps(tap));
      const HVX_VectorPair b = Q6_Wh_vmpy_VbVb(inner ? inputs(row + window.dilation) : padding, taps(tap + 1));
      even = Q6_Ww_vaddacc_WwVhVh(even, Q6_V_lo_W(a), Q6_V_lo_W(b));
      odd = Q6_Ww_vaddacc_WwVhVh(odd, Q6_V_hi_W(a), Q6_V_hi_W(b));
    }
    if (column == window.kernel_w) continue;
    const HVX_VectorPair a = Q6_Wh_vmpy_VbVb(inner ? inputs(row) : padding, taps(tap++));
    even = Q6_Ww_vaddacc_WwVhVh(even, Q6_V_lo_W(a), Q6_V_vzero());
    odd = Q6_Ww_vaddacc_WwVhVh(odd, Q6_V_hi_W(a), Q6_V_vzero());
  }
  const HVX_Vector y0 = Quantized(Q6_V_lo_W(even), lanes[0], range), y1 = Quantized(Q6_V_lo_W(odd), lanes[1], range);
  const HVX_Vector y2 = Quantized(Q6_V_hi_W(even), lanes[2], range), y3 = Quantized(Q6_V_hi_W(odd), lanes[3], range);
  return Q6_Vb_vshuffe_VbVb(Q6_Vh_vshuffe_VhVh(y3, y1), Q6_Vh_vshuffe_VhVh(y2, y0));
}

// The row's part in the block's channels.
template <typename Taps>
void MakeBlocks(const TflfuseWindow& window, const TflfuseQuantization& q, const Block& block, const Taps& taps,
                uint32_t width, uint32_t multiplier, int8_t* output) {
  const Range range(q);
  Quarters quarters;
  FillQuarters(q, block, &quarters);
  const uint32_t last = (width - 1) * window.stride + window.channels;  // of a row, for one tap, behind its end
  for (uint32_t x = 0; x < width; x += block.pixels) {
    const uint32_t n = (width - x < block.pixels ? width - x : block.pixels) * block.channels;
    int8_t* out = output + x * window.channels * multiplier + block.first;
    const bool whole = x * window.stride + block.first + kVectorBytes <= last;
    if (multiplier > 1) {
      Store(out, Outputs(window, Repeated{block.first, n, multiplier}, taps, x, quarters, range), n);
    } else if (whole) {
      Store(out, Outputs(window, Whole{block.first}, taps, x, quarters, range), n);
    } else {
      Store(out, Outputs(window, Part{block.first, n}, taps, x, quarters, range), n);
    }
  }
}

}  // namespace
}  // namespace tflfuse

extern "C" void tflfuse_depthwise_row(const TflfuseWindow* window, const int8_t* weights,
                                      const TflfuseQuantization* quantization, uint32_t width, uint32_t multiplier,
                                      int8_t* output) {
  using namespace tflfuse;
  const uint32_t out_channels = window->channels * multiplier, taps = window->kernel_h * window->kernel_w;
  const bool together = multiplier == 1 && window->stride == out_channels && out_channels <= kVectorBytes;
  for (uint32_t first = 0; first < out_channels; first += kVectorBytes) {
    const uint32_t channels = out_channels - first < kVectorBytes ? out_channels - first : kVectorBytes;
    if (taps > kTiles) {
      const Weights direct = {weights + first, out_channels, channels};
      MakeBlocks(*window, *quantization, {first, channels, 1}, direct, width, multiplier, output);
      continue;
    }
    const Block block = {first, channels, together ? kVectorBytes / channels : 1};
    HVX_Vector tiles[kTiles + 1];
    for (uint32_t tap = 0; tap < taps; ++tap) {
      Tile(weights + tap * out_channels + first, channels, block.pixels, tiles + tap);
    }
    MakeBlocks(*window, *quantization, block, Tiles{tiles}, width, multiplier, output);
  }
}

#endif  // TFLFUSE_HEXAGON_HVX
