// What the example sketch calls of the schema.
#pragma once

namespace tflite {

struct Model;
const Model* GetModel(const void* bytes);

}  // namespace tflite
