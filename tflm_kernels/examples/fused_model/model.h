// A fused model, and what it makes of the input in which value i is i * 37, wrapped to int8.
#ifndef FUSED_MODEL_MODEL_H_
#define FUSED_MODEL_MODEL_H_

#include <stdint.h>

extern const unsigned char g_model[];
extern const int8_t g_expected[];

#endif  // FUSED_MODEL_MODEL_H_
