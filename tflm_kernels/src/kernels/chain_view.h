// The records in a chain's options, read where they lie.
#ifndef TFLFUSE_KERNELS_CHAIN_VIEW_H_
#define TFLFUSE_KERNELS_CHAIN_VIEW_H_

#include <stdint.h>

#include "chain_options.h"

namespace tflfuse {

// The bytes of the whole options, whose header is known.
inline uint32_t OptionsBytes(const Header& header) {
  return kHeaderBytes + (header.inputs + header.stages) * kValueRecordBytes + header.stages * kStageRecordBytes;
}

// Where the scratch memory behind the stages' state and the row pointers begins.
inline uint32_t ScratchBegin(const Header& header) {
  return header.stages * kStateBytes + header.rows_max * kRowBytes;
}

struct ChainView {
  const uint8_t* values;
  const uint8_t* records;
  uint32_t inputs;
  uint32_t stages;

  ChainView(const uint8_t* options, const Header& header)
      : values(options + kHeaderBytes),
        records(values + (header.inputs + header.stages) * kValueRecordBytes),
        inputs(header.inputs),
        stages(header.stages) {}

  ValueRecord Value(uint32_t v) const { return ReadValueRecord(values + v * kValueRecordBytes); }
  StageRecord Stage(uint32_t s) const { return ReadStageRecord(records + s * kStageRecordBytes); }
  // Single numbers, for where a whole record would be too much to read.
  uint32_t Number(uint32_t s, uint32_t field) const { return Read_u16(records + s * kStageRecordBytes + field); }
  uint32_t Height(uint32_t v) const { return Read_u16(values + v * kValueRecordBytes + at_ValueRecord::height); }
  uint8_t KindOf(uint32_t s) const { return records[s * kStageRecordBytes + at_StageRecord::kind]; }
  uint32_t Input(uint32_t s) const { return records[s * kStageRecordBytes + at_StageRecord::input]; }
  // kNoValue where there is no second input.
  uint32_t Other(uint32_t s) const {
    return Is(s, Kind::kAdd) ? records[s * kStageRecordBytes + at_StageRecord::other] : kNoValue;
  }
  bool Is(uint32_t s, Kind kind) const { return KindOf(s) == static_cast<uint8_t>(kind); }
  static constexpr uint32_t Bit(Kind kind) { return 1u << static_cast<uint8_t>(kind); }
  bool IsOneOf(uint32_t s, uint32_t bits) const { return (bits >> (KindOf(s) & 31u) & 1u) != 0; }
  // Whether a stage takes its input one row at a time and makes a single pixel of it.
  bool Accumulates(uint32_t s) const { return IsOneOf(s, Bit(Kind::kMean) | Bit(Kind::kGlobalAverage)); }
  bool HasWindow(uint32_t s) const {
    return IsOneOf(s, Bit(Kind::kConv) | Bit(Kind::kDepthwise) | Bit(Kind::kAveragePool) | Bit(Kind::kMaxPool));
  }
  bool Reads(uint32_t s, uint32_t v) const { return Input(s) == v || Other(s) == v; }

  uint32_t Last() const { return stages - 1; }
  bool IsInner(uint32_t v) const { return v >= inputs; }
};

inline uint32_t Pitch(const ValueRecord& value) {
  return (static_cast<uint32_t>(value.pad_left) + value.width + value.pad_right) * value.channels;
}

inline bool Is(const StageRecord& stage, Kind kind) { return stage.kind == static_cast<uint8_t>(kind); }

// Whether a stage writes over its input's rows: a table may.
inline bool IsInPlace(const ValueRecord& in, const ValueRecord& out) {
  return in.ring_rows != 0 && out.ring_rows != 0 && in.ring_offset == out.ring_offset;
}

}  // namespace tflfuse

#endif  // TFLFUSE_KERNELS_CHAIN_VIEW_H_
