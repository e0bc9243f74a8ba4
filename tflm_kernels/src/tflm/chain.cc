// The chain operator's three functions for TFLM.
#include <stdint.h>

#include "../../include/tflfuse/fused_ops.h"
#include "../kernels/chain_check.h"
#include "../kernels/chain_options.h"
#include "../kernels/chain_run.h"
#include "tensorflow/lite/c/common.h"

namespace tflfuse {

const char kChainName[] = "TFLFUSE_CHAIN_1";

namespace {

constexpr int kMaxRank = 8;  // of a tensor: no more numbers are read than that, however many a file claims to have

// What lives as long as the interpreter.
struct Data {
  const uint8_t* options;
  size_t length;
  int scratch;  // number of the scratch buffer
};

TfLiteStatus Fail(TfLiteContext* context, const char* message) {
  if (context->ReportError != nullptr) context->ReportError(context, "%s: %s", kChainName, message);
  return kTfLiteError;
}

// The operand's or result's tensor; null where there is none.
const TfLiteEvalTensor* TensorAt(const TfLiteContext* context, const TfLiteIntArray* numbers, uint32_t i) {
  return numbers->data[i] < 0 ? nullptr : context->GetEvalTensor(context, numbers->data[i]);
}

// The number of int8 elements; 0, which is no tensor's size, for what is no int8 tensor or too large.
uint32_t Elements(const TfLiteEvalTensor* tensor) {
  if (tensor == nullptr || tensor->type != kTfLiteInt8 || tensor->dims == nullptr) return 0;
  if (tensor->dims->size < 0 || tensor->dims->size > kMaxRank) return 0;
  uint64_t elements = 1;
  for (int i = 0; i < tensor->dims->size; ++i) {
    if (tensor->dims->data[i] <= 0) return 0;
    elements *= static_cast<uint32_t>(tensor->dims->data[i]);
    if (elements > INT32_MAX) return 0;
  }
  return static_cast<uint32_t>(elements);
}

// The outside tensors among the operands: all but the last, which holds the constants.
uint32_t Inputs(const TfLiteNode* node) { return static_cast<uint32_t>(node->inputs->size) - 1; }

const char* CheckNode(const TfLiteContext* context, const TfLiteNode* node, uint32_t* scratch_bytes) {
  const Data* data = static_cast<const Data*>(node->user_data);
  if (data == nullptr) return "there was no memory for its state";
  if (node->inputs == nullptr || node->inputs->size < 2 || Inputs(node) > kMaxInputs) return "it has the wrong number of inputs";
  if (node->outputs == nullptr || node->outputs->size != 1) return "it has the wrong number of outputs";
  uint32_t input_bytes[kMaxInputs];
  const uint32_t inputs = Inputs(node);
  for (uint32_t i = 0; i <= inputs; ++i) {
    if (node->inputs->data[i] == node->outputs->data[0]) return "its output is one of its inputs";
  }
  for (uint32_t i = 0; i < inputs; ++i) {
    input_bytes[i] = Elements(TensorAt(context, node->inputs, i));
    if (input_bytes[i] == 0) return "an input is no int8 tensor";
  }
  const TfLiteEvalTensor* constants = TensorAt(context, node->inputs, inputs);
  const TfLiteEvalTensor* output = TensorAt(context, node->outputs, 0);
  const uint32_t constants_bytes = Elements(constants), output_bytes = Elements(output);
  if (constants_bytes == 0) return "the constants are no int8 tensor";
  if (output_bytes == 0) return "the output is no int8 tensor";
  const TfLiteEvalTensor& c = *constants;
  const TflfuseOperands operands = {input_bytes, inputs, c.data.int8, constants_bytes, output_bytes};
  const uint32_t length = data->length > UINT32_MAX ? 0 : static_cast<uint32_t>(data->length);
  return tflfuse_chain_check(data->options, length, &operands, scratch_bytes);
}

}  // namespace

void* ChainInit(TfLiteContext* context, const char* options, size_t length) {
  if (context->AllocatePersistentBuffer == nullptr) return nullptr;
  Data* data = static_cast<Data*>(context->AllocatePersistentBuffer(context, sizeof(Data)));
  if (data == nullptr) return nullptr;
  *data = {static_cast<const uint8_t*>(static_cast<const void*>(options)), length, -1};
  return data;
}

TfLiteStatus ChainPrepare(TfLiteContext* context, TfLiteNode* node) {
  uint32_t scratch_bytes = 0;
  const char* wrong = CheckNode(context, node, &scratch_bytes);
  if (wrong != nullptr) return Fail(context, wrong);
  Data* data = static_cast<Data*>(node->user_data);
  if (context->RequestScratchBufferInArena == nullptr ||
      context->RequestScratchBufferInArena(context, scratch_bytes, &data->scratch) != kTfLiteOk) {
    return Fail(context, "there is no room for its scratch memory");
  }
  return kTfLiteOk;
}

TfLiteStatus ChainEval(TfLiteContext* context, TfLiteNode* node) {
  const Data* data = static_cast<const Data*>(node->user_data);
  const int8_t* inputs[kMaxInputs];
  const uint32_t count = Inputs(node);
  for (uint32_t i = 0; i < count; ++i) {
    inputs[i] = TensorAt(context, node->inputs, i)->data.int8;
    if (inputs[i] == nullptr) return Fail(context, "an input has no memory");
  }
  const int8_t* constants = TensorAt(context, node->inputs, count)->data.int8;
  int8_t* output = TensorAt(context, node->outputs, 0)->data.int8;
  void* scratch = context->GetScratchBuffer(context, data->scratch);
  if (output == nullptr || constants == nullptr || scratch == nullptr) return Fail(context, "it has no memory to work in");
  tflfuse_chain_run(data->options, constants, inputs, output, scratch);
  return kTfLiteOk;
}

}  // namespace tflfuse
