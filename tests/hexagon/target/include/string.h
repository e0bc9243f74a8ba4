/* What the kernels and the harness need of a C library; runtime.cc has it. */
#ifndef TFLFUSE_TESTS_HEXAGON_STRING_H_
#define TFLFUSE_TESTS_HEXAGON_STRING_H_

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

void* memcpy(void* to, const void* from, size_t n);
void* memmove(void* to, const void* from, size_t n);
void* memset(void* to, int value, size_t n);
int memcmp(const void* a, const void* b, size_t n);

#ifdef __cplusplus
}
#endif

#endif /* TFLFUSE_TESTS_HEXAGON_STRING_H_ */
