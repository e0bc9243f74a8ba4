// The resolver of the interpreter in the tflite-micro wheel, as it lies in memory: a MicroMutableOpResolver<200>.
#ifndef TFLFUSE_PYTHON_PYTHON_OPS_RESOLVER_H_
#define TFLFUSE_PYTHON_PYTHON_OPS_RESOLVER_H_

#include <stdint.h>
#include <string.h>

#include "tensorflow/lite/c/common.h"

struct TFLMRegistration {
  void* (*init)(TfLiteContext* context, const char* buffer, size_t length);
  void (*free)(TfLiteContext* context, void* buffer);
  TfLiteStatus (*prepare)(TfLiteContext* context, TfLiteNode* node);
  TfLiteStatus (*invoke)(TfLiteContext* context, TfLiteNode* node);
  void (*reset)(TfLiteContext* context, void* buffer);
  int32_t builtin_code;
  const char* custom_name;
};

class PythonOpsResolver {
 public:
  // Refuses a name that is taken, and everything once it is full.
  TfLiteStatus AddCustom(const char* name, const TFLMRegistration* registration) {
    if (length_ >= kCapacity) return kTfLiteError;
    for (unsigned i = 0; i < length_; ++i) {
      const TFLMRegistration& present = registrations_[i];
      if (present.builtin_code == kCustom && strcmp(present.custom_name, name) == 0) return kTfLiteError;
    }
    TFLMRegistration& added = registrations_[length_++];
    added = *registration;
    added.builtin_code = kCustom;
    added.custom_name = name;
    return kTfLiteOk;
  }

 private:
  static constexpr unsigned kCapacity = 200;
  static constexpr int32_t kCustom = 32;  // BuiltinOperator_CUSTOM

  void* virtual_functions_;
  TFLMRegistration registrations_[kCapacity];
  unsigned length_;
};

#endif  // TFLFUSE_PYTHON_PYTHON_OPS_RESOLVER_H_
