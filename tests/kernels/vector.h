// One chain with its constants, inputs and the output that TFLM computed.
#ifndef TFLFUSE_TESTS_KERNELS_VECTOR_H_
#define TFLFUSE_TESTS_KERNELS_VECTOR_H_

#include "host.h"

struct Bytes {
  uint8_t* data = nullptr;
  uint32_t length = 0;
};

struct Vector {
  static constexpr uint32_t kInputs = 16;

  Bytes options, constants, inputs[kInputs], output;
  uint32_t count = 0;

  bool read(Reader* reader) {
    if (!reader->number(&count)) return false;
    REQUIRE(count <= kInputs);
    read(reader, &options);
    read(reader, &constants);
    for (uint32_t i = 0; i < count; ++i) read(reader, &inputs[i]);
    read(reader, &output);
    return true;
  }
  void release() {
    free(options.data);
    free(constants.data);
    for (uint32_t i = 0; i < count; ++i) free(inputs[i].data);
    free(output.data);
  }

 private:
  static void read(Reader* reader, Bytes* bytes) { bytes->data = reader->string(&bytes->length); }
};

#endif  // TFLFUSE_TESTS_KERNELS_VECTOR_H_
