// The resolver as in the Arduino library: it registers TfLiteRegistration, without const.
#pragma once

#include "tensorflow/lite/micro/micro_interpreter.h"

struct TfLiteRegistration {
  void* (*init)(TfLiteContext* context, const char* buffer, size_t length);
  void (*free)(TfLiteContext* context, void* buffer);
  TfLiteStatus (*prepare)(TfLiteContext* context, TfLiteNode* node);
  TfLiteStatus (*invoke)(TfLiteContext* context, TfLiteNode* node);
};

namespace tflite {

template <unsigned int places>
class MicroMutableOpResolver : public MicroOpResolver {
 public:
  TfLiteStatus AddCustom(const char* name, TfLiteRegistration* registration);
  TfLiteStatus AddMul();
  TfLiteStatus AddMaxPool2D();
  TfLiteStatus AddSoftmax();
};

}  // namespace tflite
