// As much of an interpreter as the glue sees: tensors in an arena, scratch memory behind it.
#ifndef TFLFUSE_TESTS_CORTEXM_INTERPRETER_H_
#define TFLFUSE_TESTS_CORTEXM_INTERPRETER_H_

#include "image.h"

class Interpreter {
 public:
  // Reads the size of the arena, then for each tensor whether it is constant, where it lies, and its shape.
  void start(Words* words);

  void load(const Load& load);
  // Init, Prepare and Eval, the latter two between marks. Prints the bytes of stack that each of them took, and what is
  // wrong where this returns false.
  bool run(const Run& run, TfLiteIntArray* inputs, TfLiteIntArray* outputs);

 private:
  static constexpr uint32_t kTensors = 512;

  static Interpreter* of(const TfLiteContext* context) { return static_cast<Interpreter*>(context->impl_); }
  static void ReportError(TfLiteContext* context, const char* format, ...);
  static void* AllocatePersistentBuffer(TfLiteContext* context, size_t bytes);
  static TfLiteStatus RequestScratchBufferInArena(TfLiteContext* context, size_t bytes, int* number);
  static void* GetScratchBuffer(TfLiteContext* context, int number);
  static TfLiteEvalTensor* GetEvalTensor(const TfLiteContext* context, int number);

  bool matches(const TfLiteEvalTensor& tensor, const Span& expected) const;

  TfLiteContext context_ = {};
  TfLiteEvalTensor tensors_[kTensors] = {};
  uint32_t arena_bytes_ = 0;
  uint32_t tensor_count_ = 0;
  uint32_t scratch_bytes_ = 0;
  uint32_t persistent_bytes_ = 0;
};

#endif  // TFLFUSE_TESTS_CORTEXM_INTERPRETER_H_
