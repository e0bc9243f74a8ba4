// Runs chains from standard input, laid out as tests/kernels/vector.h says, each twice: with all its memory right
// behind memory that must not be touched, and right in front of such. Ends with 1 and a line that says why where a
// chain could not be run; else prints how many outputs were not what they should be, a hash of all, and what was
// executed.
#include <stdint.h>
#include <string.h>

#include "chain_check.h"
#include "chain_run.h"
#include "counters.h"
#include "system.h"

using system_call::Write;

namespace {

constexpr uint32_t kInputs = 16;
constexpr uint32_t kPage = 1 << 16;
constexpr uint32_t kUsable = 1 << 22;
constexpr uint32_t kBeside = 256;  // bytes beside the output that are watched
constexpr uint8_t kUntouched = 0xC3;

[[noreturn]] void Fail(const char* sentence, uint32_t chain) {
  Write(sentence);
  Write(", in chain ");
  Write(chain);
  Write("\n");
  system_call::Exit(1);
}

// Memory between pages that must not be touched.
class Region {
 public:
  void create() {
    uint8_t* reserved = system_call::Reserve(kUsable + 2 * kPage);
    begin_ = reserved + kPage;
    if (!system_call::Open(begin_, kUsable)) Fail("there is no memory", 0);
  }
  // n bytes at one end of it, at a multiple of the alignment.
  uint8_t* place(uint32_t n, bool at_end, uint32_t alignment = 1) const {
    if (n > kUsable - kBeside) return nullptr;
    return at_end ? begin_ + (kUsable - n) / alignment * alignment : begin_;
  }

 private:
  uint8_t* begin_ = nullptr;
};

struct Bytes {
  const uint8_t* data;
  uint32_t length;

  uint8_t* copy_to(const Region& region, bool at_end, uint32_t alignment = 1) const {
    uint8_t* target = region.place(length, at_end, alignment);
    if (target != nullptr) memcpy(target, data, length);
    return target;
  }
};

// What was read, from the front.
class Reader {
 public:
  Reader(const uint8_t* begin, uint32_t length) : at_(begin), end_(begin + length) {}

  bool is_at_end() const { return at_ == end_; }
  uint32_t number() {
    uint32_t value;
    memcpy(&value, take(sizeof value), sizeof value);
    return value;
  }
  Bytes string() {
    const uint32_t length = number();
    return {take(length), length};
  }

 private:
  const uint8_t* take(uint32_t n) {
    if (n > static_cast<uint32_t>(end_ - at_)) Fail("the input ends too early", 0);
    at_ += n;
    return at_ - n;
  }
  const uint8_t* at_;
  const uint8_t* end_;
};

struct Regions {
  Region options, constants, inputs[kInputs], output, scratch;

  void create() {
    options.create();
    constants.create();
    output.create();
    scratch.create();
    for (Region& region : inputs) region.create();
  }
};

alignas(8) uint8_t text[1 << 24];
Regions regions;
uint32_t digest = 2166136261u;  // FNV-1a
uint32_t differing = 0;

struct Total {
  uint64_t packets = 0, instructions = 0, vector_instructions = 0;
};

struct Chain {
  uint32_t number, count;
  Bytes options, constants, inputs[kInputs], expected;
};

void CheckOutput(const Chain& chain, const uint8_t* output, bool at_end) {
  const uint8_t* beside = at_end ? output - kBeside : output + chain.expected.length;
  for (uint32_t i = 0; i < kBeside; ++i) {
    if (beside[i] != kUntouched) Fail("bytes beside the output were written", chain.number);
  }
  for (uint32_t i = 0; i < chain.expected.length; ++i) digest = (digest ^ output[i]) * 16777619u;
  if (memcmp(output, chain.expected.data, chain.expected.length) != 0) ++differing;
}

void RunOnce(const Chain& chain, bool at_end, Total* total) {
  const uint8_t* options = chain.options.copy_to(regions.options, at_end);
  const void* constants = chain.constants.copy_to(regions.constants, at_end, 16);
  const int8_t* inputs[kInputs];
  uint32_t sizes[kInputs];
  for (uint32_t i = 0; i < chain.count; ++i) {
    const void* input = chain.inputs[i].copy_to(regions.inputs[i], at_end);
    if (input == nullptr) Fail("an input is too large", chain.number);
    inputs[i] = static_cast<const int8_t*>(input);
    sizes[i] = chain.inputs[i].length;
  }
  const TflfuseOperands operands = {sizes, chain.count, static_cast<const int8_t*>(constants), chain.constants.length,
                                    chain.expected.length};
  uint32_t scratch_bytes = 0;
  const char* wrong = tflfuse_chain_check(options, chain.options.length, &operands, &scratch_bytes);
  if (wrong != nullptr) Fail(wrong, chain.number);
  uint8_t* scratch = regions.scratch.place(scratch_bytes, at_end, 16);
  uint8_t* output = regions.output.place(chain.expected.length, at_end);
  if (options == nullptr || constants == nullptr || scratch == nullptr || output == nullptr) {
    Fail("something is too large", chain.number);
  }
  memset(scratch, kUntouched, scratch_bytes);
  memset(at_end ? output - kBeside : output, kUntouched, chain.expected.length + kBeside);
  void* const result = output;
  const Counters begin = Counters::Now();
  tflfuse_chain_run(options, operands.constants, inputs, static_cast<int8_t*>(result), scratch);
  const Counters end = Counters::Now();
  total->packets += end.packets - begin.packets;
  total->instructions += end.instructions - begin.instructions;
  total->vector_instructions += end.vector_instructions - begin.vector_instructions;
  CheckOutput(chain, output, at_end);
}

void Print(const char* what, uint64_t number) {
  Write(what);
  Write(" ");
  Write(number);
  Write("\n");
}

}  // namespace

int main() {
  uint32_t length = 0;
  for (int32_t n = 1; n > 0; length += static_cast<uint32_t>(n)) {
    n = system_call::Read(text + length, sizeof text - length);
  }
  if (length == sizeof text) Fail("the input is too long", 0);
  regions.create();
  Total total;
  uint32_t chains = 0;
  for (Reader reader(text, length); !reader.is_at_end(); ++chains) {
    Chain chain;
    chain.number = chains;
    chain.count = reader.number();
    if (chain.count > kInputs) Fail("too many inputs", chains);
    chain.options = reader.string();
    chain.constants = reader.string();
    for (uint32_t i = 0; i < chain.count; ++i) chain.inputs[i] = reader.string();
    chain.expected = reader.string();
    RunOnce(chain, false, &total);
    RunOnce(chain, true, &total);
  }
  Print("chains", chains);
  Print("differing", differing);
  Print("digest", digest);
  Print("packets", total.packets / 2);
  Print("instructions", total.instructions / 2);
  Print("vector instructions", total.vector_instructions / 2);
  return 0;
}
