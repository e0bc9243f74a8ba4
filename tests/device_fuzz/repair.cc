#include "repair.h"

#include <algorithm>

#include "records.h"

namespace {

using namespace records;
using namespace tflfuse;

constexpr uint32_t kMostStages = 24, kMostSize = 40, kMostConstants = 16384;
constexpr uint8_t kInt8 = 9;

class Repairer {
 public:
  Repairer(Case* c, Dice* dice) : c_(*c), dice_(*dice) {}

  void all() {
    if (dice_.below(4) != 0) c_.failing = 0, c_.spoil = 0;
    header();
    for (uint32_t v = 0; v < inputs_; ++v) limit_plane(v);
    for (uint32_t s = 0; s < stages_; ++s) stage(s);
    memory();
    constants();
    tensors();
  }

 private:
  // Every repair is done most times only: what it repairs is to be seen unrepaired as well.
  bool do_it() { return dice_.below(40) != 0; }
  uint8_t* value_at(uint32_t v, uint32_t field) { return c_.options.data() + ValueAt(v) + field; }
  uint8_t* stage_at(uint32_t s, uint32_t field) {
    return c_.options.data() + StageAt(ReadHeader(c_.options.data()), s) + field;
  }
  uint16_t u16(const uint8_t* at) { return Read_u16(at); }
  uint32_t u32(const uint8_t* at) { return Read_u32(at); }
  void set16(uint8_t* at, uint64_t n) { const uint16_t v = static_cast<uint16_t>(n); memcpy(at, &v, 2); }
  void set32(uint8_t* at, uint64_t n) { const uint32_t v = static_cast<uint32_t>(n); memcpy(at, &v, 4); }
  void at_least16(uint8_t* at, uint32_t n) { if (u16(at) < n) set16(at, n); }
  void at_most16(uint8_t* at, uint32_t n) { if (u16(at) > n) set16(at, 1 + dice_.below(n)); }
  // The value of this number, the last one where there is none.
  ValueRecord value(uint32_t v) { return ReadValueRecord(value_at(std::min(v, inputs_ + stages_ - 1), 0)); }
  StageRecord record(uint32_t s) { return ReadStageRecord(stage_at(s, 0)); }

  void header() {
    uint8_t* h = c_.options.data();
    if (do_it()) set32(h + at_Header::magic, kMagic);
    if (do_it()) h[at_Header::version] = kVersion;
    if (do_it()) h[at_Header::batch] = 1;
    const uint32_t operands = static_cast<uint32_t>(c_.tensors.size()) - 2;
    inputs_ = h[at_Header::inputs] = static_cast<uint8_t>(std::clamp<uint32_t>(operands, 1, kMaxInputs));
    stages_ = h[at_Header::stages] = static_cast<uint8_t>(std::clamp<uint32_t>(h[at_Header::stages], 1, kMostStages));
    c_.options.resize(OptionsBytes(ReadHeader(h)));
  }

  void limit_plane(uint32_t v) {
    for (const uint32_t field : {at_ValueRecord::height, at_ValueRecord::width, at_ValueRecord::channels}) {
      at_least16(value_at(v, field), 1);
      if (do_it()) at_most16(value_at(v, field), kMostSize);
    }
  }

  void set_plane(uint32_t v, uint64_t height, uint64_t width, uint64_t channels) {
    if (!do_it()) return;
    set16(value_at(v, at_ValueRecord::height), height);
    set16(value_at(v, at_ValueRecord::width), width);
    set16(value_at(v, at_ValueRecord::channels), channels);
  }

  // Operands that are made before it, a kernel that is no larger than is quick, an output of the shape that follows.
  void stage(uint32_t s) {
    const uint32_t own = inputs_ + s;
    if (do_it()) *stage_at(s, at_StageRecord::kind) %= kKinds;
    uint8_t *input = stage_at(s, at_StageRecord::input), *other = stage_at(s, at_StageRecord::other);
    // A chain in which each reads the one before has no value that nobody makes.
    if (do_it() && *input >= own) *input = static_cast<uint8_t>(dice_.below(4) ? own - 1 : dice_.below(own));
    if (do_it() && *other >= own && dice_.below(2)) *other = static_cast<uint8_t>(dice_.below(own));
    else if (do_it() && *other >= own) *other = static_cast<uint8_t>(kNoValue);
    int8_t* low = reinterpret_cast<int8_t*>(stage_at(s, at_StageRecord::clamp_min));
    int8_t* high = reinterpret_cast<int8_t*>(stage_at(s, at_StageRecord::clamp_max));
    if (do_it() && *low > *high) std::swap(*low, *high);
    if (*input >= own) return;
    limit_plane(own);
    const uint8_t kind = *stage_at(s, at_StageRecord::kind);
    const ValueRecord in = value(*input);
    switch (static_cast<Kind>(kind)) {
      case Kind::kConv:
      case Kind::kDepthwise:
      case Kind::kAveragePool:
      case Kind::kMaxPool: return windows(s, in);
      case Kind::kAdd:
        if (*other != kNoValue && *other < own) set_plane(*other >= inputs_ ? own : *other, in.height, in.width, in.channels);
        return set_plane(own, in.height, in.width, in.channels);
      case Kind::kMean:
      case Kind::kGlobalAverage: return set_plane(own, 1, 1, in.channels);
      case Kind::kTranspose: return set_plane(own, in.width, in.channels, in.height);
      case Kind::kPad: return surround(s, in, own, true);
      case Kind::kSlice: return surround(s, in, own, false);
      default: return set_plane(own, in.height, in.width, in.channels);
    }
  }

  void surround(uint32_t s, const ValueRecord& in, uint32_t own, bool larger) {
    const ValueRecord out = value(own);
    const auto fit = [&](uint32_t field, uint32_t a, uint32_t b) {
      if (do_it()) at_most16(stage_at(s, field), larger ? 8 : a);
      const uint32_t front = u16(stage_at(s, field));
      if (larger) return a + front + (b > a + front && b < kMostSize ? b - a - front : 0);
      if (front >= a) set16(stage_at(s, field), 0);
      return std::min(b, a - u16(stage_at(s, field)));
    };
    set_plane(own, fit(at_StageRecord::pad_top, in.height, out.height),
              fit(at_StageRecord::pad_left, in.width, out.width),
              fit(at_StageRecord::pad_front, in.channels, out.channels));
  }

  void windows(uint32_t s, const ValueRecord& in) {
    const uint32_t own = inputs_ + s;
    for (const uint32_t field : {at_StageRecord::kernel_h, at_StageRecord::kernel_w, at_StageRecord::stride_h,
                                 at_StageRecord::stride_w, at_StageRecord::dilation_h, at_StageRecord::dilation_w}) {
      if (do_it()) at_least16(stage_at(s, field), 1);
      if (do_it()) at_most16(stage_at(s, field), 8);
    }
    const bool pools = Pools(record(s));
    if (pools && do_it()) {
      set16(stage_at(s, at_StageRecord::dilation_h), 1);
      set16(stage_at(s, at_StageRecord::dilation_w), 1);
    }
    StageRecord r = record(s);
    for (const auto& [field, kernel] : {std::pair(at_StageRecord::pad_top, r.kernel_h), {at_StageRecord::pad_left, r.kernel_w}}) {
      if (do_it()) at_most16(stage_at(s, field), std::max(1, kernel - 1));
      if (do_it() && kernel == 1) set16(stage_at(s, field), 0);
    }
    r = record(s);
    const auto steps = [&](uint32_t size, uint32_t pad, uint32_t kernel, uint32_t stride, uint32_t dilation) {
      const uint32_t span = (kernel - 1) * dilation + 1, behind = dice_.below(2) ? pad : 0;
      const uint32_t room = size + pad + behind;
      return room < span || stride == 0 ? 1u : (room - span) / stride + 1;
    };
    const uint32_t height = steps(in.height, r.pad_top, r.kernel_h, r.stride_h, r.dilation_h);
    const uint32_t width = steps(in.width, r.pad_left, r.kernel_w, r.stride_w, r.dilation_w);
    uint32_t channels = pools ? in.channels : value(own).channels;
    if (Is(r, Kind::kDepthwise) && in.channels > 0) channels = std::max(1u, channels / in.channels) * in.channels;
    set_plane(own, height, width, channels);
    if (pools || r.input < inputs_) {
      if (!pools && do_it()) {  // a tensor has no columns beside it
        set16(stage_at(s, at_StageRecord::pad_left), 0);
        set_plane(own, height, r.stride_w == 0 || in.width < r.kernel_w ? 1 : (in.width - r.kernel_w) / r.stride_w + 1, channels);
      }
      return;
    }
    // The columns beside the rows that the windows look at.
    const uint32_t last = (value(own).width - 1u) * r.stride_w + (r.kernel_w - 1u) * r.dilation_w;
    if (do_it()) at_least16(value_at(r.input, at_ValueRecord::pad_left), r.pad_left);
    const uint32_t held = static_cast<uint32_t>(r.pad_left) + in.width;
    if (do_it() && last >= held) at_least16(value_at(r.input, at_ValueRecord::pad_right), std::min(last + 1 - held, 0xFFFFu));
  }

  // Rings and what stages need, one behind the other; tables that ran in place stay where they were.
  void memory() {
    uint32_t rows = 1;
    for (uint32_t s = 0; s < stages_; ++s) rows = std::max<uint32_t>(rows, HasWindow(record(s)) ? record(s).kernel_h : 1);
    uint8_t* h = c_.options.data();
    if (do_it() && rows < 64) set16(h + at_Header::rows_max, rows);
    uint64_t end = stages_ * kStateBytes + u16(h + at_Header::rows_max) * kRowBytes;
    const bool generous = dice_.below(3) == 0;
    for (uint32_t s = 0; s < stages_; ++s) {
      const uint32_t v = inputs_ + s;
      const bool is_last = s + 1 == stages_;
      const StageRecord r = record(s);
      if (is_last ? do_it() : u16(value_at(v, at_ValueRecord::ring_rows)) == 0) {
        set16(value_at(v, at_ValueRecord::ring_rows), is_last ? 0 : 1);
      }
      if (is_last) set16(value_at(v, at_ValueRecord::pad_left), 0), set16(value_at(v, at_ValueRecord::pad_right), 0);
      if (!is_last && generous) set16(value_at(v, at_ValueRecord::ring_rows), std::max<uint32_t>(1, value(v).height));
      if (!is_last) at_most16(value_at(v, at_ValueRecord::ring_rows), 64);
      const ValueRecord out = value(v), in = value(r.input);
      if (!is_last && Is(r, Kind::kTable) && r.input >= inputs_ && r.input < v && dice_.below(2)) {
        for (const uint32_t field : {at_ValueRecord::ring_rows, at_ValueRecord::pad_left, at_ValueRecord::pad_right}) {
          memcpy(value_at(v, field), value_at(r.input, field), 2);
        }
        memcpy(value_at(v, at_ValueRecord::ring_offset), value_at(r.input, at_ValueRecord::ring_offset), 4);
      } else if (!is_last) {
        set32(value_at(v, at_ValueRecord::ring_offset), end);
        end += (uint64_t{out.pad_left} + out.width + out.pad_right) * out.channels * out.ring_rows;
      }
      const bool sums = Sums(r);
      const bool segment = Convolves(r) && (r.scratch != kNoOffset || dice_.below(8) != 0);
      if (sums) end = (end + 3) / 4 * 4;
      if (sums || segment) set32(stage_at(s, at_StageRecord::scratch), end);
      if (sums) end += 4u * in.channels;
      if (segment) end += ((r.kernel_w - 1u) * r.dilation_w + 1u) * in.channels;
    }
    if (do_it()) set32(h + at_Header::scratch_bytes, end);
  }

  // Offsets into the constants that fit, multipliers and shifts in their ranges.
  void constants() {
    std::vector<uint8_t>& data = c_.constants;
    const auto room = [&](uint8_t* at, uint64_t bytes, uint32_t alignment) {
      if (bytes > kMostConstants || !do_it()) return false;
      if (data.size() < bytes + 4) data.resize(bytes + 4, static_cast<uint8_t>(dice_.below(256)));
      const uint64_t most = data.size() - bytes;
      if (u32(at) > most || u32(at) % alignment != 0) set32(at, dice_.below(static_cast<uint32_t>(most) + 1) / alignment * alignment);
      return true;
    };
    for (uint32_t s = 0; s < stages_; ++s) {
      const StageRecord r = record(s);
      if (r.input >= inputs_ + s) continue;
      const ValueRecord in = value(r.input), out = value(inputs_ + s);
      const bool depthwise = Is(r, Kind::kDepthwise);
      if (do_it()) parameters(s);
      if (Is(r, Kind::kTable)) room(stage_at(s, at_StageRecord::weights), 256, 1);
      if (Is(r, Kind::kMul) || Is(r, Kind::kAdd)) room(stage_at(s, at_StageRecord::bias), 4u * out.channels, 4);
      if (!depthwise && !Is(r, Kind::kConv)) continue;
      const uint64_t taps = uint64_t{r.kernel_h} * r.kernel_w;
      room(stage_at(s, at_StageRecord::weights), taps * out.channels * (depthwise ? 1 : in.channels) + (depthwise ? 0 : kBehindWeights), 1);
      room(stage_at(s, at_StageRecord::bias), 4u * out.channels, 4);
      room(stage_at(s, at_StageRecord::multipliers), 4u * out.channels, 4);
      if (!room(stage_at(s, at_StageRecord::shifts), out.channels, 1)) continue;
      quantization(s, out.channels);
    }
    if (do_it()) set32(c_.options.data() + at_Header::constants_bytes, data.size());
  }

  void parameters(uint32_t s) {
    for (const uint32_t field : {at_StageRecord::multiplier, at_StageRecord::input_multiplier, at_StageRecord::other_multiplier}) {
      *(stage_at(s, field) + 3) &= 0x7F;
    }
    for (const uint32_t field : {at_StageRecord::shift, at_StageRecord::input_shift, at_StageRecord::other_shift}) {
      shift(stage_at(s, field));
    }
  }

  void shift(uint8_t* at) {
    const int8_t value = static_cast<int8_t>(*at);
    if (value < -31 || value > 30) *at = static_cast<uint8_t>(static_cast<int>(dice_.below(62)) - 31);
  }

  void quantization(uint32_t s, uint32_t channels) {
    const StageRecord r = record(s);
    uint8_t* data = c_.constants.data();
    for (uint32_t c = 0; c < channels; ++c) {
      const uint64_t multiplier = uint64_t{r.multipliers} + 4 * c, at = uint64_t{r.shifts} + c;
      if (multiplier + 4 <= c_.constants.size()) data[multiplier + 3] &= 0x7F;
      if (at < c_.constants.size()) shift(data + at);
    }
    if (do_it() && dice_.below(4) != 0) *stage_at(s, at_StageRecord::plain) = 0;
  }

  void tensors() {
    const size_t constants_at = c_.tensors.size() - 2;
    for (uint32_t v = 0; v < inputs_ && v < constants_at; ++v) {
      if (!do_it()) continue;
      for (const uint32_t field : {at_ValueRecord::ring_rows, at_ValueRecord::pad_left, at_ValueRecord::pad_right}) {
        set16(value_at(v, field), 0);
      }
      tensor(v, value(v));
    }
    if (do_it()) tensor(constants_at + 1, value(inputs_ + stages_ - 1));
    if (do_it()) c_.tensors[constants_at] = {kInt8, {static_cast<int32_t>(c_.constants.size())}};
    if (do_it()) c_.constants_shift &= 0xFC;
  }

  void tensor(size_t t, const ValueRecord& v) { c_.tensors[t] = {kInt8, {1, v.height, v.width, v.channels}}; }

  Case& c_;
  Dice& dice_;
  uint32_t inputs_ = 0, stages_ = 0;
};

}  // namespace

void Repair(Case* c, Dice* dice) { Repairer(c, dice).all(); }
