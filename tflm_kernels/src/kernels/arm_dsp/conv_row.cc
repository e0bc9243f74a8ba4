#include "../conv_row.h"

#include "../backend.h"

#ifdef TFLFUSE_ARM_DSP

#include "clamp_bytes.h"
#include "conv_any.h"
#include "dot.h"
#include "gather.h"
#include "rounding.h"
#include "widen.h"
#include "window_walk.h"

namespace tflfuse {
namespace dsp {
namespace {

constexpr uint32_t kEight = 8;   // output channels computed together
constexpr uint32_t kRoom = 288;  // bytes, for elements and sums
constexpr uint32_t kAll = 1u << 31;

// How the elements of one window or two are laid side by side: as many as piece at once, for most output channels; for
// all where a piece is the whole window, else with sums that are kept while the window is walked along.
// Elements take four bytes of the room where they are wide, two where they are zipped, one of one window, and two more
// where they are no fours and are collected first; a channel's sums take eight, of one window four.
struct Way {
  uint32_t lie;    // as dot.h names it
  uint32_t piece;  // a multiple of four
  uint32_t most;
};
constexpr Way kWide = {TFLFUSE_DSP_WIDE, 48, kAll};
constexpr Way kZipped = {TFLFUSE_DSP_ZIPPED, kRoom / 8 * 4, kAll};
constexpr Way kZippedPieces = {TFLFUSE_DSP_ZIPPED, 48, 24};
constexpr Way kZippedLong = {TFLFUSE_DSP_ZIPPED, 80, 16};  // better where these are all channels, or half of them
constexpr Way kOddPieces = {TFLFUSE_DSP_WIDE, 24, 16};
constexpr Way kOne = {TFLFUSE_DSP_ONE, kRoom, kAll};
constexpr Way kOnePieces = {TFLFUSE_DSP_ONE, 160, 32};
static_assert(2 * kZippedPieces.piece + 8 * kZippedPieces.most <= kRoom &&
                  2 * kZippedLong.piece + 8 * kZippedLong.most <= kRoom &&
                  6 * kOddPieces.piece + 8 * kOddPieces.most <= kRoom &&
                  kOnePieces.piece + 4 * kOnePieces.most <= kRoom,
              "all have room");

// What a row is made with; n output channels from one on, a multiple of eight.
struct Row {
  const TflfuseWindow& window;
  const int8_t* weights;
  const TflfuseQuantization& q;
  uint32_t pitch;
  uint32_t out_channels;
  int8_t* output;
  int8_t* room;
  bool any;          // rounding
  uint32_t upwards;  // as dot.h names it
  uint32_t from;
  uint32_t n;
};

struct Elements {
  const int8_t* begin;
  const int8_t* end;
  uint32_t fours;
};

// Windows whose elements are fours next to each other.
struct Lying {
  const int8_t* first;
  uint32_t stride;
};

int32_t* SumsOf(const Row& row, uint32_t n) {
  return static_cast<int32_t*>(static_cast<void*>(row.room + kRoom - sizeof(int32_t) * n));
}

// The elements behind the first at, for n channels, for the window at x, and the next where there are two.
[[gnu::always_inline]] inline void Multiply(const Row& row, uint32_t channel, uint32_t n, uint32_t x,
                                            const Elements& e, uint32_t at, uint32_t mode) {
  const uint32_t behind = channel + n;
  int8_t* output = row.output + x * row.out_channels + behind;
  int32_t* sums = SumsOf(row, mode < TFLFUSE_DSP_ONE ? 2 * n : n);
  tflfuse_dsp_dot(e.begin, e.end, row.weights + channel * row.pitch + at, row.pitch, row.q.bias + behind,
                  -static_cast<int32_t>(n), row.q.multipliers + behind, row.q.shifts + behind, output,
                  output + row.out_channels, sums, 2 * row.q.zero_point + 1, nullptr, 0, 0, 0, e.fours,
                  mode + row.upwards);
}

// Pairs of windows from the one at x on.
void MultiplyPairs(const Row& row, uint32_t x, uint32_t pairs, const Lying& lying, uint32_t elements, uint32_t lie) {
  const uint32_t behind = row.from + row.n, bytes = (lie == TFLFUSE_DSP_WIDE ? 4 : 2) * elements;
  int8_t* output = row.output + x * row.out_channels + behind;
  tflfuse_dsp_dot(row.room, row.room + bytes, row.weights + row.from * row.pitch, row.pitch, row.q.bias + behind,
                  -static_cast<int32_t>(row.n), row.q.multipliers + behind, row.q.shifts + behind, output,
                  output + row.out_channels, nullptr, 2 * row.q.zero_point + 1, lying.first, lying.stride,
                  2 * row.out_channels, pairs, elements / 4, lie + TFLFUSE_DSP_ROW + row.upwards);
}

// So many windows from the one at x on.
[[gnu::noinline]] void MakeLying(const Row& row, uint32_t x, uint32_t windows, const Lying& lying, uint32_t elements,
                                 uint32_t lie) {
  if (windows > 1) MultiplyPairs(row, x, windows / 2, lying, elements, lie);
  if (windows % 2 == 0) return;
  const int8_t* last = lying.first + (windows - 1) * lying.stride;
  Multiply(row, row.from, row.n, x + windows - 1, {last, last + elements, elements / 4}, 0,
           TFLFUSE_DSP_ONE + TFLFUSE_DSP_WHOLE);
}

// Small windows, which are gathered, as many as there is room for behind the elements of a pair.
void MakeGathered(const Row& row, uint32_t width, uint32_t elements) {
  int8_t* bytes = row.room + 4 * elements;
  const uint32_t most = (kRoom - 4 * elements) / elements / 2 * 2;
  for (uint32_t x = 0, n = 0; x < width; x += n) {
    n = width - x < most ? width - x : most;
    Gather(row.window, x, n, elements, bytes);
    MakeLying(row, x, n, {bytes, elements}, elements, TFLFUSE_DSP_WIDE);
  }
}

// The next elements, a piece of them at most.
[[gnu::noinline]] Elements Fill(Walk* walk, const Way& way, bool fours, int8_t* room) {
  uint32_t n = 0;
  int8_t* to = room;
  const bool one = way.lie == TFLFUSE_DSP_ONE;
  if (one || !fours) {
    int8_t *a = one ? room : room + 4 * way.piece, *b = one ? nullptr : a + way.piece;
    n = Collect(walk, way.piece, a, b);
    return {room, one ? a + n : Widen(a, b, n, room), n / 4};
  }
  while (n < way.piece && !walk->AtEnd()) {
    const Part part = walk->Take(way.piece - n);
    to = Zip(part.a, part.a + part.next, part.n, to);
    n += part.n;
  }
  return {room, to, n / 4};
}

[[gnu::noinline]] int8_t RoundAny(const TflfuseQuantization& q, uint32_t channel, int32_t sum) {
  return Quantized(sum, q.multipliers[channel], q.shifts[channel], q.zero_point, q.clamp_min, q.clamp_max);
}

// Outputs of the sums of n channels, for one window or two.
[[gnu::noinline]] void Round(const Row& row, uint32_t channel, uint32_t n, uint32_t x, uint32_t windows) {
  static constexpr uint8_t kOrder[] = {0, 1, 2, 4, 7, 6, 5, 3};  // of each eight sums of a window
  const int32_t* sums = SumsOf(row, windows * n);
  for (uint32_t i = 0; i < windows * n; ++i) {
    const uint32_t four = i / 4, c = channel + four / (2 * windows) * 8 + kOrder[four / windows % 2 * 4 + i % 4];
    row.output[(x + four % windows) * row.out_channels + c] = RoundAny(row.q, c, sums[i]);
  }
}

// One window, or two.
[[gnu::noinline]] void Make(const Row& row, uint32_t x, const Way& way, bool fours) {
  for (uint32_t channel = 0, n = 0; channel < row.n; channel += n) {
    n = row.n - channel < way.most ? row.n - channel : way.most;
    Walk walk(row.window, x);
    uint32_t what = TFLFUSE_DSP_START;
    for (uint32_t at = 0; !walk.AtEnd(); at += way.piece) {
      const Elements elements = Fill(&walk, way, fours, row.room);
      if (walk.AtEnd() && !row.any) what = at == 0 ? TFLFUSE_DSP_WHOLE : TFLFUSE_DSP_LAST;
      Multiply(row, row.from + channel, n, x, elements, at, way.lie + what);
      what = TFLFUSE_DSP_MORE;
    }
    if (row.any) Round(row, row.from + channel, n, x, way.lie == TFLFUSE_DSP_ONE ? 1 : 2);
  }
}

// All windows, for the row's channels.
[[gnu::always_inline]] inline void MakeChannels(const Row& row, uint32_t width) {
  const TflfuseWindow& window = row.window;
  const Runs runs = RunsOf(window);
  const uint32_t elements = (row.pitch + 3) / 4 * 4;
  const bool fours = runs.length % 4 == 0, lies = fours && window.kernel_h * runs.count == 1 && !row.any;
  const Lying all = {window.rows[0], window.inner_begin < window.inner_end ? window.stride : 0};
  if (lies && elements <= kZipped.piece) {
    return MakeLying(row, 0, width, all, elements, elements <= kWide.piece ? TFLFUSE_DSP_WIDE : TFLFUSE_DSP_ZIPPED);
  }
  if (elements <= kWide.piece && !row.any) return MakeGathered(row, width, elements);
  const Way& pieces = !fours ? kOddPieces : row.n <= 2 * kZippedLong.most ? kZippedLong : kZippedPieces;
  const Way& two = fours && elements <= kZipped.piece && !row.any ? kZipped : pieces;
  const Way& one = elements <= kOne.piece && !row.any ? kOne : kOnePieces;
  uint32_t x = 0;
  for (; x + 1 < width; x += 2) Make(row, x, two, fours);
  if (x == width) return;
  lies ? MakeLying(row, x, 1, {all.first + x * all.stride, 0}, elements, one.lie) : Make(row, x, one, fours);
}

}  // namespace
}  // namespace dsp
}  // namespace tflfuse

extern "C" void tflfuse_conv_row(const TflfuseWindow* window, const int8_t* weights,
                                 const TflfuseQuantization* quantization, uint32_t width, uint32_t out_channels,
                                 int8_t* output) {
  using namespace tflfuse::dsp;
  const Rounding rounding = RoundingOf(*quantization);
  if (out_channels < kEight) {
    return ConvolveAny(*window, weights, *quantization, width, out_channels, output);
  }
  alignas(4) int8_t room[kRoom];
  const uint32_t pitch = window->kernel_h * window->kernel_w * window->channels;
  const uint32_t upwards = RoundsUpwards(*quantization) ? TFLFUSE_DSP_UPWARDS : 0;
  Row row = {*window, weights, *quantization, pitch, out_channels, output, room, rounding == Rounding::kAny, upwards,
             0, out_channels / kEight * kEight};
  for (;;) {
    MakeChannels(row, width);
    if (row.from + row.n == out_channels) break;
    row.from = out_channels - kEight;  // the last eight, some of them again
    row.n = kEight;
  }
  if (rounding == Rounding::kClamp) {
    ClampBytes(output, width * out_channels, quantization->clamp_min, quantization->clamp_max);
  }
}

#endif  // TFLFUSE_ARM_DSP
