/* The schedule of a chain, without computing. */
#ifndef TFLFUSE_KERNELS_CHAIN_REPLAY_H_
#define TFLFUSE_KERNELS_CHAIN_REPLAY_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* 1 where every ring of the chain keeps its rows until they have been read, else 0.
 * options: complete, every number in them within its range (tflfuse_chain_check calls this last). */
int tflfuse_chain_replay(const uint8_t* options);

#ifdef __cplusplus
}
#endif

#endif /* TFLFUSE_KERNELS_CHAIN_REPLAY_H_ */
