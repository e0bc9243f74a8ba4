#include "../accumulate_row.h"

#include "../backend.h"

#ifdef TFLFUSE_ARM_DSP

#include "../requantize.h"
#include "dsp.h"

namespace tflfuse {
namespace dsp {
namespace {

constexpr uint32_t kMost = 255;  // pixels whose sum fits 16 bits

// Four channels of at most kMost pixels.
void AccumulateFour(const int8_t* input, uint32_t width, uint32_t channels, int32_t* sums) {
  int32_t even = 0, odd = 0;
  for (uint32_t x = 0; x < width; ++x, input += channels) {
    const int32_t word = Load4(input);
    even = AddEvenBytes(even, word);
    odd = AddOddBytes(odd, word);
  }
  sums[0] = WrappingAdd(sums[0], static_cast<int16_t>(even));
  sums[1] = WrappingAdd(sums[1], static_cast<int16_t>(odd));
  sums[2] = WrappingAdd(sums[2], even >> 16);
  sums[3] = WrappingAdd(sums[3], odd >> 16);
}

}  // namespace
}  // namespace dsp
}  // namespace tflfuse

extern "C" void tflfuse_accumulate_row(const int8_t* input, uint32_t width, uint32_t channels, int32_t* sums) {
  using namespace tflfuse::dsp;
  for (uint32_t n = 0; width > 0; width -= n, input += n * channels) {
    n = width < kMost ? width : kMost;
    uint32_t c = 0;
    for (; c + 4 <= channels; c += 4) AccumulateFour(input + c, n, channels, sums + c);
    for (; c < channels; ++c) {
      for (uint32_t x = 0; x < n; ++x) sums[c] = tflfuse::WrappingAdd(sums[c], input[x * channels + c]);
    }
  }
}

#endif  // TFLFUSE_ARM_DSP
