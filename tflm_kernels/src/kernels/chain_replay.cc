#include "chain_replay.h"

#include "chain_schedule.h"
#include "chain_view.h"

namespace tflfuse {
namespace {

// The first row of its input that a stage has still to read.
uint32_t FirstNeeded(const ChainView& chain, const Schedule& schedule, uint32_t s, const StageRecord& stage,
                     uint32_t height) {
  const uint32_t done = schedule.done[s];
  if (!Accumulates(stage) && done == chain.Value(chain.inputs + s).height) return height;
  return ClipRow(RowsFor(stage, done).begin, height);
}

// The rows of a value below this are free. A stage that works in place passes its rows on to its own readers.
uint32_t FreedRows(const ChainView& chain, const Schedule& schedule, uint32_t v) {
  uint32_t freed = UINT32_MAX;
  for (uint32_t s = v - chain.inputs + 1; s < chain.stages; ++s) {
    const StageRecord stage = chain.Stage(s);
    if (!Reads(stage, v)) continue;
    const ValueRecord value = chain.Value(v);
    const uint32_t needed = FirstNeeded(chain, schedule, s, stage, value.height);
    if (needed < freed) freed = needed;
    if (Is(stage, Kind::kTable) && IsInPlace(value, chain.Value(chain.inputs + s))) v = chain.inputs + s;
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
    const uint32_t made = Made(chain, schedule, s);
    if (out.ring_rows == 0 || made <= out.ring_rows) continue;
    if (made - out.ring_rows > FreedRows(chain, schedule, chain.inputs + s)) return 0;
  }
  return 1;
}
