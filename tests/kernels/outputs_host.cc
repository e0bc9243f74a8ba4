// Writes the outputs of chains one behind the other, as kernels compiled in a way that TFLM is not compute them.
//   outputs_host VECTORS
#include "chain_check.h"
#include "chain_run.h"
#include "vector.h"

int main(int argc, char** argv) {
  REQUIRE(argc == 2);
  Reader reader(argv[1]);
  for (Vector v; v.read(&reader); v.release(), v = Vector()) {
    const Exact constants(v.constants.data, v.constants.length);
    uint32_t sizes[Vector::kInputs];
    const int8_t* inputs[Vector::kInputs];
    for (uint32_t i = 0; i < v.count; ++i) {
      sizes[i] = v.inputs[i].length;
      inputs[i] = reinterpret_cast<int8_t*>(v.inputs[i].data);
    }
    const TflfuseOperands operands = {sizes, v.count, constants.ints(), v.constants.length, v.output.length};
    uint32_t scratch_bytes = 0;
    REQUIRE(tflfuse_chain_check(v.options.data, v.options.length, &operands, &scratch_bytes) == nullptr);
    const Exact scratch(scratch_bytes), output(v.output.length);
    tflfuse_chain_run(v.options.data, constants.ints(), inputs, output.ints(), scratch.bytes());
    REQUIRE(fwrite(output.bytes(), 1, v.output.length, stdout) == v.output.length);
  }
  return 0;
}
