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
 * output may overlap an input where no row of the input is read any more when it is overwritten. Rows of output are
 * written from the first to the last, each from its first byte on; while the last stage makes a row, the rows that it
 * reads are still wanted. All other rows that are read, and when, follow from the schedule (chain_schedule.h): whoever
 * places the tensors replays it. Inputs may not overlap scratch, nor scratch the output. */
void tflfuse_chain_run(const uint8_t* options, const int8_t* constants, const int8_t* const* inputs, int8_t* output,
                       void* scratch);

#ifdef __cplusplus
}
#endif

#endif /* TFLFUSE_KERNELS_CHAIN_RUN_H_ */
