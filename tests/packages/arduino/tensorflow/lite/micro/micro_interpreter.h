// What the example sketch calls of TFLM's interpreter.
#pragma once

#include "tensorflow/lite/c/common.h"
#include "tensorflow/lite/schema/schema_generated.h"

struct TfLiteTensor {
  TfLitePtrUnion data;
  size_t bytes;
};

namespace tflite {

class MicroOpResolver {};

class MicroInterpreter {
 public:
  MicroInterpreter(const Model* model, const MicroOpResolver& resolver, uint8_t* arena, size_t arena_bytes);
  TfLiteStatus AllocateTensors();
  TfLiteStatus Invoke();
  TfLiteTensor* input(size_t index);
  TfLiteTensor* output(size_t index);
};

}  // namespace tflite
