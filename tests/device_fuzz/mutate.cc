// Changes a Case as a file might be changed: single fields of its records, stages put in and taken out, tensors,
// constants; then mostly puts right what would be refused at once, so that the rest is looked at.
#include <algorithm>
#include <initializer_list>

#include "case.h"
#include "fields.h"
#include "records.h"
#include "repair.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t most);

namespace {

using namespace records;
using namespace tflfuse;

constexpr size_t kMostOptions = 1500, kMostConstants = 8192;

uint64_t Get(const uint8_t* at, uint32_t size) {
  uint64_t value = 0;
  memcpy(&value, at, size);
  return value;
}

void Put(uint8_t* at, uint32_t size, uint64_t value) { memcpy(at, &value, size); }

// The records' beginning and the fields in them.
struct Place {
  size_t begin;
  size_t record;  // bytes from record to record
  size_t records;
  const Field* fields;
  size_t count;
};

Place PlaceOf(const Case& c, Dice* dice) {
  const Header header = ReadHeader(c.options.data());
  const size_t values = header.inputs + header.stages;
  switch (dice->below(8)) {
    case 0: return {0, kHeaderBytes, 1, kHeaderFields, Count(kHeaderFields)};
    case 1:
    case 2: return {kHeaderBytes, kValueRecordBytes, values, kValueRecordFields, Count(kValueRecordFields)};
    default: break;
  }
  return {kHeaderBytes + values * kValueRecordBytes, kStageRecordBytes, header.stages, kStageRecordFields,
          Count(kStageRecordFields)};
}

// One number in the options: the ends of its range, a little more or less, twice, half, that of another record.
void ChangeField(Case* c, Dice* dice) {
  const Place place = PlaceOf(*c, dice);
  if (place.records == 0) return;
  const Field field = place.fields[dice->below(static_cast<uint32_t>(place.count))];
  const auto at = [&](size_t record) { return place.begin + record * place.record + field.at; };
  const size_t own = at(dice->below(static_cast<uint32_t>(place.records)));
  const size_t other = at(dice->below(static_cast<uint32_t>(place.records)));
  if (std::max(own, other) + field.size > c->options.size()) return;
  const uint64_t ends[] = {0, 1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 127, 128, 255, 256, 0x3FFF, 0x7FFF, 0x8000, 0xFFFF,
                           1u << 23, (1u << 23) + 1, 1u << 30, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF};
  uint8_t* number = c->options.data() + own;
  const uint64_t before = Get(number, field.size);
  switch (dice->below(7)) {
    case 0: return Put(number, field.size, ends[dice->below(sizeof ends / sizeof *ends)]);
    case 1: return Put(number, field.size, before + 1);
    case 2: return Put(number, field.size, before - 1);
    case 3: return Put(number, field.size, dice->below(2) ? before * 2 : before / 2);
    case 4: return Put(number, field.size, Get(c->options.data() + other, field.size));
    case 5: return Put(number, field.size, before ^ (1u << dice->below(8 * field.size)));
    default: return Put(number, field.size, dice->below(20));
  }
}

// A stage's record taken out, put in once more or exchanged, with the value that it makes.
void ChangeStages(Case* c, Dice* dice) {
  Header header = ReadHeader(c->options.data());
  if (header.stages == 0 || c->options.size() != OptionsBytes(header)) return;
  const uint32_t s = dice->below(header.stages), t = dice->below(header.stages);
  std::vector<uint8_t>& o = c->options;
  const auto value = [&](uint32_t n) { return kHeaderBytes + (header.inputs + n) * kValueRecordBytes; };
  const auto stage = [&](uint32_t n) { return value(header.stages) + n * kStageRecordBytes; };
  const auto cut = [&o](size_t at, size_t n) { return std::vector<uint8_t>(o.begin() + long(at), o.begin() + long(at + n)); };
  const auto value_bytes = cut(value(s), kValueRecordBytes), stage_bytes = cut(stage(s), kStageRecordBytes);
  switch (dice->below(3)) {
    case 0:
      if (header.stages == 1) return;
      o.erase(o.begin() + long(stage(s)), o.begin() + long(stage(s) + kStageRecordBytes));
      o.erase(o.begin() + long(value(s)), o.begin() + long(value(s) + kValueRecordBytes));
      o[at_Header::stages] = static_cast<uint8_t>(header.stages - 1);
      return;
    case 1:
      if (o.size() > kMostOptions || header.stages == 255) return;
      o.insert(o.begin() + long(stage(t)), stage_bytes.begin(), stage_bytes.end());
      o.insert(o.begin() + long(value(t)), value_bytes.begin(), value_bytes.end());
      o[at_Header::stages] = static_cast<uint8_t>(header.stages + 1);
      return;
    default:
      std::swap_ranges(o.begin() + long(stage(s)), o.begin() + long(stage(s) + kStageRecordBytes), o.begin() + long(stage(t)));
  }
}

// An outside tensor more or less, with its value.
void ChangeInputs(Case* c, Dice* dice) {
  Header header = ReadHeader(c->options.data());
  if (header.inputs == 0 || c->options.size() != OptionsBytes(header) || c->tensors.size() < 3) return;
  std::vector<uint8_t>& o = c->options;
  const auto begin = o.begin() + kHeaderBytes;
  if (dice->below(2) && c->tensors.size() < Case::kMostTensors && header.inputs < 20) {
    const std::vector<uint8_t> first(begin, begin + kValueRecordBytes);
    o.insert(begin, first.begin(), first.end());
    c->tensors.insert(c->tensors.begin(), c->tensors.front());
    o[at_Header::inputs] = static_cast<uint8_t>(header.inputs + 1);
  } else if (header.inputs > 1) {
    o.erase(begin, begin + kValueRecordBytes);
    c->tensors.erase(c->tensors.begin());
    o[at_Header::inputs] = static_cast<uint8_t>(header.inputs - 1);
  }
}

void ChangeTensor(Case* c, Dice* dice) {
  TensorSpec& tensor = c->tensors[dice->below(static_cast<uint32_t>(c->tensors.size()))];
  const int32_t ends[] = {-1, 0, 1, 2, 255, 65535, 65536, 1 << 20, INT32_MAX, INT32_MIN};
  switch (dice->below(4)) {
    case 0: tensor.type = static_cast<uint8_t>(dice->below(16)); return;
    case 1: tensor.dims.resize(dice->below(Case::kMostRank + 1), 1); return;
    default: break;
  }
  if (tensor.dims.empty()) return;
  int32_t& n = tensor.dims[dice->below(static_cast<uint32_t>(tensor.dims.size()))];
  n = dice->below(2) ? ends[dice->below(sizeof ends / sizeof *ends)]
                     : static_cast<int32_t>(static_cast<uint32_t>(n) + dice->below(3) - 1u);
}

void ChangeSurroundings(Case* c, Dice* dice) {
  const auto shift = [dice] { return static_cast<uint8_t>(dice->below(16)); };
  c->spoil = static_cast<uint8_t>(dice->below(3) ? 0 : dice->below(static_cast<uint32_t>(Spoil::kSpoils)));
  c->which = static_cast<uint8_t>(dice->below(20));
  const int32_t ends[] = {-1, 0, 1, 2, 3, 16, 17, 18, 64, 65, INT32_MAX, INT32_MIN};
  c->value = ends[dice->below(sizeof ends / sizeof *ends)];
  c->failing = static_cast<uint8_t>(dice->below(3) ? 0 : dice->below(6));
  c->seed = static_cast<uint8_t>(dice->below(256));
  c->options_shift = shift();
  c->input_shift = shift();
  c->output_shift = shift();
  c->constants_shift = static_cast<uint8_t>(dice->below(4) ? 4 * dice->below(4) : shift());
}

// As libFuzzer changes bytes, their number kept.
void ChangeBytes(std::vector<uint8_t>* bytes, Dice* dice) {
  if (bytes->empty()) return;
  const size_t begin = dice->below(static_cast<uint32_t>(bytes->size()));
  const size_t length = std::min<size_t>(bytes->size() - begin, 1 + dice->below(8));
  std::vector<uint8_t> part(bytes->begin() + long(begin), bytes->begin() + long(begin + length));
  LLVMFuzzerMutate(part.data(), length, length);
  std::copy(part.begin(), part.end(), bytes->begin() + long(begin));
}

void Change(Case* c, Dice* dice) {
  switch (dice->below(16)) {
    case 0: return ChangeStages(c, dice);
    case 1: return ChangeInputs(c, dice);
    case 2: return ChangeTensor(c, dice);
    case 3: return ChangeSurroundings(c, dice);
    case 4: return ChangeBytes(&c->constants, dice);
    case 5: return ChangeBytes(&c->options, dice);
    case 6: c->constants.resize(dice->below(2) ? dice->below(kMostConstants) : c->constants.size() + dice->below(9)); return;
    default: return ChangeField(c, dice);
  }
}

}  // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t most, unsigned seed) {
  Dice dice(seed);
  Case c;
  if (!c.parse(data, size) || c.options.size() < kHeaderBytes || dice.below(50) == 0) {
    return LLVMFuzzerMutate(data, size, most);
  }
  for (uint32_t changes = 1 + dice.below(4); changes > 0; --changes) {
    Change(&c, &dice);
    if (c.options.size() < kHeaderBytes) break;
  }
  if (dice.below(6) != 0) Repair(&c, &dice);
  const std::vector<uint8_t> bytes = c.bytes();
  if (bytes.size() > most) return LLVMFuzzerMutate(data, size, most);
  memcpy(data, bytes.data(), bytes.size());
  return bytes.size();
}
