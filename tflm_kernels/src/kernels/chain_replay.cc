#include "chain_replay.h"

#include "chain_schedule.h"
#include "chain_view.h"

namespace tflfuse {
namespace {

// The first row of its input, of this height, that a stage has still to read.
uint32_t FirstNeeded(const ChainView& chain, const Schedule& schedule, uint32_t s, uint32_t height) {
  const uint32_t done = schedule.done[s];
  if (!chain.Accumulates(s) && done == chain.Height(chain.inputs + s)) return height;
  return ClipRow(RowsFor(chain, s, done).begin, height);
}

// The rows of a value below this are free. A table that works in place passes its rows on to its own readers.
uint32_t FreedRows(const ChainView& chain, const Schedule& schedule, uint32_t v) {
  uint32_t freed = UINT32_MAX;
  for (uint32_t s = v - chain.inputs + 1; s < chain.stages; ++s) {
    if (!chain.Reads(s, v)) continue;
    const uint32_t needed = FirstNeeded(chain, schedule, s, chain.Height(v));
    if (needed < freed) freed = needed;
    const uint32_t own = chain.inputs + s;
    if (chain.Is(s, Kind::kTable) && IsInPlace(chain.Value(v), chain.Value(own))) v = own;
  }
  return freed;
}

}  // namespace
}  // namespace tflfuse

extern "C" int tflfuse_chain_replay(const uint8_t* options) {
  using namespace tflfuse;
  const ChainView chain(options, ReadHeader(options));
  uint16_t done[kMaxStages] = {};
  uint8_t waiting[kMaxStages];
  Schedule schedule = {done, waiting, chain.Last()};
  while (!IsFinished(chain, schedule)) {
    const uint32_t s = NextStage(chain, &schedule);
    const ValueRecord out = chain.Value(chain.inputs + s);
    FinishRow(chain, &schedule);
    const uint32_t made = Made(chain, done, s);
    if (out.ring_rows == 0 || made <= out.ring_rows) continue;
    if (made - out.ring_rows > FreedRows(chain, schedule, chain.inputs + s)) return 0;
  }
  return 1;
}
