// The chain operator on whatever a file may hold: Init, Prepare and, where that succeeds, Eval twice.
#include <stdio.h>
#include <stdlib.h>

#include <map>
#include <string>

#include "interpreter.h"
#include "records.h"

namespace {

constexpr double kMostWork = 2e7;  // multiplications in one Eval: what takes longer proves no more

struct Counts {
  unsigned long cases = 0, unread = 0, refused = 0, large = 0, evaluated = 0, refused_late = 0;
  std::map<std::string, unsigned long> messages;
};

Counts& counts() {
  static Counts* all = new Counts;  // outlives whoever prints it
  return *all;
}

void Print() {
  const Counts& n = counts();
  fprintf(stderr, "tflfuse: cases %lu, unreadable %lu, refused %lu, too large to run %lu, evaluated %lu, refused in Eval %lu\n",
          n.cases, n.unread, n.refused, n.large, n.evaluated, n.refused_late);
  for (const auto& [message, times] : n.messages) fprintf(stderr, "tflfuse: message %lu %s\n", times, message.c_str());
}

// Upper bound of the multiplications in one Eval.
double Work(const std::vector<uint8_t>& options) {
  using namespace tflfuse;
  const Header header = ReadHeader(options.data());
  double work = 0;
  for (uint32_t s = 0; s < header.stages; ++s) {
    const StageRecord stage = ReadStageRecord(options.data() + records::StageAt(header, s));
    const ValueRecord in = ReadValueRecord(options.data() + records::ValueAt(stage.input));
    const ValueRecord out = ReadValueRecord(options.data() + records::ValueAt(header.inputs + s));
    const double pixels = 1.0 * out.height * out.width * out.channels;
    const double window = records::HasWindow(stage) ? 1.0 * stage.kernel_h * stage.kernel_w : 1.0;
    work += pixels * window * (records::Is(stage, Kind::kConv) ? in.channels : 1) + 1.0 * in.height * in.width * in.channels;
  }
  return work;
}

void Run(const Case& c) {
  FuzzInterpreter interpreter(c);
  const TfLiteStatus prepared = interpreter.prepare();
  interpreter.require_unchanged();
  if (prepared != kTfLiteOk) {
    ++counts().refused;
    ++counts().messages[interpreter.message()];
    return;
  }
  if (!interpreter.has_memory() || Work(c.options) > kMostWork) {
    ++counts().large;
    return;
  }
  std::string outputs[2];
  for (std::string& output : outputs) {
    if (interpreter.eval(&output == outputs ? 0xA5 : 0x5A) != kTfLiteOk) {
      ++counts().refused_late;
      ++counts().messages[interpreter.message()];
      return;
    }
    output = interpreter.output();
  }
  ++counts().evaluated;
  REQUIRE(outputs[0] == outputs[1]);  // nothing that was in memory before shows
  interpreter.require_unchanged();
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  atexit(Print);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  ++counts().cases;
  Case c;
  if (c.parse(data, size)) {
    Run(c);
  } else {
    ++counts().unread;
  }
  return 0;
}
