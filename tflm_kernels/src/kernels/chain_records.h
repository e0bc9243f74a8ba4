/* Whether every value and every stage of a chain stays inside of its memory. */
#ifndef TFLFUSE_KERNELS_CHAIN_RECORDS_H_
#define TFLFUSE_KERNELS_CHAIN_RECORDS_H_

#include "chain_check.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Null, or what is wrong. options: complete, their header and the operands' number, constants and sizes checked by
 * tflfuse_chain_check, which calls this. */
const char* tflfuse_chain_records(const uint8_t* options, const TflfuseOperands* operands);

#ifdef __cplusplus
}
#endif

#endif /* TFLFUSE_KERNELS_CHAIN_RECORDS_H_ */
