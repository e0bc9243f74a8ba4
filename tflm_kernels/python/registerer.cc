// What the tflite-micro wheel looks for by name: custom_op_registerers=["TflfuseRegister"].
#include "python_ops_resolver.h"
#include "tflfuse/fused_ops.h"

extern "C" __attribute__((visibility("default"))) bool TflfuseRegister(PythonOpsResolver* resolver) {
  return tflfuse::AddFusedOps(*resolver) == kTfLiteOk;
}
