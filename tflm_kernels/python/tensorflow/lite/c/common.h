// TFLM's C structures as far as the pack's glue looks into them, for builds without TFLM's own headers: the library for
// the Python interpreter and the tests. Names, order and types are TFLM's, built with TF_LITE_STATIC_MEMORY; members
// that the glue does not touch are pointers of the same size.
#ifndef TFLFUSE_PYTHON_TENSORFLOW_LITE_C_COMMON_H_
#define TFLFUSE_PYTHON_TENSORFLOW_LITE_C_COMMON_H_

#include <stddef.h>
#include <stdint.h>

extern "C" {

typedef enum TfLiteStatus { kTfLiteOk = 0, kTfLiteError = 1 } TfLiteStatus;

typedef enum { kTfLiteNoType = 0, kTfLiteFloat32 = 1, kTfLiteInt32 = 2, kTfLiteInt8 = 9 } TfLiteType;

typedef struct TfLiteIntArray {
  int size;
  int data[];
} TfLiteIntArray;

typedef union TfLitePtrUnion {
  int8_t* int8;
  void* data;
} TfLitePtrUnion;

typedef struct TfLiteEvalTensor {
  TfLitePtrUnion data;
  TfLiteIntArray* dims;
  TfLiteType type;
} TfLiteEvalTensor;

typedef struct TfLiteContext {
  size_t tensors_size;
  void (*GetExecutionPlan)(void);
  void* tensors;
  void* impl_;
  void (*ResizeTensor)(void);
  void (*ReportError)(struct TfLiteContext*, const char* msg, ...);
  void (*AddTensors)(void);
  void (*GetNodeAndRegistration)(void);
  void (*ReplaceNodeSubsetsWithDelegateKernels)(void);
  int recommended_num_threads;
  void (*GetExternalContext)(void);
  void (*SetExternalContext)(void);
  bool allow_fp32_relax_to_fp16;
  void* profiler;
  void* (*AllocatePersistentBuffer)(struct TfLiteContext*, size_t bytes);
  void (*AllocateBufferForEval)(void);
  TfLiteStatus (*RequestScratchBufferInArena)(struct TfLiteContext*, size_t bytes, int* buffer_idx);
  void* (*GetScratchBuffer)(struct TfLiteContext*, int buffer_idx);
  void (*ResizeTensorExplicit)(void);
  void (*PreviewDelegatePartitioning)(void);
  void (*GetTensor)(void);
  TfLiteEvalTensor* (*GetEvalTensor)(const struct TfLiteContext*, int tensor_idx);
  void (*GetModelMetadata)(void);
  void (*AcquireSubgraphContext)(void);
  void (*ReleaseSubgraphContext)(void);
} TfLiteContext;

typedef struct TfLiteNode {
  TfLiteIntArray* inputs;
  TfLiteIntArray* outputs;
  TfLiteIntArray* intermediates;
  void* user_data;
  void* builtin_data;
  const void* custom_initial_data;
  int custom_initial_data_size;
} TfLiteNode;

}  // extern "C"

#endif  // TFLFUSE_PYTHON_TENSORFLOW_LITE_C_COMMON_H_
