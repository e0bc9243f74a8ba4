// Drives the glue through a context of our own, under the sanitizers: what TFLM does, and what it may do wrong.
//   glue_host VECTORS
#include <stdarg.h>

#include <initializer_list>

#include "chain_check.h"
#include "tflfuse/fused_ops.h"
#include "vector.h"

namespace {

constexpr int kTensors = Vector::kInputs + 2;

// A TfLiteIntArray with room for every operand.
struct Numbers {
  int size;
  int data[kTensors + 2];
  TfLiteIntArray* array() { return reinterpret_cast<TfLiteIntArray*>(this); }
};

// An interpreter with one operator: its tensors, what it hands out and what it was told.
struct Fake {
  TfLiteContext context;
  TfLiteNode node;
  TfLiteEvalTensor tensors[kTensors];
  Numbers dims[kTensors], inputs, outputs;
  Exact* data[kTensors];
  Exact* persistent = nullptr;
  Exact* scratch = nullptr;
  Exact* options;
  int errors = 0;
  bool out_of_arena = false, no_tensors = false;
  uint32_t count;  // outside tensors; the constants are tensor count, the output is tensor count + 1

  explicit Fake(const Vector& v);
  ~Fake();

  TfLiteStatus prepare() {
    node.user_data =
        tflfuse::ChainInit(&context, reinterpret_cast<const char*>(options->bytes()), options->size());
    return tflfuse::ChainPrepare(&context, &node);
  }
  TfLiteEvalTensor& constants() { return tensors[count]; }
  TfLiteEvalTensor& output() { return tensors[count + 1]; }
};

Fake* fake_of(const TfLiteContext* context) { return static_cast<Fake*>(context->impl_); }

void ReportError(TfLiteContext* context, const char* format, ...) {
  char message[200];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  REQUIRE(strncmp(message, "TFLFUSE_CHAIN_1: ", 17) == 0 && strlen(message) > 25);
  ++fake_of(context)->errors;
}

void* AllocatePersistentBuffer(TfLiteContext* context, size_t bytes) {
  Fake* fake = fake_of(context);
  if (fake->out_of_arena) return nullptr;
  REQUIRE(fake->persistent == nullptr && bytes <= 32);
  fake->persistent = new Exact(bytes);
  return fake->persistent->bytes();
}

TfLiteStatus RequestScratchBufferInArena(TfLiteContext* context, size_t bytes, int* number) {
  Fake* fake = fake_of(context);
  if (fake->out_of_arena) return kTfLiteError;
  REQUIRE(fake->scratch == nullptr);
  fake->scratch = new Exact(bytes);
  *number = 7;
  return kTfLiteOk;
}

void* GetScratchBuffer(TfLiteContext* context, int number) {
  REQUIRE(number == 7);
  return fake_of(context)->out_of_arena ? nullptr : fake_of(context)->scratch->bytes();
}

TfLiteEvalTensor* GetEvalTensor(const TfLiteContext* context, int number) {
  Fake* fake = fake_of(context);
  REQUIRE(number >= 0 && number < kTensors);
  return fake->no_tensors ? nullptr : &fake->tensors[number];
}

Fake::Fake(const Vector& v) : context(), node(), tensors(), count(v.count) {
  context.impl_ = this;
  context.ReportError = ReportError;
  context.AllocatePersistentBuffer = AllocatePersistentBuffer;
  context.RequestScratchBufferInArena = RequestScratchBufferInArena;
  context.GetScratchBuffer = GetScratchBuffer;
  context.GetEvalTensor = GetEvalTensor;
  options = new Exact(v.options.data, v.options.length, 1);
  for (uint32_t i = 0; i < count + 2; ++i) {
    const Bytes& bytes = i < count ? v.inputs[i] : i == count ? v.constants : v.output;
    data[i] = new Exact(bytes.data, bytes.length);
    dims[i] = {2, {1, static_cast<int>(bytes.length)}};
    tensors[i].dims = dims[i].array();
    tensors[i].type = kTfLiteInt8;
    tensors[i].data.int8 = data[i]->ints();
    inputs.data[i] = static_cast<int>(i);
  }
  memset(output().data.int8, 0x55, v.output.length);
  inputs.size = static_cast<int>(count) + 1;
  outputs = {1, {static_cast<int>(count) + 1}};
  node.inputs = inputs.array();
  node.outputs = outputs.array();
}

Fake::~Fake() {
  for (uint32_t i = 0; i < count + 2; ++i) delete data[i];
  delete persistent;
  delete scratch;
  delete options;
}

void Runs(const Vector& v) {
  Fake fake(v);
  REQUIRE(fake.prepare() == kTfLiteOk);
  for (int again = 0; again < 2; ++again) {
    REQUIRE(tflfuse::ChainEval(&fake.context, &fake.node) == kTfLiteOk);
    REQUIRE(memcmp(fake.output().data.int8, v.output.data, v.output.length) == 0);
  }
  REQUIRE(fake.errors == 0);
}

// What spoils the interpreter before Init.
using Spoil = void (*)(Fake* fake);

const Spoil kSpoiled[] = {
    [](Fake* f) { f->out_of_arena = true; },
    [](Fake* f) { f->context.AllocatePersistentBuffer = nullptr; },
    [](Fake* f) { f->context.RequestScratchBufferInArena = nullptr; },
    [](Fake* f) { f->no_tensors = true; },
    [](Fake* f) { f->node.inputs = nullptr; },
    [](Fake* f) { f->node.outputs = nullptr; },
    [](Fake* f) { f->inputs.size = 0; },
    [](Fake* f) { f->inputs.size = 1; },
    [](Fake* f) { f->inputs.size = kTensors; },
    [](Fake* f) { f->inputs.size = INT32_MAX; },
    [](Fake* f) { f->inputs.size = -1; },
    [](Fake* f) { f->inputs.data[0] = -1; },
    [](Fake* f) { f->inputs.data[f->count] = -1; },
    [](Fake* f) { f->outputs.size = 0; },
    [](Fake* f) { f->outputs.size = 2; },
    [](Fake* f) { f->outputs.data[0] = -1; },
    [](Fake* f) { f->outputs.data[0] = f->inputs.data[f->count]; },
    [](Fake* f) { f->inputs.data[0] = f->outputs.data[0]; },
    [](Fake* f) { f->tensors[0].type = kTfLiteFloat32; },
    [](Fake* f) { f->tensors[0].dims = nullptr; },
    [](Fake* f) { f->constants().type = kTfLiteInt32; },
    [](Fake* f) { f->constants().dims = nullptr; },
    [](Fake* f) { f->constants().data.data = nullptr; },
    [](Fake* f) { ++f->constants().data.int8; },
    [](Fake* f) { f->output().type = kTfLiteInt32; },
    [](Fake* f) { f->output().dims = nullptr; },
    [](Fake* f) { ++f->dims[0].data[1]; },
    [](Fake* f) { f->dims[0].data[0] = -1; },
    [](Fake* f) { f->dims[0].data[0] = 0; },
    [](Fake* f) { f->dims[0] = {4, {1 << 16, 1 << 16, 1 << 16, 1 << 16}}; },
    [](Fake* f) { f->dims[0] = {3, {INT32_MAX, INT32_MAX, INT32_MAX}}; },
    [](Fake* f) { f->dims[0].size = INT32_MIN; },
    [](Fake* f) { f->dims[0] = {9, {1, f->dims[0].data[1], 1, 1, 1, 1, 1, 1, 1}}; },
    [](Fake* f) { ++f->dims[f->count].data[1]; },
    [](Fake* f) { ++f->dims[f->count + 1].data[1]; },
    [](Fake* f) { f->options->bytes()[0] ^= 1; },
};

void IsToldWhatIsWrong(const Vector& v) {
  for (const Spoil spoil : kSpoiled) {
    for (const bool can_tell : {true, false}) {
      Fake fake(v);
      spoil(&fake);
      if (!can_tell) fake.context.ReportError = nullptr;
      REQUIRE(fake.prepare() == kTfLiteError);
      REQUIRE(fake.errors == (can_tell ? 1 : 0));
    }
  }
}

// Options that are null or too short, as the file may have them.
void OptionsAreMissing(const Vector& v) {
  for (const size_t length : {size_t{0}, size_t{1}, size_t{17}}) {
    Fake fake(v);
    fake.node.user_data = tflfuse::ChainInit(&fake.context, nullptr, length);
    REQUIRE(tflfuse::ChainPrepare(&fake.context, &fake.node) == kTfLiteError && fake.errors == 1);
  }
}

// Memory that is missing only when it is time to compute.
void EvalMissesMemory(const Vector& v) {
  const Spoil spoiled[] = {
      [](Fake* f) { f->out_of_arena = true; },
      [](Fake* f) { f->tensors[0].data.data = nullptr; },
      [](Fake* f) { f->constants().data.data = nullptr; },
      [](Fake* f) { f->output().data.data = nullptr; },
  };
  for (const Spoil spoil : spoiled) {
    Fake fake(v);
    REQUIRE(fake.prepare() == kTfLiteOk);
    spoil(&fake);
    REQUIRE(tflfuse::ChainEval(&fake.context, &fake.node) == kTfLiteError && fake.errors == 1);
  }
}

// Resolvers as the Arduino library and as today's TFLM have them, and how they keep what they are given.
struct OldRegistration {
  void* (*init)(TfLiteContext*, const char*, size_t);
  void (*free)(TfLiteContext*, void*);
  TfLiteStatus (*prepare)(TfLiteContext*, TfLiteNode*);
  TfLiteStatus (*invoke)(TfLiteContext*, TfLiteNode*);
  const char* (*profiling_string)(const TfLiteContext*, const TfLiteNode*);
  int32_t builtin_code;
  const char* custom_name;
  int version;
};

template <typename Registration>
struct Resolver {
  Registration kept;
  const char* name;
  TfLiteStatus AddCustom(const char* n, Registration* registration) {
    kept = *registration;
    name = n;
    return kTfLiteOk;
  }
};

template <typename Registration>
struct ConstResolver {
  Registration kept;
  const char* name;
  TfLiteStatus AddCustom(const char* n, const Registration* registration) {
    kept = *registration;
    name = n;
    return kTfLiteOk;
  }
};

struct AllOpsResolver : ConstResolver<OldRegistration> {};

template <typename R>
void Registers() {
  R resolver = {};
  REQUIRE(tflfuse::AddFusedOps(resolver) == kTfLiteOk);
  REQUIRE(strcmp(resolver.name, "TFLFUSE_CHAIN_1") == 0);
  REQUIRE(resolver.kept.init == tflfuse::ChainInit && resolver.kept.prepare == tflfuse::ChainPrepare);
  REQUIRE(resolver.kept.invoke == tflfuse::ChainEval && resolver.kept.free == nullptr);
}

}  // namespace

int main(int argc, char** argv) {
  REQUIRE(argc == 2);
  Registers<Resolver<OldRegistration>>();
  Registers<ConstResolver<OldRegistration>>();
  Registers<AllOpsResolver>();
  Reader reader(argv[1]);
  int vectors = 0;
  for (Vector v; v.read(&reader); v.release(), v = Vector(), ++vectors) {
    Runs(v);
    IsToldWhatIsWrong(v);
    OptionsAreMissing(v);
    EvalMissesMemory(v);
  }
  printf("%d\n", vectors);
  return 0;
}
