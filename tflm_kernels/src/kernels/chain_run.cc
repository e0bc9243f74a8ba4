#include "chain_run.h"

#include <string.h>

#include "accumulate_row.h"
#include "add_constant_row.h"
#include "add_row.h"
#include "average_pixel.h"
#include "average_pool_row.h"
#include "chain_schedule.h"
#include "chain_view.h"
#include "conv_row.h"
#include "copy_pixels.h"
#include "depthwise_row.h"
#include "max_pool_row.h"
#include "mean_pixel.h"
#include "mul_constant_row.h"
#include "table_row.h"
#include "transpose_row.h"

// Functions are kept apart so that the stack holds nothing but what the kernel at work needs.
namespace tflfuse {
namespace {

struct Run {
  ChainView chain;
  const int8_t* constants;
  const int8_t* const* inputs;
  int8_t* output;
  uint8_t* scratch;
  const int8_t** rows;  // kernel_h pointers, for the stage at work
};

// One stage with its values, parsed once for each row.
struct Work {
  StageRecord stage;
  ValueRecord in;
  ValueRecord out;
  uint32_t row;  // of out; of in where the stage accumulates
};

Work WorkOf(const Run& run, uint32_t number, uint32_t row) {
  Work work;
  work.stage = run.chain.Stage(number);
  work.in = run.chain.Value(work.stage.input);
  work.out = run.chain.Value(run.chain.inputs + number);
  work.row = row;
  return work;
}

uint32_t RowBytes(const ValueRecord& value) { return static_cast<uint32_t>(value.width) * value.channels; }

template <typename T>
const T* Constant(const Run& run, uint32_t offset) {
  return static_cast<const T*>(static_cast<const void*>(run.constants + offset));
}

int32_t* Sums(const Run& run, const StageRecord& stage) {
  return static_cast<int32_t*>(static_cast<void*>(run.scratch + stage.scratch));
}

int8_t* Bytes(const Run& run, uint32_t offset) {
  return static_cast<int8_t*>(static_cast<void*>(run.scratch + offset));
}

// Rows of outside tensors come from here and from nowhere else.
const int8_t* OutsideRow(const Run& run, uint32_t v, const ValueRecord& value, uint32_t row) {
  return run.inputs[v] + row * Pitch(value);
}

// Pixel 0 of a row in scratch memory.
int8_t* RingRow(const Run& run, const ValueRecord& value, uint32_t row) {
  const uint32_t at = value.ring_offset + row % value.ring_rows * Pitch(value);
  return Bytes(run, at + static_cast<uint32_t>(value.pad_left) * value.channels);
}

const int8_t* InRow(const Run& run, uint32_t v, const ValueRecord& value, uint32_t row) {
  return run.chain.IsInner(v) ? RingRow(run, value, row) : OutsideRow(run, v, value, row);
}

int8_t* OutRow(const Run& run, const Work& work) {
  return work.out.ring_rows == 0 ? run.output + work.row * Pitch(work.out) : RingRow(run, work.out, work.row);
}

uint32_t SegmentBytes(const StageRecord& stage, const ValueRecord& in) {
  return ((stage.kernel_w - 1u) * stage.dilation_w + 1u) * in.channels;
}

TflfuseQuantization QuantizationOf(const Run& run, const Work& work) {
  const StageRecord& s = work.stage;
  return {Constant<int32_t>(run, s.bias), Constant<int32_t>(run, s.multipliers), Constant<int8_t>(run, s.shifts),
          work.out.zero_point,            s.clamp_min,                           s.clamp_max,
          s.plain};
}

// A convolution's arguments.
struct Convolution {
  TflfuseWindow window;
  TflfuseQuantization quantization;
  const int8_t* weights;
  uint32_t width;
  uint32_t channels;  // of the output; where it is depthwise, by those of the input
  int8_t* output;
};

[[gnu::noinline]] void Describe(const Run& run, uint32_t number, uint32_t output_row, Convolution* c) {
  const Work work = WorkOf(run, number, output_row);
  const StageRecord& s = work.stage;
  const uint32_t channels = work.in.channels;
  c->window = {run.rows, s.kernel_h, s.kernel_w, 0, 0, s.stride_w * channels, s.dilation_w * channels, channels};
  int32_t row = RowsFor(run.chain, number, work.row).begin;
  for (uint32_t k = 0; k < s.kernel_h; ++k, row += s.dilation_h) {
    if (row < 0) ++c->window.inner_begin;
    if (row < work.in.height) ++c->window.inner_end;
    const bool inside = row >= 0 && row < work.in.height;
    run.rows[k] = inside ? InRow(run, s.input, work.in, static_cast<uint32_t>(row)) - s.pad_left * channels
                         : Bytes(run, s.scratch);
  }
  c->quantization = QuantizationOf(run, work);
  c->weights = Constant<int8_t>(run, s.weights);
  c->width = work.out.width;
  c->channels = Is(s, Kind::kConv) ? work.out.channels : work.out.channels / channels;
  c->output = OutRow(run, work);
}

[[gnu::noinline]] void Convolve(const Run& run, uint32_t number, uint32_t row) {
  Convolution c;
  Describe(run, number, row, &c);
  const auto convolve = run.chain.Is(number, Kind::kConv) ? tflfuse_conv_row : tflfuse_depthwise_row;
  convolve(&c.window, c.weights, &c.quantization, c.width, c.channels, c.output);
}

[[gnu::noinline]] void Pool(const Run& run, uint32_t number, uint32_t row) {
  const Work work = WorkOf(run, number, row);
  const StageRecord& s = work.stage;
  const Rows rows = RowsFor(run.chain, number, work.row);
  const uint32_t begin = ClipRow(rows.begin, work.in.height), end = ClipRow(rows.end, work.in.height);
  for (uint32_t r = begin; r < end; ++r) run.rows[r - begin] = InRow(run, s.input, work.in, r);
  const TflfusePool pool = {run.rows,         end - begin,   s.kernel_w,  s.stride_w, s.pad_left, work.in.width,
                            work.in.channels, s.clamp_min,   s.clamp_max};
  if (Is(s, Kind::kMaxPool)) {
    tflfuse_max_pool_row(&pool, work.out.width, OutRow(run, work));
  } else {
    tflfuse_average_pool_row(&pool, work.out.width, OutRow(run, work));
  }
}

[[gnu::noinline]] void Add(const Run& run, uint32_t number, uint32_t row) {
  const Work work = WorkOf(run, number, row);
  const StageRecord& s = work.stage;
  TflfuseAdd add = {work.in.zero_point, s.input_multiplier,  s.input_shift, 0,           s.other_multiplier,
                    s.other_shift,      s.multiplier,        s.shift,       work.out.zero_point,
                    s.clamp_min,        s.clamp_max};
  const int8_t* a = InRow(run, s.input, work.in, work.row);
  const uint32_t width = work.out.width, channels = work.out.channels;
  if (s.other == kNoValue) {
    tflfuse_add_constant_row(&add, a, Constant<int32_t>(run, s.bias), width, channels, OutRow(run, work));
    return;
  }
  const ValueRecord other = run.chain.Value(s.other);
  add.b_zero_point = other.zero_point;
  tflfuse_add_row(&add, a, InRow(run, s.other, other, work.row), width * channels, OutRow(run, work));
}

[[gnu::noinline]] void Multiply(const Run& run, uint32_t number, uint32_t row) {
  const Work work = WorkOf(run, number, row);
  const StageRecord& s = work.stage;
  const TflfuseMul mul = {work.in.zero_point,  s.multiplier, s.shift,
                          work.out.zero_point, s.clamp_min,  s.clamp_max};
  tflfuse_mul_constant_row(&mul, InRow(run, s.input, work.in, work.row), Constant<int32_t>(run, s.bias), work.out.width,
                           work.out.channels, OutRow(run, work));
}

// The first byte of what a PAD surrounds or a SLICE takes, in a row of the larger plane.
uint32_t InFront(const StageRecord& s, const ValueRecord& larger) {
  return static_cast<uint32_t>(s.pad_left) * larger.channels + s.pad_front;
}

[[gnu::noinline]] void Pad(const Run& run, uint32_t number, uint32_t row) {
  const Work work = WorkOf(run, number, row);
  const StageRecord& s = work.stage;
  int8_t* out = OutRow(run, work);
  memset(out, work.out.zero_point, RowBytes(work.out));
  const uint32_t in_row = row - s.pad_top;  // wraps above the plane
  if (in_row >= work.in.height) return;
  tflfuse_copy_pixels(InRow(run, s.input, work.in, in_row), work.in.channels, work.in.width, work.in.channels,
                      out + InFront(s, work.out), work.out.channels);
}

[[gnu::noinline]] void Slice(const Run& run, uint32_t number, uint32_t row) {
  const Work work = WorkOf(run, number, row);
  const StageRecord& s = work.stage;
  tflfuse_copy_pixels(InRow(run, s.input, work.in, work.row + s.pad_top) + InFront(s, work.in), work.in.channels,
                      work.out.width, work.out.channels, OutRow(run, work), work.out.channels);
}

[[gnu::noinline]] void Accumulate(const Run& run, uint32_t number, uint32_t row) {
  const Work work = WorkOf(run, number, row);
  const StageRecord& s = work.stage;
  const uint32_t channels = work.in.channels;
  int32_t* sums = Sums(run, s);
  if (work.row == 0) memset(sums, 0, channels * sizeof *sums);
  tflfuse_accumulate_row(InRow(run, s.input, work.in, work.row), work.in.width, channels, sums);
  if (work.row + 1u < work.in.height) return;
  const Work pixel = {s, work.in, work.out, 0};
  const uint32_t count = static_cast<uint32_t>(work.in.height) * work.in.width;
  if (Is(s, Kind::kGlobalAverage)) {
    tflfuse_average_pixel(sums, static_cast<int32_t>(count), s.clamp_min, s.clamp_max, channels, OutRow(run, pixel));
    return;
  }
  const uint32_t offset = count * static_cast<uint32_t>(work.in.zero_point);
  const TflfuseMean mean = {static_cast<int32_t>(offset), s.multiplier, s.shift,
                            work.out.zero_point,          s.clamp_min,  s.clamp_max};
  tflfuse_mean_pixel(&mean, sums, channels, OutRow(run, pixel));
}

[[gnu::noinline]] void Copy(const Run& run, uint32_t number, uint32_t row) {
  const Work work = WorkOf(run, number, row);
  memcpy(OutRow(run, work), InRow(run, work.stage.input, work.in, row), RowBytes(work.out));
}

[[gnu::noinline]] void Look(const Run& run, uint32_t number, uint32_t row) {
  const Work work = WorkOf(run, number, row);
  tflfuse_table_row(Constant<int8_t>(run, work.stage.weights), InRow(run, work.stage.input, work.in, row),
                    RowBytes(work.out), OutRow(run, work));
}

[[gnu::noinline]] void Transpose(const Run& run, uint32_t number, uint32_t row) {
  const Work work = WorkOf(run, number, row);
  tflfuse_transpose_row(InRow(run, work.stage.input, work.in, 0) + row * work.out.width,
                        static_cast<uint32_t>(work.out.height) * work.out.width, work.out.width, work.out.channels,
                        OutRow(run, work));
}

void MakeRow(const Run& run, uint32_t number, uint32_t row) {
  switch (static_cast<Kind>(run.chain.KindOf(number))) {
    case Kind::kCopy:
      return Copy(run, number, row);
    case Kind::kConv:
    case Kind::kDepthwise:
      return Convolve(run, number, row);
    case Kind::kAdd:
      return Add(run, number, row);
    case Kind::kAveragePool:
    case Kind::kMaxPool:
      return Pool(run, number, row);
    case Kind::kMean:
    case Kind::kGlobalAverage:
      return Accumulate(run, number, row);
    case Kind::kTable:
      return Look(run, number, row);
    case Kind::kTranspose:
      return Transpose(run, number, row);
    case Kind::kMul:
      return Multiply(run, number, row);
    case Kind::kPad:
      return Pad(run, number, row);
    case Kind::kSlice:
      return Slice(run, number, row);
  }
}

// What is the same in every inference: the columns beside ring rows and the rows above and below planes.
[[gnu::noinline]] void FillPadding(const Run& run) {
  for (uint32_t s = 0; s < run.chain.stages; ++s) {
    const StageRecord stage = run.chain.Stage(s);
    const ValueRecord in = run.chain.Value(stage.input), out = run.chain.Value(run.chain.inputs + s);
    const bool convolves = Is(stage, Kind::kConv) || Is(stage, Kind::kDepthwise);
    if (convolves && stage.scratch != kNoOffset) {
      memset(run.scratch + stage.scratch, in.zero_point, SegmentBytes(stage, in));
    }
    for (uint32_t row = 0; row < out.ring_rows; ++row) {
      int8_t* pixels = RingRow(run, out, row);
      const uint32_t left = static_cast<uint32_t>(out.pad_left) * out.channels;
      memset(pixels - left, out.zero_point, left);
      memset(pixels + static_cast<uint32_t>(out.width) * out.channels, out.zero_point,
             static_cast<uint32_t>(out.pad_right) * out.channels);
    }
  }
}

}  // namespace
}  // namespace tflfuse

extern "C" void tflfuse_chain_run(const uint8_t* options, const int8_t* constants, const int8_t* const* inputs,
                                  int8_t* output, void* scratch) {
  using namespace tflfuse;
  Run run = {ChainView(options, ReadHeader(options)), constants, inputs, output, static_cast<uint8_t*>(scratch), nullptr};
  const ChainView& chain = run.chain;
  void* rows = run.scratch + chain.stages * kStateBytes;
  run.rows = static_cast<const int8_t**>(rows);
  Schedule schedule = {static_cast<uint16_t*>(scratch), run.scratch + chain.stages * sizeof(uint16_t), chain.Last()};
  memset(schedule.done, 0, chain.stages * sizeof(uint16_t));
  FillPadding(run);
  while (!IsFinished(chain, schedule)) {
    const uint32_t s = NextStage(chain, &schedule);
    MakeRow(run, s, schedule.done[s]);
    FinishRow(chain, &schedule);
  }
}
