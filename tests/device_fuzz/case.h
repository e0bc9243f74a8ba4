// What the fuzzer hands in: an operator's options, constants and tensors, and what its interpreter does wrong.
//
// 16 bytes of header (see Case), a byte with the number of tensors, of each a byte for its type, one for its rank and its
// dimensions as int32; then the options' length as u32, the options, and to the end the constants.
#ifndef TFLFUSE_TESTS_DEVICE_FUZZ_CASE_H_
#define TFLFUSE_TESTS_DEVICE_FUZZ_CASE_H_

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <vector>

// What an interpreter may lack or say that is not so.
enum class Spoil : uint8_t {
  kNothing,
  kNoInputs,        // node->inputs is null
  kNoOutputs,       // node->outputs is null
  kInputCount,      // node->inputs has value entries
  kOutputCount,     // node->outputs has value entries
  kInputNumber,     // operand which has the number value
  kOutputNumber,    // the output has the number value
  kNoDims,          // tensor which has no dims
  kNoData,          // tensor which has no data
  kNoDataAtEval,    // tensor which loses its data after Prepare
  kRank,            // tensor which has the rank value
  kNoTensor,        // GetEvalTensor does not know tensor which
  kMute,            // there is no ReportError
  kNoPersistent,    // there is no AllocatePersistentBuffer
  kNoScratch,       // there is no RequestScratchBufferInArena
  kNoOptions,       // Init gets null and value as the length
  kShortOptions,    // Init gets a length of value, where that is less than the options have
  kSpoils,
};

struct TensorSpec {
  uint8_t type;
  std::vector<int32_t> dims;
};

struct Case {
  static constexpr size_t kHeader = 16;
  static constexpr size_t kMostTensors = 20, kMostRank = 6;

  // How far behind a multiple of 16 things lie.
  uint8_t options_shift = 0, constants_shift = 0, input_shift = 0, output_shift = 0;
  uint8_t failing = 0;  // the allocation or look-up of memory that fails, from 1; 0: none
  uint8_t seed = 0;     // of the inputs' content
  uint8_t spoil = 0;    // a Spoil
  uint8_t which = 0;
  int32_t value = 0;
  std::vector<TensorSpec> tensors;  // inputs, constants, output
  std::vector<uint8_t> options, constants;

  bool parse(const uint8_t* data, size_t size);
  std::vector<uint8_t> bytes() const;
};

inline bool Case::parse(const uint8_t* data, size_t size) {
  if (size < kHeader + 1) return false;
  options_shift = data[0] % 16;
  constants_shift = data[1] % 16;
  input_shift = data[2] % 16;
  output_shift = data[3] % 16;
  failing = data[4];
  seed = data[5];
  spoil = data[6] % static_cast<uint8_t>(Spoil::kSpoils);
  which = data[7];
  memcpy(&value, data + 8, 4);
  size_t at = kHeader;
  const size_t count = data[at++];
  if (count < 2 || count > kMostTensors) return false;
  for (size_t t = 0; t < count; ++t) {
    if (size - at < 2) return false;
    TensorSpec tensor = {data[at], {}};
    const size_t rank = data[at + 1];
    at += 2;
    if (rank > kMostRank || size - at < 4 * rank) return false;
    tensor.dims.resize(rank);
    if (rank > 0) memcpy(tensor.dims.data(), data + at, 4 * rank);
    at += 4 * rank;
    tensors.push_back(tensor);
  }
  uint32_t length = 0;
  if (size - at < sizeof length) return false;
  memcpy(&length, data + at, sizeof length);
  at += sizeof length;
  if (size - at < length) return false;
  options.assign(data + at, data + at + length);
  constants.assign(data + at + length, data + size);
  return true;
}

inline std::vector<uint8_t> Case::bytes() const {
  std::vector<uint8_t> data = {options_shift, constants_shift, input_shift, output_shift, failing, seed, spoil, which};
  const auto append = [&data](const void* more, size_t size) {
    const uint8_t* begin = static_cast<const uint8_t*>(more);
    data.insert(data.end(), begin, begin + size);
  };
  append(&value, 4);
  data.resize(kHeader);
  data.push_back(static_cast<uint8_t>(tensors.size()));
  for (const TensorSpec& tensor : tensors) {
    data.push_back(tensor.type);
    data.push_back(static_cast<uint8_t>(tensor.dims.size()));
    append(tensor.dims.data(), 4 * tensor.dims.size());
  }
  const uint32_t length = static_cast<uint32_t>(options.size());
  append(&length, sizeof length);
  append(options.data(), options.size());
  append(constants.data(), constants.size());
  return data;
}

#endif  // TFLFUSE_TESTS_DEVICE_FUZZ_CASE_H_
