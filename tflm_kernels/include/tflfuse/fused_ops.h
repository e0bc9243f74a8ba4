// The fused operators, for the resolver of a TFLM interpreter:
//
//     static tflite::MicroMutableOpResolver<3> resolver;
//     tflfuse::AddFusedOps(resolver);
//
// Works with every TFLM whose resolver has AddCustom: those that take TfLiteRegistration, as the Arduino library does,
// and those that take TFLMRegistration.
#ifndef TFLFUSE_FUSED_OPS_H_
#define TFLFUSE_FUSED_OPS_H_

#include <stddef.h>

#include "tensorflow/lite/c/common.h"

namespace tflfuse {

// The operator TFLFUSE_CHAIN_1: a chain of layers that pass rows on. Operands: int8 tensors, then an int8 [n] constant.
// Failures are told through the context's ReportError and returned as kTfLiteError.
extern const char kChainName[];
void* ChainInit(TfLiteContext* context, const char* options, size_t length);
TfLiteStatus ChainPrepare(TfLiteContext* context, TfLiteNode* node);
TfLiteStatus ChainEval(TfLiteContext* context, TfLiteNode* node);

namespace internal {

template <typename Registration>
struct Mutable {
  using Type = Registration;
};
template <typename Registration>
struct Mutable<const Registration> {
  using Type = Registration;
};

// The type of the registration follows from AddCustom, which copies what it is given.
template <typename Resolver, typename Base, typename Registration>
TfLiteStatus AddChain(Resolver& resolver, TfLiteStatus (Base::*add)(const char*, Registration*)) {
  typename Mutable<Registration>::Type registration = {};
  registration.init = ChainInit;
  registration.prepare = ChainPrepare;
  registration.invoke = ChainEval;
  return (resolver.*add)(kChainName, &registration);
}

}  // namespace internal

// Register the chain operator; takes one of the resolver's places.
template <typename Resolver>
TfLiteStatus AddChain(Resolver& resolver) {
  return internal::AddChain(resolver, &Resolver::AddCustom);
}

// Register every fused operator.
template <typename Resolver>
TfLiteStatus AddFusedOps(Resolver& resolver) {
  return AddChain(resolver);
}

}  // namespace tflfuse

#endif  // TFLFUSE_FUSED_OPS_H_
