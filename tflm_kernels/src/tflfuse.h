// The header of the pack for a sketch, which finds a library by a header in its src folder: #include <tflfuse.h>
#ifndef TFLFUSE_TFLFUSE_H_
#define TFLFUSE_TFLFUSE_H_

#include "../include/tflfuse/fused_ops.h"

#endif  // TFLFUSE_TFLFUSE_H_
