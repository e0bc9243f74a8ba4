// An interpreter with one operator, made of a Case: TFLM's C structures, and memory of exact size for every tensor.
#ifndef TFLFUSE_TESTS_DEVICE_FUZZ_INTERPRETER_H_
#define TFLFUSE_TESTS_DEVICE_FUZZ_INTERPRETER_H_

#include <memory>
#include <string>
#include <vector>

#include "../kernels/host.h"
#include "case.h"
#include "tensorflow/lite/c/common.h"

class FuzzInterpreter {
 public:
  static constexpr uint64_t kMostBytes = 1 << 20;  // of a tensor or of scratch memory: what larger ones ask for is not there

  explicit FuzzInterpreter(const Case& c);

  // Init and Prepare. Whatever goes wrong must be told in one sentence, if there is a way to tell.
  TfLiteStatus prepare();
  // Eval, with memory that holds this byte before.
  TfLiteStatus eval(uint8_t fill);
  // Whether every tensor has memory, so that Eval could be asked for.
  bool has_memory() const { return has_memory_; }
  std::string output() const;
  // That nothing was written where there is only to be read.
  void require_unchanged() const;
  const std::string& message() const { return message_; }

 private:
  struct Memory {
    std::unique_ptr<Exact> exact;
    std::string before;
  };

  static FuzzInterpreter* of(const TfLiteContext* context) { return static_cast<FuzzInterpreter*>(context->impl_); }
  static void ReportError(TfLiteContext* context, const char* format, ...);
  static void* AllocatePersistentBuffer(TfLiteContext* context, size_t bytes);
  static TfLiteStatus RequestScratchBufferInArena(TfLiteContext* context, size_t bytes, int* number);
  static void* GetScratchBuffer(TfLiteContext* context, int number);
  static TfLiteEvalTensor* GetEvalTensor(const TfLiteContext* context, int number);

  // TFLM's arrays have their size in front; null where the spoil says so.
  TfLiteIntArray* array(const int* data, size_t held, int size);
  void make_tensor(size_t t, bool is_output);
  bool spoils(Spoil spoil) const { return c_.spoil == static_cast<uint8_t>(spoil); }
  bool spoils(Spoil spoil, size_t t) const { return spoils(spoil) && c_.which % c_.tensors.size() == t; }
  bool fails() { return ++calls_ == c_.failing; }
  // What a call returned and said; ends the program where the two do not belong together.
  TfLiteStatus checked(TfLiteStatus status);

  const Case& c_;
  TfLiteContext context_ = {};
  TfLiteNode node_ = {};
  std::vector<TfLiteEvalTensor> tensors_;
  std::vector<Memory> memory_;
  std::vector<std::unique_ptr<Exact>> arrays_;
  Memory options_;
  std::unique_ptr<Exact> persistent_, scratch_;
  uint32_t calls_ = 0, messages_ = 0;
  bool has_memory_ = true;
  std::string message_;
};

#endif  // TFLFUSE_TESTS_DEVICE_FUZZ_INTERPRETER_H_
