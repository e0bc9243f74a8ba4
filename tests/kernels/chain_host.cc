// Runs chains under the sanitizers, in memory of exact size: as they are, and malformed by the thousand.
//   chain_host VECTORS MUTATIONS
#include <initializer_list>

#include "chain_check.h"
#include "chain_options.h"
#include "chain_run.h"
#include "vector.h"

namespace {

constexpr uint32_t kMostScratch = 1 << 20;  // a mutation that only asks for more is not worth its gigabytes

struct Counts {
  unsigned long run = 0, refused = 0, accepted = 0;
};

// Check, and run where the check accepts; the output, or null where it refuses or wants too much memory.
Exact* Try(const Bytes& options, const Bytes& constants, const Vector& v, size_t shift) {
  const Exact text(options.data, options.length, shift), data(constants.data, constants.length);
  uint32_t sizes[Vector::kInputs];
  for (uint32_t i = 0; i < v.count; ++i) sizes[i] = v.inputs[i].length;
  const TflfuseOperands operands = {sizes, v.count, data.ints(), constants.length, v.output.length};
  uint32_t scratch_bytes = 0;
  if (tflfuse_chain_check(text.bytes(), options.length, &operands, &scratch_bytes) != nullptr) return nullptr;
  if (scratch_bytes > kMostScratch) return nullptr;
  const Exact scratch(scratch_bytes);
  memset(scratch.bytes(), 0xA5, scratch_bytes);
  Exact* inputs[Vector::kInputs];
  const int8_t* pointers[Vector::kInputs];
  for (uint32_t i = 0; i < v.count; ++i) {
    inputs[i] = new Exact(v.inputs[i].data, v.inputs[i].length, 1);
    pointers[i] = inputs[i]->ints();
  }
  Exact* output = new Exact(v.output.length, 3);
  tflfuse_chain_run(text.bytes(), data.ints(), pointers, output->ints(), scratch.bytes());
  for (uint32_t i = 0; i < v.count; ++i) delete inputs[i];
  return output;
}

void RunAsItIs(const Vector& v, Counts* counts) {
  for (size_t shift = 0; shift < 4; ++shift) {
    Exact* output = Try(v.options, v.constants, v, shift);
    REQUIRE(output != nullptr);
    REQUIRE(memcmp(output->bytes(), v.output.data, v.output.length) == 0);
    delete output;
    ++counts->run;
  }
}

void Truncate(const Vector& v, Counts* counts) {
  for (uint32_t length = 0; length < v.options.length; ++length) {
    REQUIRE(Try({v.options.data, length}, v.constants, v, length % 4) == nullptr);
    ++counts->refused;
  }
}

// The operands do not match the options: every one of these is refused.
void WrongOperands(const Vector& v) {
  const Exact text(v.options.data, v.options.length, 1), data(v.constants.data, v.constants.length + 1);
  uint32_t sizes[Vector::kInputs + 1] = {};
  for (uint32_t i = 0; i < v.count; ++i) sizes[i] = v.inputs[i].length;
  const TflfuseOperands right = {sizes, v.count, data.ints(), v.constants.length, v.output.length};
  uint32_t scratch = 0;
  const auto refused = [&](const TflfuseOperands& operands) {
    return tflfuse_chain_check(text.bytes(), v.options.length, &operands, &scratch) != nullptr;
  };
  REQUIRE(!refused(right));
  for (uint32_t inputs : {0u, v.count - 1, v.count + 1, 255u}) {
    TflfuseOperands wrong = right;
    wrong.inputs = inputs;
    REQUIRE(refused(wrong));
  }
  for (uint32_t i = 0; i < v.count; ++i) {
    for (uint32_t size : {0u, sizes[i] - 1, sizes[i] + 1}) {
      const uint32_t before = sizes[i];
      sizes[i] = size;
      REQUIRE(refused(right));
      sizes[i] = before;
    }
  }
  for (int change : {-1, 1}) {
    TflfuseOperands wrong = right;
    wrong.output_bytes += static_cast<uint32_t>(change);
    REQUIRE(refused(wrong));
    wrong = right;
    wrong.constants_bytes += static_cast<uint32_t>(change);
    REQUIRE(refused(wrong));
  }
  TflfuseOperands wrong = right;
  wrong.constants = nullptr;
  REQUIRE(refused(wrong));
  for (int shift = 1; shift < 4; ++shift) {
    wrong.constants = data.ints() + shift;
    REQUIRE(refused(wrong));
  }
  REQUIRE(tflfuse_chain_check(nullptr, 0, &right, &scratch) != nullptr);
}

// The rings are as small as can be: one row less is one too few, whether it is read too late or not at all.
void ShrinkRings(const Vector& v, Counts* counts) {
  const tflfuse::Header header = tflfuse::ReadHeader(v.options.data);
  const uint32_t values = header.inputs + header.stages;
  for (uint32_t i = header.inputs; i + 1 < values; ++i) {
    const Exact options(v.options.data, v.options.length);
    uint8_t* rows = options.bytes() + tflfuse::kHeaderBytes + i * tflfuse::kValueRecordBytes +
                    tflfuse::at_ValueRecord::ring_rows;
    REQUIRE(rows[0] >= 1);
    --rows[0];
    REQUIRE(Try({options.bytes(), v.options.length}, v.constants, v, 0) == nullptr);
    ++counts->refused;
  }
}

// A byte, a number at the end of its range, a bit: in one place or in several.
void Mutate(const Bytes& bytes, Random* random) {
  for (uint32_t n = 1 + random->below(3); n > 0 && bytes.length > 0; --n) {
    uint8_t* at = bytes.data + random->below(bytes.length);
    const uint8_t ends[] = {0, 1, 0x7F, 0x80, 0xFF};
    switch (random->below(4)) {
      case 0: *at = static_cast<uint8_t>(random->below(256)); break;
      case 1: *at = static_cast<uint8_t>(*at + random->below(3) - 1u); break;
      case 2: *at = static_cast<uint8_t>(*at ^ (1u << random->below(8))); break;
      default: *at = ends[random->below(5)]; break;
    }
  }
}

void Malform(const Vector& v, unsigned mutations, Random* random, Counts* counts) {
  for (unsigned i = 0; i < mutations; ++i) {
    const Exact options(v.options.data, v.options.length), constants(v.constants.data, v.constants.length);
    Mutate({options.bytes(), v.options.length}, random);
    if (random->below(4) == 0) Mutate({constants.bytes(), v.constants.length}, random);
    Exact* output = Try({options.bytes(), v.options.length}, {constants.bytes(), v.constants.length}, v, i % 4);
    ++(output == nullptr ? counts->refused : counts->accepted);
    delete output;
  }
}

}  // namespace

int main(int argc, char** argv) {
  REQUIRE(argc == 3);
  Reader reader(argv[1]);
  Counts counts;
  Random random(1);
  for (Vector v; v.read(&reader); v.release(), v = Vector()) {
    RunAsItIs(v, &counts);
    Truncate(v, &counts);
    WrongOperands(v);
    ShrinkRings(v, &counts);
    Malform(v, static_cast<unsigned>(atoi(argv[2])), &random, &counts);
  }
  printf("%lu run, %lu refused, %lu accepted\n", counts.run, counts.refused, counts.accepted);
  return 0;
}
