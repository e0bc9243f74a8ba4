// Bytes of windows side by side.
#ifndef TFLFUSE_KERNELS_ARM_DSP_GATHER_H_
#define TFLFUSE_KERNELS_ARM_DSP_GATHER_H_

#include "dsp.h"
#include "window_walk.h"

namespace tflfuse {
namespace dsp {

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

// n windows from the one at x on, bytes of each, which are its elements and up to three zeros.
[[gnu::noinline]] inline void Gather(const TflfuseWindow& window, uint32_t x, uint32_t n, uint32_t bytes, int8_t* to) {
  const Runs runs = RunsOf(window);
  const int8_t* end = to + n * bytes;
  for (int8_t* last = to + bytes - 4; last < end; last += bytes) Store4(last, 0);
  for (uint32_t k = 0; k < window.kernel_h; ++k) {
    const uint32_t stride = k >= window.inner_begin && k < window.inner_end ? window.stride : 0;
    const int8_t* row = window.rows[k] + x * stride;
    for (uint32_t run = 0; run < runs.count; ++run, row += window.dilation, to += runs.length) {
      const int8_t* from = row;
      for (int8_t* here = to; here < end; here += bytes, from += stride) CopyRun(from, runs.length, here);
    }
  }
}

// The next elements of a window, or of two, a piece of them at most; zeros fill the last four. How many there are then.
[[gnu::always_inline]] inline uint32_t Collect(Walk* walk, uint32_t piece, int8_t* a, int8_t* b) {
  uint32_t n = 0;
  while (n < piece && !walk->AtEnd()) {
    const Part part = walk->Take(piece - n);
    CopyRun(part.a, part.n, a + n);
    if (b != nullptr) CopyRun(part.a + part.next, part.n, b + n);
    n += part.n;
  }
  for (; n % 4 != 0; ++n) {
    a[n] = 0;
    if (b != nullptr) b[n] = 0;
  }
  return n;
}

}  // namespace dsp
}  // namespace tflfuse

#endif  // TFLFUSE_KERNELS_ARM_DSP_GATHER_H_
