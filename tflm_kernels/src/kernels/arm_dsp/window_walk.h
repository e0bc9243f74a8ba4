// The elements of a window, run by run.
#ifndef TFLFUSE_KERNELS_ARM_DSP_WINDOW_WALK_H_
#define TFLFUSE_KERNELS_ARM_DSP_WINDOW_WALK_H_

#include "../window.h"

namespace tflfuse {
namespace dsp {

// The elements of a window that lie next to each other, and how many such runs a row of the window has.
struct Runs {
  uint32_t length;
  uint32_t count;
};

inline Runs RunsOf(const TflfuseWindow& window) {
  if (window.dilation == window.channels || window.kernel_w == 1) return {window.kernel_w * window.channels, 1};
  return {window.channels, window.kernel_w};
}

// n elements that lie next to each other; those of the next window are next bytes behind them.
struct Part {
  const int8_t* a;
  uint32_t next;
  uint32_t n;
};

class Walk {
 public:
  Walk(const TflfuseWindow& window, uint32_t x) : window_(window), runs_(RunsOf(window)), x_(x) { BeginRow(); }

  bool AtEnd() const { return row_ == window_.kernel_h; }

  // The next elements, at most so many.
  Part Take(uint32_t most) {
    const Part part = {at_, next_, left_ < most ? left_ : most};
    at_ += part.n;
    left_ -= part.n;
    if (left_ == 0) NextRun();
    return part;
  }

 private:
  void BeginRow() {
    const bool inner = row_ >= window_.inner_begin && row_ < window_.inner_end;
    next_ = inner ? window_.stride : 0;
    at_ = window_.rows[row_] + x_ * next_;
    left_ = runs_.length;
  }

  void NextRun() {
    if (++run_ < runs_.count) {
      at_ += window_.dilation - runs_.length;
      left_ = runs_.length;
      return;
    }
    run_ = 0;
    if (++row_ < window_.kernel_h) BeginRow();
  }

  const TflfuseWindow& window_;
  const Runs runs_;
  const uint32_t x_;
  uint32_t row_ = 0, run_ = 0;  // where the walk is
  const int8_t* at_ = nullptr;
  uint32_t next_ = 0;  // bytes from the window to the next
  uint32_t left_ = 0;  // of the run
};

}  // namespace dsp
}  // namespace tflfuse

#endif  // TFLFUSE_KERNELS_ARM_DSP_WINDOW_WALK_H_
