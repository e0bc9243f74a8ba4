// Loads and stores of parts of HVX vectors, at any address.
#ifndef TFLFUSE_KERNELS_HEXAGON_HVX_VECTORS_H_
#define TFLFUSE_KERNELS_HEXAGON_HVX_VECTORS_H_

#include <hexagon_types.h>
#include <hvx_hexagon_protos.h>
#include <stdint.h>

namespace tflfuse {

constexpr uint32_t kVectorBytes = 128;
constexpr uint32_t kVectorWords = kVectorBytes / 4;

static_assert(sizeof(HVX_Vector) == kVectorBytes, "the kernels want -mhvx-length=128B");

// The aligned vector that holds this byte: memory is mapped in larger units, so that all of it may be read.
inline const HVX_Vector* Around(const void* byte) {
  return reinterpret_cast<const HVX_Vector*>(reinterpret_cast<uintptr_t>(byte) & ~uintptr_t{kVectorBytes - 1});
}

// n bytes, 1 to 128; what lies behind them in the vector is arbitrary.
inline HVX_Vector Load(const void* from, uint32_t n) {
  const int8_t* bytes = static_cast<const int8_t*>(from);
  const int32_t shift = static_cast<int32_t>(reinterpret_cast<uintptr_t>(from));  // its lowest seven bits count
  return Q6_V_valign_VVR(*Around(bytes + n - 1), *Around(bytes), shift);
}

// 128 bytes.
inline HVX_Vector LoadWhole(const void* from) { return *static_cast<const HVX_UVector*>(from); }

inline void StoreWhole(void* to, HVX_Vector v) { *static_cast<HVX_UVector*>(to) = v; }

// The first n bytes of v, 1 to 128; no other byte is written.
inline void Store(void* to, HVX_Vector v, uint32_t n) {
  const uint32_t begin = reinterpret_cast<uintptr_t>(to) % kVectorBytes, end = begin + n;
  HVX_Vector* block = const_cast<HVX_Vector*>(Around(to));
  const HVX_Vector turned = Q6_V_vlalign_VVR(v, v, static_cast<int32_t>(begin));
  const HVX_VectorPred before = Q6_Q_vsetq_R(static_cast<int32_t>(begin));
  if (end <= kVectorBytes) {
    Q6_vmem_QRIV(Q6_Q_and_QQn(Q6_Q_vsetq2_R(static_cast<int32_t>(end)), before), block, turned);
    return;
  }
  Q6_vmem_QnRIV(before, block, turned);
  Q6_vmem_QRIV(Q6_Q_vsetq_R(static_cast<int32_t>(end)), block + 1, turned);
}

inline HVX_Vector Splat(int32_t word) { return Q6_V_vsplat_R(word); }

}  // namespace tflfuse

#endif  // TFLFUSE_KERNELS_HEXAGON_HVX_VECTORS_H_
