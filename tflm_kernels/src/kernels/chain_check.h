/* Whether a chain can be run without leaving its memory: for options that nobody vouches for. */
#ifndef TFLFUSE_KERNELS_CHAIN_CHECK_H_
#define TFLFUSE_KERNELS_CHAIN_CHECK_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The operands as the runtime knows them. All are int8. constants: where the constant operand lies, may be null. */
typedef struct TflfuseOperands {
  const uint32_t* input_bytes; /* of each outside tensor */
  uint32_t inputs;
  const int8_t* constants;
  uint32_t constants_bytes;
  uint32_t output_bytes;
} TflfuseOperands;

/* Check options of length bytes at any address, every offset and size in them, the operands and the constants, and
 * replay the schedule to see that no row is overwritten before it has been read.
 * Returns null and sets *scratch_bytes, or a sentence that says what is wrong. Reads nothing outside. */
const char* tflfuse_chain_check(const uint8_t* options, uint32_t length, const TflfuseOperands* operands,
                                uint32_t* scratch_bytes);

#ifdef __cplusplus
}
#endif

#endif /* TFLFUSE_KERNELS_CHAIN_CHECK_H_ */
