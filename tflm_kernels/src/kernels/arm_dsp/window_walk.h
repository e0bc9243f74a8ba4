// The elements of one or two windows, piece by piece.
#ifndef TFLFUSE_KERNELS_ARM_DSP_WINDOW_WALK_H_
#define TFLFUSE_KERNELS_ARM_DSP_WINDOW_WALK_H_

#include "../window.h"
#include "widen.h"

namespace tflfuse {
namespace dsp {

constexpr uint32_t kGather = 16;  // elements that are put next to each other where runs are no fours

// The elements of a window that lie next to each other, and how many such runs a row of the window has.
struct Runs {
  uint32_t length;
  uint32_t count;
};

inline Runs RunsOf(const TflfuseWindow& window) {
  if (window.dilation == window.channels || window.kernel_w == 1) return {window.kernel_w * window.channels, 1};
  return {window.channels, window.kernel_w};
}

// n bytes to where nothing overlaps.
inline void CopyRun(const int8_t* from, uint32_t n, int8_t* to) {
  if (n < 4) {
    for (uint32_t i = 0; i < n; ++i) to[i] = from[i];
    return;
  }
  const int8_t* last = from + n - 4;
  int8_t* last_to = to + n - 4;
  for (; from < last; from += 4, to += 4) Store4(to, Load4(from));
  Store4(last_to, Load4(last));
}

// The elements of the window at x, or of that and the next, whose rows are runs of any length: as Walk widens them, at
// once. bytes: room for all of one window, in fours.
[[gnu::noinline]] inline int32_t* WidenRows(const TflfuseWindow& window, uint32_t x, uint32_t windows, int8_t* bytes,
                                            int32_t* pairs) {
  const uint32_t run = window.kernel_w * window.channels;
  uint32_t fours = 0;
  for (uint32_t i = 0; i < windows; ++i) {
    int8_t* to = bytes;
    for (uint32_t k = 0; k < window.kernel_h; ++k, to += run) {
      const bool inner = k >= window.inner_begin && k < window.inner_end;
      CopyRun(window.rows[k] + (inner ? (x + i) * window.stride : 0), run, to);
    }
    for (; (to - bytes) % 4 != 0; ++to) *to = 0;
    int32_t* pair = pairs + i;
    for (const int8_t* from = bytes; from != to; from += 4, pair += 2 * windows) {
      const int32_t word = Load4(from);
      pair[0] = EvenBytes(word);
      pair[windows] = OddBytes(word);
    }
    fours = static_cast<uint32_t>(to - bytes) / 4;
  }
  return pairs + 2 * windows * fours;
}

class Walk {
 public:
  // The window at x, and the next where there are two.
  Walk(const TflfuseWindow& window, uint32_t x, bool two) : window_(window), runs_(RunsOf(window)), x_(x), two_(two) {
    fours_ = runs_.length % 4 == 0 || window.kernel_h * runs_.count == 1;
    BeginRow();
  }

  bool AtEnd() const { return row_ == window_.kernel_h; }

  // The next elements, room of them unless they end before, a multiple of 16; returns the end of the pairs. A last four
  // is filled with zeros.
  int32_t* Widen(int32_t* pairs, uint32_t room) { return fours_ ? WidenRuns(pairs, room) : WidenOthers(pairs, room); }

 private:
  void BeginRow() {
    const bool inner = row_ >= window_.inner_begin && row_ < window_.inner_end;
    next_ = inner ? window_.stride : 0;
    at_ = window_.rows[row_] + x_ * next_;
    left_ = runs_.length;
  }

  // Behind n elements of a run.
  void Advance(uint32_t n) {
    at_ += n;
    left_ -= n;
    if (left_ > 0) return;
    if (++run_ < runs_.count) {
      at_ += window_.dilation - runs_.length;
      left_ = runs_.length;
      return;
    }
    run_ = 0;
    if (++row_ < window_.kernel_h) BeginRow();
  }

  int32_t* WidenRun(const int8_t* a, const int8_t* b, uint32_t n, int32_t* pairs) const {
    return two_ ? WidenTwo(a, b, n, pairs) : WidenOne(a, n, pairs);
  }

  int32_t* WidenRuns(int32_t* pairs, uint32_t room) {
    while (room > 0 && !AtEnd()) {
      const uint32_t n = left_ < room ? left_ : room;
      pairs = WidenRun(at_, at_ + next_, n, pairs);
      room -= n;
      Advance(n);
    }
    return pairs;
  }

  int32_t* WidenOthers(int32_t* pairs, uint32_t room) {
    for (; room > 0 && !AtEnd(); room -= kGather) pairs = WidenGathered(pairs);
    return pairs;
  }

  [[gnu::noinline]] int32_t* WidenGathered(int32_t* pairs) {  // not on the stack below dot.h's functions
    int8_t a[kGather], b[kGather];
    uint32_t filled = 0;
    while (filled < kGather && !AtEnd()) {
      const uint32_t room = kGather - filled, n = left_ < room ? left_ : room;
      CopyRun(at_, n, a + filled);
      if (two_) CopyRun(at_ + next_, n, b + filled);
      filled += n;
      Advance(n);
    }
    return WidenRun(a, b, filled, pairs);
  }

  const TflfuseWindow& window_;
  const Runs runs_;
  const uint32_t x_;
  const bool two_;
  bool fours_;  // runs are fours, or there is only one
  uint32_t row_ = 0, run_ = 0;  // where the walk is
  const int8_t* at_ = nullptr;
  uint32_t next_ = 0;  // bytes from the window to the next
  uint32_t left_ = 0;  // of the run
};

}  // namespace dsp
}  // namespace tflfuse

#endif  // TFLFUSE_KERNELS_ARM_DSP_WINDOW_WALK_H_
