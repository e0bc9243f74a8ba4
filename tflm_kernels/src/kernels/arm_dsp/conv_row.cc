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
constexpr uint32_t kShort = 64;  // elements of windows that are widened as a whole: a word for one of each
constexpr uint32_t kPiece = 48;  // those of long ones that are widened together, before the sums

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

// What a row is made with; n output channels from one on, a multiple of eight.
struct Row {
  const TflfuseWindow& window;
  const int8_t* weights;
  const TflfuseQuantization& q;
  uint32_t out_channels;
  int8_t* output;
  uint32_t from;
  uint32_t n;
};

// n of the channels, for the window at x. All but pairs, end and sums.
void SetChannels(const Row& row, uint32_t from, uint32_t n, uint32_t x, TflfuseDspDot* dot) {
  const uint32_t behind = from + n;
  dot->weights = row.weights + from * dot->pitch;
  dot->channels = -static_cast<int32_t>(n);
  dot->bias = row.q.bias + behind;
  dot->multipliers = row.q.multipliers + behind;
  dot->shifts = row.q.shifts + behind;
  dot->first = row.output + x * row.out_channels + behind;
  dot->second = dot->first + row.out_channels;
}

// Windows that are single runs of fours, two by two: short ones, or such as lie next to each other.
[[gnu::noinline]] void MakeRuns(const Row& row, uint32_t count, TflfuseDspDot* dot) {
  const bool inner = row.window.inner_end > row.window.inner_begin;
  SetChannels(row, row.from, row.n, 0, dot);
  dot->end = dot->pairs + (dot->pitch <= kShort ? dot->pitch : dot->pitch % 8);
  dot->window = row.window.rows[0];
  dot->stride = inner ? row.window.stride : 0;
  dot->step = 2 * row.out_channels;
  dot->count = count;
  dot->pitch <= kShort ? tflfuse_dsp_dot_row(dot) : tflfuse_dsp_dot_lying(dot);
}

// One window or two that the pairs hold, of rows that are no fours.
void MakeRows(const Row& row, uint32_t x, bool two, TflfuseDspDot* dot) {
  int8_t* bytes = static_cast<int8_t*>(static_cast<void*>(dot->pairs + kShort));
  dot->end = WidenRows(row.window, x, two ? 2 : 1, bytes, dot->pairs);
  SetChannels(row, row.from, row.n, x, dot);
  kDots[two].whole(dot);
}

// One window or two: at once where the pairs hold them, else piece by piece, again for every few channels.
void Make(const Row& row, uint32_t x, bool two, TflfuseDspDot* dot) {
  const Dots& dots = kDots[two];
  const bool is_short = dot->pitch <= kShort;
  const uint32_t most = is_short ? row.n : kMost, piece = is_short ? kShort : kPiece;
  for (uint32_t channel = 0, n = 0; channel < row.n; channel += n) {
    n = row.n - channel < most ? row.n - channel : most;
    Walk walk(row.window, x, two);
    auto sum = dots.start;
    for (uint32_t at = 0; !walk.AtEnd(); at += piece) {
      dot->end = walk.Widen(dot->pairs, piece);
      SetChannels(row, row.from + channel, n, x, dot);
      dot->weights += at;
      dot->sums = dot->pairs + kPiece;
      if (walk.AtEnd()) sum = at == 0 ? dots.whole : dots.last;
      sum(dot);
      sum = dots.more;
    }
  }
}

}  // namespace
}  // namespace dsp
}  // namespace tflfuse

extern "C" void tflfuse_conv_row(const TflfuseWindow* window, const int8_t* weights,
                                 const TflfuseQuantization* quantization, uint32_t width, uint32_t out_channels,
                                 int8_t* output) {
  using namespace tflfuse::dsp;
  const Rounding rounding = RoundingOf(*quantization);
  if (rounding == Rounding::kAny || out_channels < kEight) {
    return ConvolveAny(*window, weights, *quantization, width, out_channels, output);
  }
  int32_t room[kPiece + 2 * kMost];
  static_assert(kShort + kShort / 4 <= kPiece + 2 * kMost, "the pairs of short windows fit, and the bytes of one");
  TflfuseDspDot dot;
  dot.pairs = room;
  dot.pitch = window->kernel_h * window->kernel_w * window->channels;
  dot.doubled = 2 * quantization->zero_point + 1;
  const bool inner = window->inner_begin < window->inner_end;
  const bool run = window->kernel_h * RunsOf(*window).count == 1 && dot.pitch % 4 == 0 &&
                   (dot.pitch <= kShort || (inner && window->stride == dot.pitch));
  const bool rows = !run && dot.pitch <= kShort && RunsOf(*window).count == 1 && dot.pitch / window->kernel_h % 4 != 0;
  Row row = {*window, weights, *quantization, out_channels, output, 0, out_channels / kEight * kEight};
  for (;;) {
    uint32_t x = 0;
    if (run && width > 1) {
      x = width / 2 * 2;
      MakeRuns(row, width / 2, &dot);
    }
    const auto make = rows ? MakeRows : Make;
    for (; x < width; x += 2) make(row, x, x + 1 < width, &dot);
    if (row.from + row.n == out_channels) break;
    row.from = out_channels - kEight;  // the last eight, some of them again
    row.n = kEight;
  }
  if (rounding == Rounding::kClamp) {
    ClampBytes(output, width * out_channels, quantization->clamp_min, quantization->clamp_max);
  }
}

#endif  // TFLFUSE_ARM_DSP
