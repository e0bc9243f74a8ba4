/* A chain of stages, one inference. */
#ifndef TFLFUSE_KERNELS_CHAIN_RUN_H_
#define TFLFUSE_KERNELS_CHAIN_RUN_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Compute output from inputs.
 * options: as tflfuse_chain_check accepted them, with these constants; at any address. constants: at a multiple of 4.
 * inputs: one pointer for each outside tensor, int8 [height][width][channels]. output: int8, likewise.
 * scratch: the bytes that tflfuse_chain_check asked for, at a multiple of 8; their content does not matter.
 * output may overlap an input in rows that the schedule reads no more when it writes there. */
void tflfuse_chain_run(const uint8_t* options, const int8_t* constants, const int8_t* const* inputs, int8_t* output,
                       void* scratch);

#ifdef __cplusplus
}
#endif

#endif /* TFLFUSE_KERNELS_CHAIN_RUN_H_ */
