#include "../conv_row.h"

#include "../backend.h"

#ifdef TFLFUSE_ARM_DSP

#include "clamp_bytes.h"
#include "conv_any.h"
#include "dot.h"
#include "rounding.h"
#include "window_walk.h"

namespace tflfuse {
namespace dsp {
namespace {

constexpr uint32_t kEight = 8;  // output channels computed together
constexpr uint32_t kMost = 16;  // whose sums are kept while a long window is walked along

// The functions of dot.h for as many windows as there are together.
struct Dots {
  void (*start)(TflfuseDspDot*);
  void (*more)(TflfuseDspDot*);
  void (*last)(TflfuseDspDot*);
  void (*whole)(TflfuseDspDot*);
};
constexpr Dots kDots[] = {
    {tflfuse_dsp_dot_one_start, tflfuse_dsp_dot_one_more, tflfuse_dsp_dot_one_last, tflfuse_dsp_dot_one_whole},
    {tflfuse_dsp_dot_start, tflfuse_dsp_dot_more, tflfuse_dsp_dot_last, tflfuse_dsp_dot_whole}};

// n output channels of a row, a multiple of eight; output: of the first of them.
struct Row {
  const TflfuseWindow& window;
  const int8_t* weights;
  const TflfuseQuantization& q;
  uint32_t out_channels;
  uint32_t n;
  int8_t* output;
};

// The channels from one on, for the window at x. All but pairs, end and sums.
void SetChannels(const Row& row, uint32_t channel, uint32_t n, uint32_t x, TflfuseDspDot* dot) {
  dot->weights = row.weights + channel * dot->pitch;
  dot->channels = -static_cast<int32_t>(n);
  dot->bias = row.q.bias + channel + n;
  dot->multipliers = row.q.multipliers + channel + n;
  dot->shifts = row.q.shifts + channel + n;
  dot->first = row.output + x * row.out_channels + channel + n;
  dot->second = dot->first + row.out_channels;
}

// Windows that are single runs of fours and fit the pairs, two by two.
void MakeRuns(const Row& row, uint32_t count, TflfuseDspDot* dot) {
  const bool inner = row.window.inner_end > row.window.inner_begin;
  SetChannels(row, 0, row.n, 0, dot);
  dot->end = dot->pairs + dot->pitch;
  dot->window = row.window.rows[0];
  dot->stride = inner ? row.window.stride : 0;
  dot->step = 2 * row.out_channels;
  dot->count = count;
  tflfuse_dsp_dot_row(dot);
}

// One window or two: at once where the pairs hold them, else piece by piece, again for every few channels.
void Make(const Row& row, uint32_t x, bool two, int32_t* sums, TflfuseDspDot* dot) {
  const Dots& dots = kDots[two];
  const uint32_t most = dot->pitch <= kPiece ? row.n : kMost;
  for (uint32_t channel = 0, n = 0; channel < row.n; channel += n) {
    n = row.n - channel < most ? row.n - channel : most;
    Walk walk(row.window, x, two);
    auto sum = dots.start;
    for (uint32_t at = 0; !walk.AtEnd(); at += kPiece) {
      dot->end = walk.Widen(dot->pairs);
      SetChannels(row, channel, n, x, dot);
      dot->weights += at;
      dot->sums = sums;
      if (walk.AtEnd()) sum = at == 0 ? dots.whole : dots.last;
      sum(dot);
      sum = dots.more;
    }
  }
}

void MakeRow(const Row& row, uint32_t width) {
  int32_t pairs[kPiece], sums[2 * kMost];
  const Runs runs = RunsOf(row.window);
  TflfuseDspDot dot;
  dot.pairs = pairs;
  dot.pitch = row.window.kernel_h * row.window.kernel_w * row.window.channels;
  dot.doubled = 2 * row.q.zero_point + 1;
  uint32_t x = 0;
  if (row.window.kernel_h * runs.count == 1 && dot.pitch % 4 == 0 && dot.pitch <= kPiece && width > 1) {
    x = width / 2 * 2;
    MakeRuns(row, width / 2, &dot);
  }
  for (; x < width; x += 2) Make(row, x, x + 1 < width, sums, &dot);
}

}  // namespace
}  // namespace dsp
}  // namespace tflfuse

extern "C" void tflfuse_conv_row(const TflfuseWindow* window, const int8_t* weights,
                                 const TflfuseQuantization* quantization, uint32_t width, uint32_t out_channels,
                                 int8_t* output) {
  using namespace tflfuse::dsp;
  const TflfuseQuantization& q = *quantization;
  const Rounding rounding = RoundingOf(q);
  if (rounding == Rounding::kAny || out_channels < kEight) {
    return ConvolveAny(*window, weights, q, width, out_channels, output);
  }
  const uint32_t eights = out_channels / kEight * kEight;
  const uint32_t pitch = window->kernel_h * window->kernel_w * window->channels;
  MakeRow({*window, weights, q, out_channels, eights, output}, width);
  if (eights < out_channels) {  // the last eight, with some of those before
    const uint32_t first = out_channels - kEight;
    const TflfuseQuantization last = {q.bias + first, q.multipliers + first, q.shifts + first, q.zero_point,
                                      q.clamp_min,    q.clamp_max,           q.plain};
    MakeRow({*window, weights + first * pitch, last, out_channels, kEight, output + first}, width);
  }
  if (rounding == Rounding::kClamp) ClampBytes(output, width * out_channels, q.clamp_min, q.clamp_max);
}

#endif  // TFLFUSE_ARM_DSP
