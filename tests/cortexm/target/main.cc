// Runs the programs of an image: fused operators through the real glue, the operators between them replayed.
// Ends with 0 where every output was what it should be, else with 1 and a line that says where.
#include "image.h"
#include "interpreter.h"
#include "semihosting.h"

using semihosting::Write;

namespace {

Interpreter interpreter;  // too large for the stack

bool RunStep(Words* words) {
  switch (static_cast<Step>(words->number())) {
    case Step::kLoad:
      interpreter.load(words->record<Load>());
      return true;
    case Step::kRun: {
      const Run run = words->record<Run>();
      TfLiteIntArray* inputs = words->numbers();
      return interpreter.run(run, inputs, words->numbers());
    }
  }
  return false;
}

}  // namespace

int main() {
  Words header(0);
  if (header.number() != kImageMagic) {
    Write("there is no image\n");
    return 2;
  }
  Words words(header.number());
  const uint32_t programs = header.number();
  for (uint32_t program = 0; program < programs; ++program) {
    interpreter.start(&words);
    const uint32_t steps = words.number();
    for (uint32_t step = 0; step < steps; ++step) {
      if (RunStep(&words)) continue;
      Write("in step ");
      Write(step);
      Write(" of program ");
      Write(program);
      Write("\n");
      return 1;
    }
  }
  Write("equal: ");
  Write(programs);
  Write(" programs\n");
  return 0;
}
