// Runs a fused model in the stock TFLM interpreter, compares its output with what the interpreter on the machine that
// made it computed, and prints how long it took.
//
// TensorFlowLite.h is the header of the Arduino_TensorFlowLite library, which supports the Nano 33 BLE. Where another
// TFLM library is installed, include its header instead.
#include <TensorFlowLite.h>
#include <tflfuse.h>

#include "model.h"
#include "tensorflow/lite/micro/micro_interpreter.h"
#include "tensorflow/lite/micro/micro_mutable_op_resolver.h"
#include "tensorflow/lite/schema/schema_generated.h"

namespace {
alignas(16) uint8_t arena[4096];
tflite::MicroInterpreter* interpreter = nullptr;
}  // namespace

void setup() {
  Serial.begin(115200);
  while (!Serial) {
  }

  // One place for each kind of operator in the file: the fused one and MUL.
  static tflite::MicroMutableOpResolver<2> resolver;
  if (tflfuse::AddFusedOps(resolver) != kTfLiteOk || resolver.AddMul() != kTfLiteOk) {
    Serial.println("The resolver is full.");
    return;
  }

  static tflite::MicroInterpreter only(tflite::GetModel(g_model), resolver, arena, sizeof arena);
  if (only.AllocateTensors() != kTfLiteOk) {
    Serial.println("AllocateTensors failed.");
    return;
  }
  interpreter = &only;
}

void loop() {
  if (interpreter == nullptr) return;
  TfLiteTensor* input = interpreter->input(0);
  for (size_t i = 0; i < input->bytes; ++i) input->data.int8[i] = static_cast<int8_t>(i * 37);

  const unsigned long start = micros();
  const TfLiteStatus status = interpreter->Invoke();
  const unsigned long microseconds = micros() - start;
  if (status != kTfLiteOk) {
    Serial.println("Invoke failed.");
    return;
  }

  const TfLiteTensor* output = interpreter->output(0);
  int wrong = 0;
  for (size_t i = 0; i < output->bytes; ++i) wrong += output->data.int8[i] != g_expected[i];
  Serial.print("microseconds: ");
  Serial.print(microseconds);
  Serial.print(", wrong values: ");
  Serial.println(wrong);
  delay(1000);
}
