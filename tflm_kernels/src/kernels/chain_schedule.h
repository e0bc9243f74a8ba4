// The order in which the stages of a chain make their rows. tflfuse_chain_check replays what tflfuse_chain_run does.
//
// To make the last stage's next row, a stage whose input rows are missing waits for their producer, which may wait in
// turn. A stage is named as the one that waited, so that nothing recurses.
#ifndef TFLFUSE_KERNELS_CHAIN_SCHEDULE_H_
#define TFLFUSE_KERNELS_CHAIN_SCHEDULE_H_

#include <stdint.h>

#include "chain_view.h"

namespace tflfuse {

// done: rows that each stage has made; rows it has consumed where it accumulates. waiting: who wants its next row.
struct Schedule {
  uint16_t* done;
  uint8_t* waiting;
  uint32_t current;
};
static_assert(sizeof(uint16_t) + sizeof(uint8_t) <= kStateBytes, "the state of a stage fits");

// Rows of an input, unclipped; end is behind the last.
struct Rows {
  int32_t begin;
  int32_t end;
};

// What a stage looks at for one of its rows; an accumulating stage for the next row it consumes. A whole record would
// be too much to read.
inline Rows RowsFor(const ChainView& chain, uint32_t s, uint32_t row) {
  const auto number = [&](uint32_t field) { return static_cast<int32_t>(chain.Number(s, field)); };
  if (!chain.HasWindow(s)) {
    const int32_t pad = chain.Is(s, Kind::kPad)     ? number(at_StageRecord::pad_top)
                        : chain.Is(s, Kind::kSlice) ? -number(at_StageRecord::pad_top)
                                                    : 0;
    const int32_t begin = static_cast<int32_t>(row) - pad;
    return {begin, begin + 1};
  }
  const uint32_t stride = chain.Number(s, at_StageRecord::stride_h);
  const int32_t begin = static_cast<int32_t>(row * stride) - number(at_StageRecord::pad_top);
  const int32_t taps = number(at_StageRecord::kernel_h) - 1;
  return {begin, begin + taps * number(at_StageRecord::dilation_h) + 1};
}

inline uint32_t ClipRow(int32_t row, uint32_t height) {
  return row < 0 ? 0 : static_cast<uint32_t>(row) < height ? static_cast<uint32_t>(row) : height;
}

// Rows of its output that a stage has made.
inline uint32_t Made(const ChainView& chain, const uint16_t* done, uint32_t s) {
  if (!chain.Accumulates(s)) return done[s];
  return done[s] == chain.Height(chain.Input(s)) ? 1 : 0;
}

// Whether a value lacks rows up to end.
inline bool IsMissing(const ChainView& chain, const uint16_t* done, uint32_t v, int32_t end) {
  return chain.IsInner(v) && Made(chain, done, v - chain.inputs) < ClipRow(end, chain.Height(v));
}

// The stage that is able to make or consume a row, on the way to the one that wants it.
[[gnu::noinline]] inline uint32_t NextStage(const ChainView& view, Schedule* schedule) {
  const ChainView chain = view;  // copies: stores of bytes might change the originals, for all that the compiler knows
  const uint16_t* const done = schedule->done;
  uint8_t* const waiting = schedule->waiting;
  for (uint32_t s = schedule->current;;) {
    const int32_t end = RowsFor(chain, s, done[s]).end;
    uint32_t missing = chain.Input(s);
    if (!IsMissing(chain, done, missing, end)) {
      missing = chain.Other(s);
      if (missing == kNoValue || !IsMissing(chain, done, missing, end)) {
        schedule->current = s;
        return s;
      }
    }
    waiting[missing - chain.inputs] = static_cast<uint8_t>(s);
    s = missing - chain.inputs;
  }
}

// Note that the current stage has made or consumed its row.
inline void FinishRow(const ChainView& chain, Schedule* schedule) {
  const uint32_t s = schedule->current;
  ++schedule->done[s];
  const bool accumulating = chain.Accumulates(s) && Made(chain, schedule->done, s) == 0;
  if (!accumulating && s != chain.Last()) schedule->current = schedule->waiting[s];
}

inline bool IsFinished(const ChainView& chain, const Schedule& schedule) {
  return Made(chain, schedule.done, chain.Last()) == chain.Height(chain.inputs + chain.Last());
}

}  // namespace tflfuse

#endif  // TFLFUSE_KERNELS_CHAIN_SCHEDULE_H_
