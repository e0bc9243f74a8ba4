#include "interpreter.h"

#include <stdarg.h>
#include <string.h>

#include "marks.h"
#include "semihosting.h"
#include "tflfuse/fused_ops.h"

using semihosting::Write;

extern "C" uint8_t arena[], stack_bottom[];

namespace {

constexpr uint32_t kArenaMost = ARENA_BYTES;
constexpr uint8_t kUnused = 0xC5;
constexpr int kScratchNumber = 3;

alignas(16) uint8_t persistent[64];

uint32_t Aligned(uint32_t bytes) { return (bytes + 15) & ~15u; }

// Fill the stack below the caller's frame, to see later how much of it was written.
__attribute__((always_inline)) inline uint8_t* PaintStack() {
  uint8_t* here;
  __asm__ volatile("mov %0, sp" : "=r"(here));
  for (volatile uint8_t* at = stack_bottom; at < here; ++at) *at = kUnused;
  return here;
}

void PrintStack(const char* what, const uint8_t* top) {
  const uint8_t* deepest = stack_bottom;
  while (deepest < top && *deepest == kUnused) ++deepest;
  Write(what);
  Write(static_cast<uint32_t>(top - deepest));
  Write("\n");
}

}  // namespace

void Interpreter::start(Words* words) {
  arena_bytes_ = words->number();
  tensor_count_ = words->number();
  context_.impl_ = this;
  context_.ReportError = ReportError;
  context_.AllocatePersistentBuffer = AllocatePersistentBuffer;
  context_.RequestScratchBufferInArena = RequestScratchBufferInArena;
  context_.GetScratchBuffer = GetScratchBuffer;
  context_.GetEvalTensor = GetEvalTensor;
  if (arena_bytes_ > kArenaMost || tensor_count_ > kTensors) {
    Write("the program is too large\n");
    semihosting::Exit(2);
  }
  memset(arena, kUnused, arena_bytes_);
  for (uint32_t i = 0; i < tensor_count_; ++i) {
    const bool constant = words->number() != 0;
    const uint32_t offset = words->number();
    tensors_[i].data.data = const_cast<uint8_t*>(constant ? image + offset : arena + offset);
    tensors_[i].type = kTfLiteInt8;
    tensors_[i].dims = words->numbers();
  }
}

void Interpreter::load(const Load& load) {
  memcpy(tensors_[load.tensor].data.data, load.value.data(), load.value.length);
}

bool Interpreter::run(const Run& run, TfLiteIntArray* inputs, TfLiteIntArray* outputs) {
  TfLiteNode node = {};
  node.inputs = inputs;
  node.outputs = outputs;
  const void* options = run.options.data();
  persistent_bytes_ = scratch_bytes_ = 0;
  node.user_data = tflfuse::ChainInit(&context_, static_cast<const char*>(options), run.options.length);

  uint8_t* top = PaintStack();
  BeginSpan(arena);
  const TfLiteStatus prepared = tflfuse::ChainPrepare(&context_, &node);
  EndSpan();
  PrintStack("stack of Prepare ", top);
  if (prepared != kTfLiteOk) return false;

  uint8_t* scratch = arena + Aligned(arena_bytes_);
  memset(scratch, kUnused, scratch_bytes_);
  top = PaintStack();
  BeginSpan(scratch);
  const TfLiteStatus computed = tflfuse::ChainEval(&context_, &node);
  EndSpan();
  PrintStack("stack of Eval ", top);
  return computed == kTfLiteOk && matches(tensors_[outputs->data[0]], run.expected);
}

bool Interpreter::matches(const TfLiteEvalTensor& tensor, const Span& expected) const {
  const uint8_t* got = static_cast<const uint8_t*>(tensor.data.data);
  for (uint32_t i = 0; i < expected.length; ++i) {
    if (got[i] == expected.data()[i]) continue;
    Write("differs at byte ");
    Write(i);
    Write(" of ");
    Write(expected.length);
    Write(": got ");
    Write(got[i]);
    Write(", expected ");
    Write(expected.data()[i]);
    Write("\n");
    return false;
  }
  return true;
}

// The glue's format is "%s: %s".
void Interpreter::ReportError(TfLiteContext*, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  for (const char* at = strchr(format, '%'); at != nullptr; at = strchr(at + 1, '%')) {
    Write(va_arg(arguments, const char*));
    Write(" ");
  }
  va_end(arguments);
  Write("\n");
}

void* Interpreter::AllocatePersistentBuffer(TfLiteContext* context, size_t bytes) {
  uint32_t& used = of(context)->persistent_bytes_;
  if (used + bytes > sizeof persistent) return nullptr;
  used += Aligned(bytes);
  return persistent + used - Aligned(bytes);
}

TfLiteStatus Interpreter::RequestScratchBufferInArena(TfLiteContext* context, size_t bytes, int* number) {
  Interpreter* self = of(context);
  if (self->scratch_bytes_ != 0 || Aligned(self->arena_bytes_) + bytes > kArenaMost) return kTfLiteError;
  self->scratch_bytes_ = bytes;
  *number = kScratchNumber;
  return kTfLiteOk;
}

void* Interpreter::GetScratchBuffer(TfLiteContext* context, int number) {
  return number == kScratchNumber ? arena + Aligned(of(context)->arena_bytes_) : nullptr;
}

TfLiteEvalTensor* Interpreter::GetEvalTensor(const TfLiteContext* context, int number) {
  Interpreter* self = of(context);
  return number >= 0 && static_cast<uint32_t>(number) < self->tensor_count_ ? &self->tensors_[number] : nullptr;
}
