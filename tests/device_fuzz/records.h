// The records in a chain's options as the harness sees them, apart from the code that is tested.
#ifndef TFLFUSE_TESTS_DEVICE_FUZZ_RECORDS_H_
#define TFLFUSE_TESTS_DEVICE_FUZZ_RECORDS_H_

#include "chain_options.h"

namespace records {

using tflfuse::Kind;

inline uint32_t ValueAt(uint32_t v) { return tflfuse::kHeaderBytes + v * tflfuse::kValueRecordBytes; }
inline uint32_t StageAt(const tflfuse::Header& header, uint32_t s) {
  return ValueAt(header.inputs + header.stages) + s * tflfuse::kStageRecordBytes;
}
inline uint32_t OptionsBytes(const tflfuse::Header& header) { return StageAt(header, header.stages); }

inline bool Is(const tflfuse::StageRecord& stage, Kind kind) { return stage.kind == static_cast<uint8_t>(kind); }
inline bool Convolves(const tflfuse::StageRecord& stage) { return Is(stage, Kind::kConv) || Is(stage, Kind::kDepthwise); }
inline bool Pools(const tflfuse::StageRecord& stage) { return Is(stage, Kind::kAveragePool) || Is(stage, Kind::kMaxPool); }
inline bool HasWindow(const tflfuse::StageRecord& stage) { return Convolves(stage) || Pools(stage); }
inline bool Sums(const tflfuse::StageRecord& stage) { return Is(stage, Kind::kMean) || Is(stage, Kind::kGlobalAverage); }

}  // namespace records

#endif  // TFLFUSE_TESTS_DEVICE_FUZZ_RECORDS_H_
