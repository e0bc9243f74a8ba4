#include "chain_check.h"

#include "chain_records.h"
#include "chain_replay.h"
#include "chain_view.h"
#include "expect.h"

namespace tflfuse {
namespace {

const char* CheckHeader(const uint8_t* options, uint32_t length) {
  TFLFUSE_EXPECT(options != nullptr && length >= kHeaderBytes, "the options are too short");
  const Header header = ReadHeader(options);
  TFLFUSE_EXPECT(header.magic == kMagic, "the options are not those of a chain");
  TFLFUSE_EXPECT(header.version == kVersion, "the options are of another version");
  TFLFUSE_EXPECT(header.batch == 1, "the batch is not 1");
  TFLFUSE_EXPECT(header.inputs >= 1 && header.inputs <= kMaxInputs, "the number of inputs is out of range");
  TFLFUSE_EXPECT(header.stages >= 1 && header.stages <= kMaxStages, "the number of stages is out of range");
  TFLFUSE_EXPECT(length == OptionsBytes(header), "the options have the wrong length");
  TFLFUSE_EXPECT(header.scratch_bytes <= INT32_MAX && header.scratch_bytes >= ScratchBegin(header),
                 "the scratch memory is too small or too large");
  return nullptr;
}

const char* CheckOperands(const Header& header, const TflfuseOperands& operands) {
  TFLFUSE_EXPECT(operands.inputs == header.inputs, "the number of inputs is not that of the options");
  TFLFUSE_EXPECT(operands.constants_bytes == header.constants_bytes, "the constants have the wrong size");
  TFLFUSE_EXPECT(operands.constants != nullptr, "the last operand is no constant");
  TFLFUSE_EXPECT(reinterpret_cast<uintptr_t>(operands.constants) % 4 == 0, "the constants are not aligned to 4 bytes");
  return nullptr;
}

}  // namespace
}  // namespace tflfuse

extern "C" const char* tflfuse_chain_check(const uint8_t* options, uint32_t length, const TflfuseOperands* operands,
                                           uint32_t* scratch_bytes) {
  using namespace tflfuse;
  TFLFUSE_EXPECT_NULL(CheckHeader(options, length));
  TFLFUSE_EXPECT_NULL(CheckOperands(ReadHeader(options), *operands));
  TFLFUSE_EXPECT_NULL(tflfuse_chain_records(options, operands));
  TFLFUSE_EXPECT(tflfuse_chain_replay(options), "a ring is too small");
  *scratch_bytes = ReadHeader(options).scratch_bytes;
  return nullptr;
}
