// The test's data as tests/cortexm/image.py lays them out: little-endian 32-bit words, and the bytes they point to.
#ifndef TFLFUSE_TESTS_CORTEXM_IMAGE_H_
#define TFLFUSE_TESTS_CORTEXM_IMAGE_H_

#include <stdint.h>

#include "tensorflow/lite/c/common.h"

extern "C" const uint8_t image[];

constexpr uint32_t kImageMagic = 0x4D465454;

// Bytes of the image.
struct Span {
  uint32_t offset;
  uint32_t length;
  const uint8_t* data() const { return image + offset; }
};

// A builtin operator's output, or a graph input: copied into a tensor.
struct Load {
  uint32_t tensor;
  Span value;
};

// A fused operator. The operands' numbers follow, then the results', as TFLM has them.
struct Run {
  Span options;
  Span expected;
};

enum class Step : uint32_t { kLoad = 0, kRun = 1 };

// Reads the words in order. Arrays stay where they are.
class Words {
 public:
  explicit Words(uint32_t offset) : at_(static_cast<const uint32_t*>(static_cast<const void*>(image + offset))) {}

  uint32_t number() { return *at_++; }
  template <typename T>
  T record() {
    const T* found = static_cast<const T*>(static_cast<const void*>(at_));
    at_ += sizeof(T) / sizeof *at_;
    return *found;
  }
  TfLiteIntArray* numbers() {
    TfLiteIntArray* array = static_cast<TfLiteIntArray*>(static_cast<void*>(const_cast<uint32_t*>(at_)));
    at_ += 1 + array->size;
    return array;
  }

 private:
  const uint32_t* at_;
};

#endif  // TFLFUSE_TESTS_CORTEXM_IMAGE_H_
