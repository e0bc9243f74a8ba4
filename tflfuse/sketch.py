"""An Arduino sketch that runs a model: the same text for every model, which lies beside it in model.cpp and ops.h."""
from __future__ import annotations

import re
from pathlib import Path

from .errors import TflfuseError

NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,62}")
"""What Arduino's sketch specification allows a sketch to be called; its folder is called the same."""

FUSED_OPS = "<tflfuse.h>"
"""The IDE finds a library by a header that lies in its src folder."""

TEXT = """\
// Runs the model of model.cpp in the stock TFLM interpreter, and prints how long it took and what came out.
//
// TensorFlowLite.h is the header of the Arduino_TensorFlowLite library, which supports the Nano 33 BLE. Where another
// TFLM library is installed, include its header instead. The fused operators come from tflfuse's folder tflm_kernels:
// copy it to libraries/tflfuse in the sketchbook.
//
// model.h, model.cpp and ops.h are generated; this file is yours: tflfuse does not write it again.
#include <TensorFlowLite.h>
#include <string.h>

#include "model.h"
#include "ops.h"
#include "tensorflow/lite/micro/micro_interpreter.h"
#include "tensorflow/lite/schema/schema_generated.h"

namespace {
constexpr size_t kShown = 10;
alignas(16) uint8_t arena[kModelArenaSize];
tflite::MicroInterpreter* interpreter = nullptr;
}  // namespace

void setup() {
  Serial.begin(115200);
  while (!Serial) {
  }

  static Resolver resolver;
  if (AddOps(resolver) != kTfLiteOk) {
    Serial.println("The resolver is full.");
    return;
  }

  static tflite::MicroInterpreter only(tflite::GetModel(g_model), resolver, arena, sizeof arena);
  if (only.AllocateTensors() != kTfLiteOk) {
    Serial.println("AllocateTensors failed.");
    return;
  }
  interpreter = &only;
  Serial.print("arena bytes used: ");
  Serial.println(static_cast<unsigned long>(only.arena_used_bytes()));
}

void loop() {
  if (interpreter == nullptr) return;

  // What the model is to see goes here: data.int8[i] of an int8 input, data.f[i] of a float one.
  for (size_t i = 0; i < interpreter->inputs_size(); ++i) {
    TfLiteTensor* input = interpreter->input(i);
    memset(input->data.raw, 0, input->bytes);
  }

  const unsigned long start = micros();
  const TfLiteStatus status = interpreter->Invoke();
  const unsigned long microseconds = micros() - start;
  if (status != kTfLiteOk) {
    Serial.println("Invoke failed.");
    return;
  }

  const TfLiteTensor* output = interpreter->output(0);
  const bool real = output->type == kTfLiteFloat32;
  const size_t values = output->bytes / (real ? sizeof(float) : 1);
  Serial.print("microseconds: ");
  Serial.print(microseconds);
  Serial.print(", output:");
  for (size_t i = 0; i < values && i < kShown; ++i) {
    Serial.print(" ");
    if (real) {
      Serial.print(output->data.f[i]);
    } else {
      Serial.print(static_cast<int>(output->data.int8[i]));
    }
  }
  Serial.println();
  delay(1000);
}
"""


def main_file(folder: Path) -> Path:
    """The sketch itself, which bears its folder's name. Raises TflfuseError where no sketch may be called so."""
    name = Path(folder).resolve().name
    if not NAME.fullmatch(name):
        raise TflfuseError(f"--sketch: '{name}' is no name for a sketch: letters, digits, _ . -, 63 at most")
    return folder / f"{name}.ino"
