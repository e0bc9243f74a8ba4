/* Which kernels are compiled where a build system compiles every file: those of the folder named here, and the portable
 * ones that it has no version of. TFLFUSE_PORTABLE: only portable ones, whatever the compiler can do. */
#ifndef TFLFUSE_KERNELS_BACKEND_H_
#define TFLFUSE_KERNELS_BACKEND_H_

#if defined(TFLFUSE_PORTABLE)
#elif defined(__ARM_FEATURE_MVE)
#define TFLFUSE_ARM_MVE
#define TFLFUSE_HAS_CONV_ROW
#define TFLFUSE_HAS_DEPTHWISE_ROW
#define TFLFUSE_HAS_ADD_ROW
#define TFLFUSE_HAS_TABLE_ROW
#define TFLFUSE_HAS_AVERAGE_POOL_ROW
#define TFLFUSE_HAS_MAX_POOL_ROW
#define TFLFUSE_HAS_AVERAGE_PIXEL
#define TFLFUSE_HAS_MEAN_PIXEL
#define TFLFUSE_HAS_MUL_CONSTANT_ROW
#define TFLFUSE_HAS_ADD_CONSTANT_ROW
#define TFLFUSE_HAS_ACCUMULATE_ROW
#elif defined(__ARM_FEATURE_DSP) && defined(__thumb2__)
#define TFLFUSE_ARM_DSP
#define TFLFUSE_HAS_CONV_ROW
#define TFLFUSE_HAS_DEPTHWISE_ROW
#define TFLFUSE_HAS_ADD_ROW
#define TFLFUSE_HAS_ACCUMULATE_ROW
#elif defined(__HVX__) && __HVX_LENGTH__ == 128
#define TFLFUSE_HEXAGON_HVX
#define TFLFUSE_HAS_CONV_ROW
#define TFLFUSE_HAS_DEPTHWISE_ROW
#endif

#endif /* TFLFUSE_KERNELS_BACKEND_H_ */
