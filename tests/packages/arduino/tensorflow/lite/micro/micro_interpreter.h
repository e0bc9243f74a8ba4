// What sketches call of TFLM's interpreter.
#pragma once

#include "tensorflow/lite/c/common.h"
#include "tensorflow/lite/schema/schema_generated.h"

union TensorData {
  char* raw;
  int8_t* int8;
  float* f;
};

struct TfLiteTensor {
  TfLiteType type;
  TensorData data;
  size_t bytes;
};

namespace tflite {

class MicroOpResolver {};

class MicroInterpreter {
 public:
  MicroInterpreter(const Model* model, const MicroOpResolver& resolver, uint8_t* arena, size_t arena_bytes);
  TfLiteStatus AllocateTensors();
  TfLiteStatus Invoke();
  size_t inputs_size() const;
  size_t arena_used_bytes() const;
  TfLiteTensor* input(size_t index);
  TfLiteTensor* output(size_t index);
};

}  // namespace tflite
