// The weights of 32 output channels, so that one reducing multiply serves them all.
#ifndef TFLFUSE_KERNELS_HEXAGON_HVX_TRANSPOSE_WORDS_H_
#define TFLFUSE_KERNELS_HEXAGON_HVX_TRANSPOSE_WORDS_H_

#include "vectors.h"

namespace tflfuse {

// columns[g] = word g of each of 32 rows, in order, for g < groups, 1 to 32. columns: 32 vectors. The rows are lost.
//
// Each of the five steps interleaves the words of rows i and i + half, which leaves half as many rows, each twice as
// long; of these only the words that are wanted in the end go on.
inline void TransposeWords(HVX_Vector* rows, uint32_t groups, HVX_Vector* columns) {
  HVX_Vector *from = rows, *to = columns;
  uint32_t vectors = 1;  // of a row
  for (uint32_t half = 16; half > 0; half /= 2, vectors *= 2) {
    const uint32_t kept = (groups * 2 * vectors + kVectorWords - 1) / kVectorWords;
    for (uint32_t i = 0; i < half; ++i) {
      for (uint32_t v = 0; 2 * v < kept; ++v) {
        const HVX_VectorPair both = Q6_W_vshuff_VVR(from[(i + half) * vectors + v], from[i * vectors + v], -4);
        to[(2 * i) * vectors + 2 * v] = Q6_V_lo_W(both);
        to[(2 * i) * vectors + 2 * v + 1] = Q6_V_hi_W(both);
      }
    }
    HVX_Vector* const next = from;
    from = to;
    to = next;
  }
}

}  // namespace tflfuse

#endif  // TFLFUSE_KERNELS_HEXAGON_HVX_TRANSPOSE_WORDS_H_
