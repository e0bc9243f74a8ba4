/* The columns of a pooling window that lie in the plane. */
#ifndef TFLFUSE_KERNELS_POOL_COLUMNS_H_
#define TFLFUSE_KERNELS_POOL_COLUMNS_H_

#include "pool_row.h"

namespace tflfuse {

constexpr uint32_t kPoolBlock = 16;  // channels looked at together: one vector register of bytes

struct Columns {
  uint32_t begin;
  uint32_t end;
};

inline Columns ColumnsOf(const TflfusePool& pool, uint32_t x) {
  const uint32_t from = x * pool.stride, to = from + pool.kernel_w;  // both pad_left too far right
  const uint32_t end = to - pool.pad_left;
  return {from > pool.pad_left ? from - pool.pad_left : 0, end < pool.in_width ? end : pool.in_width};
}

inline uint32_t BlockSize(uint32_t first, uint32_t channels) {
  return channels - first < kPoolBlock ? channels - first : kPoolBlock;
}

}  // namespace tflfuse

#endif /* TFLFUSE_KERNELS_POOL_COLUMNS_H_ */
