#include "chain_records.h"

#include "chain_schedule.h"
#include "chain_view.h"
#include "expect.h"

namespace tflfuse {
namespace {

constexpr uint64_t kFarthest = 1 << 30;  // rows times strides, bytes of a row: what 32 bits hold with room to add

struct Check {
  ChainView chain;
  Header header;
  const int8_t* constants;
};

// One stage with its values.
struct Stage {
  uint32_t number;
  StageRecord record;
  ValueRecord in;
  ValueRecord out;
};

bool SamePlane(const ValueRecord& a, const ValueRecord& b) {
  return a.height == b.height && a.width == b.width && a.channels == b.channels;
}

// Whether a plane holds another behind what a stage leaves in front.
bool Holds(const ValueRecord& larger, const StageRecord& s, const ValueRecord& smaller) {
  return s.pad_top + smaller.height <= larger.height && s.pad_left + smaller.width <= larger.width &&
         s.pad_front + smaller.channels <= larger.channels;
}

bool IsShift(int32_t shift) { return shift >= -31 && shift <= 30; }

bool InConstants(const Check& check, uint32_t offset, uint64_t bytes, uint32_t alignment) {
  return offset % alignment == 0 && offset + bytes <= check.header.constants_bytes;
}

bool InScratch(const Check& check, uint32_t offset, uint64_t bytes, uint32_t alignment) {
  return offset % alignment == 0 && offset >= ScratchBegin(check.header) && offset + bytes <= check.header.scratch_bytes;
}

// What bounds the replay of the schedule.
const char* CheckRows(const ChainView& chain) {
  uint32_t rows = 0;
  for (uint32_t v = 0; v < chain.inputs + chain.stages; ++v) rows += chain.Height(v);
  TFLFUSE_EXPECT(rows <= kMaxRows, "the chain has too many rows");
  return nullptr;
}

const char* CheckValue(const Check& check, uint32_t v, uint64_t tensor_bytes) {
  const ValueRecord value = check.chain.Value(v);
  TFLFUSE_EXPECT(value.height >= 1 && value.width >= 1 && value.channels >= 1, "a value is empty");
  const uint64_t width = static_cast<uint64_t>(value.pad_left) + value.width + value.pad_right;
  TFLFUSE_EXPECT(width * value.channels <= kFarthest, "the rows of a value are too long");
  const bool is_tensor = v < check.chain.inputs || v == check.chain.inputs + check.chain.Last();
  if (!is_tensor) {
    TFLFUSE_EXPECT(value.ring_rows >= 1, "an inner value has no ring");
    TFLFUSE_EXPECT(InScratch(check, value.ring_offset, width * value.channels * value.ring_rows, 1),
                   "a ring lies outside the scratch memory");
    return nullptr;
  }
  TFLFUSE_EXPECT(value.ring_rows == 0 && value.pad_left == 0 && value.pad_right == 0, "a tensor has a ring or padding");
  TFLFUSE_EXPECT(width * value.channels * value.height == tensor_bytes, "a tensor has the wrong size");
  return nullptr;
}

// What lets a kernel round the short way.
bool IsPlain(int32_t bias, int32_t multiplier, int32_t shift) {
  const int32_t most = kPlainSum;
  return bias > -most && bias < most && (multiplier == 0 || multiplier >= 1 << 30) && shift >= -23 && shift < 0;
}

const char* CheckMultipliers(const Check& check, const StageRecord& stage, uint32_t window, uint32_t channels) {
  TFLFUSE_EXPECT(InConstants(check, stage.bias, uint64_t{4} * channels, 4) &&
                     InConstants(check, stage.multipliers, uint64_t{4} * channels, 4) &&
                     InConstants(check, stage.shifts, channels, 1),
                 "biases, multipliers or shifts lie outside the constants");
  const uint8_t* constants = static_cast<const uint8_t*>(static_cast<const void*>(check.constants));
  TFLFUSE_EXPECT(stage.plain == 0 || window << 14 <= kPlainSum, "a window is too large to be plain");
  for (uint32_t c = 0; c < channels; ++c) {
    const int32_t multiplier = Read_i32(constants + stage.multipliers + 4 * c), shift = check.constants[stage.shifts + c];
    TFLFUSE_EXPECT(multiplier >= 0 && IsShift(shift), "a multiplier or shift is out of range");
    TFLFUSE_EXPECT(stage.plain == 0 || IsPlain(Read_i32(constants + stage.bias + 4 * c), multiplier, shift),
                   "a bias, multiplier or shift is not plain");
  }
  return nullptr;
}

// That no number overflows on the way to the last window's last row and column.
const char* CheckWindow(const Check& check, const Stage& stage) {
  const StageRecord& s = stage.record;
  TFLFUSE_EXPECT(s.kernel_h >= 1 && s.kernel_w >= 1 && s.stride_h >= 1 && s.stride_w >= 1 && s.dilation_h >= 1 &&
                     s.dilation_w >= 1,
                 "a kernel, stride or dilation is 0");
  TFLFUSE_EXPECT(s.kernel_h <= check.header.rows_max, "there are fewer row pointers than kernel rows");
  const uint64_t rows = (stage.out.height - uint64_t{1}) * s.stride_h + (s.kernel_h - uint64_t{1}) * s.dilation_h;
  const uint64_t columns = (stage.out.width - uint64_t{1}) * s.stride_w + (s.kernel_w - uint64_t{1}) * s.dilation_w;
  TFLFUSE_EXPECT(rows < kFarthest && columns * stage.in.channels < kFarthest, "the windows reach too far");
  return nullptr;
}

const char* CheckConvolution(const Check& check, const Stage& stage) {
  const StageRecord& s = stage.record;
  TFLFUSE_EXPECT_NULL(CheckWindow(check, stage));
  const bool depthwise = Is(s, Kind::kDepthwise);
  TFLFUSE_EXPECT(!depthwise || stage.out.channels % stage.in.channels == 0, "the channels are no multiple of the input's");
  const uint64_t taps = static_cast<uint64_t>(s.kernel_h) * s.kernel_w;
  const uint64_t window = taps * (depthwise ? 1u : stage.in.channels);
  TFLFUSE_EXPECT(window <= kMaxWindow, "a window is too large");
  const uint64_t bytes = window * stage.out.channels + (depthwise ? 0 : kBehindWeights);
  TFLFUSE_EXPECT(InConstants(check, s.weights, bytes, 1), "weights lie outside the constants");
  TFLFUSE_EXPECT_NULL(CheckMultipliers(check, s, static_cast<uint32_t>(window), stage.out.channels));
  const uint32_t span = (s.kernel_w - 1u) * s.dilation_w;
  const uint32_t last = (stage.out.width - 1u) * s.stride_w + span;  // pad_left too far right
  TFLFUSE_EXPECT(s.pad_left <= stage.in.pad_left &&
                     last < static_cast<uint32_t>(s.pad_left) + stage.in.width + stage.in.pad_right,
                 "windows reach beside the rows of their input");
  const int32_t last_row = RowsFor(check.chain, stage.number, stage.out.height - 1u).end;
  const bool inside = s.pad_top == 0 && last_row <= stage.in.height;
  const bool has_segment = s.scratch != kNoOffset;
  TFLFUSE_EXPECT(inside || has_segment, "padding rows are missing");
  TFLFUSE_EXPECT(!has_segment || InScratch(check, s.scratch, (span + uint64_t{1}) * stage.in.channels, 1),
                 "padding rows lie outside the scratch memory");
  return nullptr;
}

const char* CheckPool(const Check& check, const Stage& stage) {
  const StageRecord& s = stage.record;
  TFLFUSE_EXPECT_NULL(CheckWindow(check, stage));
  TFLFUSE_EXPECT(s.dilation_h == 1 && s.dilation_w == 1, "a pooling is dilated");
  TFLFUSE_EXPECT(stage.in.channels == stage.out.channels, "a pooling changes the channels");
  TFLFUSE_EXPECT(static_cast<uint64_t>(s.kernel_h) * s.kernel_w <= kMaxWindow, "a window is too large");
  const uint32_t last_column = (stage.out.width - 1u) * s.stride_w;
  TFLFUSE_EXPECT(s.kernel_h > s.pad_top && s.kernel_w > s.pad_left &&
                     RowsFor(check.chain, stage.number, stage.out.height - 1u).begin < stage.in.height &&
                     last_column < static_cast<uint32_t>(s.pad_left) + stage.in.width,
                 "a pooling window lies outside the plane");
  return nullptr;
}

const char* CheckAdd(const Check& check, const Stage& stage) {
  const StageRecord& s = stage.record;
  TFLFUSE_EXPECT(SamePlane(stage.in, stage.out), "the operands of an addition differ in shape");
  TFLFUSE_EXPECT(s.multiplier >= 0 && s.input_multiplier >= 0 && s.other_multiplier >= 0 && IsShift(s.shift) &&
                     IsShift(s.input_shift) && IsShift(s.other_shift),
                 "a multiplier or shift is out of range");
  if (s.other == kNoValue) {
    TFLFUSE_EXPECT(InConstants(check, s.bias, uint64_t{4} * stage.out.channels, 4), "an addend lies outside the constants");
    return nullptr;
  }
  TFLFUSE_EXPECT(SamePlane(check.chain.Value(s.other), stage.out), "the operands of an addition differ in shape");
  return nullptr;
}

const char* CheckProduct(const Check& check, const Stage& stage) {
  const StageRecord& s = stage.record;
  TFLFUSE_EXPECT(SamePlane(stage.in, stage.out), "a product changes the shape");
  TFLFUSE_EXPECT(s.multiplier >= 0 && IsShift(s.shift), "a multiplier or shift is out of range");
  TFLFUSE_EXPECT(InConstants(check, s.bias, uint64_t{4} * stage.out.channels, 4), "a factor lies outside the constants");
  return nullptr;
}

const char* CheckAccumulation(const Check& check, const Stage& stage) {
  const StageRecord& s = stage.record;
  TFLFUSE_EXPECT(stage.out.height == 1 && stage.out.width == 1 && stage.out.channels == stage.in.channels,
                 "a mean has the wrong shape");
  TFLFUSE_EXPECT(static_cast<uint32_t>(stage.in.height) * stage.in.width <= 1u << 23, "a mean is over too many pixels");
  TFLFUSE_EXPECT(s.multiplier >= 0 && IsShift(s.shift), "a multiplier or shift is out of range");
  TFLFUSE_EXPECT(InScratch(check, s.scratch, uint64_t{4} * stage.in.channels, 4), "sums lie outside the scratch memory");
  return nullptr;
}

const char* CheckTable(const Check& check, const Stage& stage) {
  TFLFUSE_EXPECT(SamePlane(stage.in, stage.out), "a table changes the shape");
  TFLFUSE_EXPECT(InConstants(check, stage.record.weights, 256, 1), "a table lies outside the constants");
  if (!IsInPlace(stage.in, stage.out)) return nullptr;
  TFLFUSE_EXPECT(stage.in.ring_rows == stage.out.ring_rows && stage.in.pad_left == stage.out.pad_left &&
                     stage.in.pad_right == stage.out.pad_right,
                 "a table in place has two different rings");
  uint32_t readers = 0;
  for (uint32_t s = 0; s < check.chain.stages; ++s) readers += check.chain.Reads(s, stage.record.input);
  TFLFUSE_EXPECT(readers == 1, "a table in place overwrites what others read");
  return nullptr;
}

const char* CheckStage(const Check& check, uint32_t number) {
  const ChainView& chain = check.chain;
  const uint32_t own = chain.inputs + number;
  Stage stage;
  stage.number = number;
  stage.record = chain.Stage(number);
  const StageRecord& s = stage.record;
  TFLFUSE_EXPECT(s.kind < kKinds, "a stage is of an unknown kind");
  const bool has_other = Is(s, Kind::kAdd) && s.other != kNoValue;
  TFLFUSE_EXPECT(s.input < own && (!has_other || s.other < own), "a stage reads what is not made before it");
  TFLFUSE_EXPECT(s.clamp_min <= s.clamp_max, "a clamp is empty");
  stage.in = chain.Value(s.input);
  stage.out = chain.Value(own);
  switch (static_cast<Kind>(s.kind)) {
    case Kind::kConv:
    case Kind::kDepthwise:
      return CheckConvolution(check, stage);
    case Kind::kAdd:
      return CheckAdd(check, stage);
    case Kind::kAveragePool:
    case Kind::kMaxPool:
      return CheckPool(check, stage);
    case Kind::kMean:
    case Kind::kGlobalAverage:
      return CheckAccumulation(check, stage);
    case Kind::kTable:
      return CheckTable(check, stage);
    case Kind::kCopy:
      TFLFUSE_EXPECT(!chain.IsInner(s.input), "only an outside tensor can be copied");
      TFLFUSE_EXPECT(SamePlane(stage.in, stage.out), "a copy changes the shape");
      return nullptr;
    case Kind::kTranspose:
      TFLFUSE_EXPECT(!chain.IsInner(s.input), "only an outside tensor can be transposed");
      TFLFUSE_EXPECT(stage.out.height == stage.in.width && stage.out.width == stage.in.channels &&
                         stage.out.channels == stage.in.height,
                     "a transposition has the wrong shape");
      return nullptr;
    case Kind::kMul:
      return CheckProduct(check, stage);
    case Kind::kPad:
      TFLFUSE_EXPECT(Holds(stage.out, s, stage.in), "a padding is larger than its output");
      return nullptr;
    case Kind::kSlice:
      TFLFUSE_EXPECT(Holds(stage.in, s, stage.out), "a slice reaches beyond its input");
      return nullptr;
  }
  return nullptr;
}

}  // namespace
}  // namespace tflfuse

extern "C" const char* tflfuse_chain_records(const uint8_t* options, const TflfuseOperands* operands) {
  using namespace tflfuse;
  const Header header = ReadHeader(options);
  const Check check = {ChainView(options, header), header, operands->constants};
  TFLFUSE_EXPECT_NULL(CheckRows(check.chain));
  for (uint32_t v = 0; v < check.chain.inputs + check.chain.stages; ++v) {
    const uint64_t bytes = v < check.chain.inputs ? operands->input_bytes[v] : operands->output_bytes;
    TFLFUSE_EXPECT_NULL(CheckValue(check, v, bytes));
  }
  for (uint32_t s = 0; s < check.chain.stages; ++s) TFLFUSE_EXPECT_NULL(CheckStage(check, s));
  return nullptr;
}
