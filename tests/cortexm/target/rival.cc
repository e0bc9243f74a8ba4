// Runs layers by CMSIS-NN's kernels, between marks, for a comparison of what they execute and move.
// As in TFLM: activations, multipliers and shifts of channels lie in SRAM, weights and biases in flash.
#include <string.h>

#include "arm_nnfunctions.h"
#include "image.h"
#include "marks.h"
#include "semihosting.h"

using semihosting::Write;

extern "C" uint8_t arena[];
extern "C" decltype(arm_elementwise_add_s8) arm_elementwise_add_s8 __attribute__((weak));  // not all sources have it

namespace {

// The layers as tests/cortexm/rival.py writes them: heights first, channels last.
enum class Kind : uint32_t { kConv = 0, kDepthwise = 1, kDense = 2, kAdd = 3, kAveragePool = 4, kMaxPool = 5 };
struct Convolution {
  int32_t input[3], output[3], kernel[2], stride[2], dilation[2], pad[2];
  int32_t input_offset, output_offset, clamp_min, clamp_max;
  Span values, weights, bias, multipliers, shifts, expected;
};
struct Dense {
  int32_t input, output;
  int32_t input_offset, output_offset, multiplier, shift, clamp_min, clamp_max;
  Span values, weights, bias, expected;
};
struct Addition {
  int32_t a_offset, a_multiplier, a_shift, b_offset, b_multiplier, b_shift, left_shift;
  int32_t offset, multiplier, shift, clamp_min, clamp_max;
  Span a, b, expected;
};
struct Pooling {
  int32_t input[3], output[3], kernel[2], stride[2], pad[2];
  int32_t clamp_min, clamp_max;
  Span values, expected;
};

// Takes pieces of the arena, one behind the other.
class Arena {
 public:
  Arena() : at_(arena) {}
  void* take(uint32_t bytes) {
    void* piece = at_;
    at_ += (bytes + 15) & ~15u;
    return piece;
  }
  int8_t* output(const Span& expected) { return static_cast<int8_t*>(take(expected.length)); }
  cmsis_nn_context context(int32_t bytes) { return {take(static_cast<uint32_t>(bytes)), bytes}; }
  template <typename T>
  T* copy(const Span& span) {
    return static_cast<T*>(memcpy(take(span.length), span.data(), span.length));
  }

 private:
  uint8_t* at_;
};

cmsis_nn_tile Tile(const int32_t* height_width) { return {height_width[1], height_width[0]}; }
cmsis_nn_dims Dims(const int32_t* plane) { return {1, plane[0], plane[1], plane[2]}; }
template <typename T>
const T* Constant(const Span& span) {
  return static_cast<const T*>(static_cast<const void*>(span.data()));
}

// Calls a kernel between marks; whether it gave what it must.
template <typename Call>
bool Measure(const Span& expected, const int8_t* output, const Call& call) {
  BeginSpan(arena);
  const arm_cmsis_nn_status status = call();
  EndSpan();
  return status == ARM_CMSIS_NN_SUCCESS && memcmp(output, expected.data(), expected.length) == 0;
}

bool Convolve(const Convolution& l, bool depthwise) {
  Arena memory;
  const int8_t* input = memory.copy<int8_t>(l.values);
  int8_t* output = memory.output(l.expected);
  const cmsis_nn_per_channel_quant_params quantization = {memory.copy<int32_t>(l.multipliers),
                                                          memory.copy<int32_t>(l.shifts)};
  const cmsis_nn_dims in = Dims(l.input), out = Dims(l.output), bias = {1, 1, 1, l.output[2]};
  const int8_t* weights = Constant<int8_t>(l.weights);
  const int32_t* biases = Constant<int32_t>(l.bias);
  const cmsis_nn_activation clamps = {l.clamp_min, l.clamp_max};
  if (depthwise) {
    const cmsis_nn_dims filter = {1, l.kernel[0], l.kernel[1], l.output[2]};
    const cmsis_nn_dw_conv_params params = {l.input_offset, l.output_offset,  l.output[2] / l.input[2], Tile(l.stride),
                                            Tile(l.pad),    Tile(l.dilation), clamps};
    const cmsis_nn_context context =
        memory.context(arm_depthwise_conv_wrapper_s8_get_buffer_size(&params, &in, &filter, &out));
    return Measure(l.expected, output, [&] {
      return arm_depthwise_conv_wrapper_s8(&context, &params, &quantization, &in, input, &filter, weights, &bias, biases,
                                           &out, output);
    });
  }
  const cmsis_nn_dims filter = {l.output[2], l.kernel[0], l.kernel[1], l.input[2]};
  const cmsis_nn_conv_params params = {l.input_offset, l.output_offset,  Tile(l.stride),
                                       Tile(l.pad),    Tile(l.dilation), clamps};
  const cmsis_nn_context context = memory.context(arm_convolve_wrapper_s8_get_buffer_size(&params, &in, &filter, &out));
  return Measure(l.expected, output, [&] {
    return arm_convolve_wrapper_s8(&context, &params, &quantization, &in, input, &filter, weights, &bias, biases, &out,
                                   output);
  });
}

bool Connect(const Dense& l) {
  Arena memory;
  const int8_t* input = memory.copy<int8_t>(l.values);
  int8_t* output = memory.output(l.expected);
  const cmsis_nn_fc_params params = {l.input_offset, 0, l.output_offset, {l.clamp_min, l.clamp_max}};
  const cmsis_nn_per_tensor_quant_params quantization = {l.multiplier, l.shift};
  const cmsis_nn_dims in = {1, 1, 1, l.input}, filter = {l.input, 1, 1, l.output}, out = {1, 1, 1, l.output};
  const cmsis_nn_context context = memory.context(arm_fully_connected_s8_get_buffer_size(&filter));
  return Measure(l.expected, output, [&] {
    return arm_fully_connected_s8(&context, &params, &quantization, &in, input, &filter, Constant<int8_t>(l.weights), &out,
                                  Constant<int32_t>(l.bias), &out, output);
  });
}

bool Add(const Addition& l) {
  Arena memory;
  const int8_t *a = memory.copy<int8_t>(l.a), *b = memory.copy<int8_t>(l.b);
  int8_t* output = memory.output(l.expected);
  return Measure(l.expected, output, [&] {
    return arm_elementwise_add_s8(a, b, l.a_offset, l.a_multiplier, l.a_shift, l.b_offset, l.b_multiplier, l.b_shift,
                                  l.left_shift, output, l.offset, l.multiplier, l.shift, l.clamp_min, l.clamp_max,
                                  static_cast<int32_t>(l.expected.length));
  });
}

bool Pool(const Pooling& l, bool average) {
  Arena memory;
  const int8_t* input = memory.copy<int8_t>(l.values);
  int8_t* output = memory.output(l.expected);
  const cmsis_nn_pool_params params = {Tile(l.stride), Tile(l.pad), {l.clamp_min, l.clamp_max}};
  const cmsis_nn_dims in = Dims(l.input), filter = {1, l.kernel[0], l.kernel[1], 1}, out = Dims(l.output);
  const cmsis_nn_context context = memory.context(arm_avgpool_s8_get_buffer_size(out.w, in.c));
  const auto pool = average ? arm_avgpool_s8 : arm_max_pool_s8;
  return Measure(l.expected, output, [&] { return pool(&context, &params, &in, input, &filter, &out, output); });
}

bool Compute(Words* words) {
  const Kind kind = static_cast<Kind>(words->number());
  switch (kind) {
    case Kind::kConv:
    case Kind::kDepthwise:
      return Convolve(words->record<Convolution>(), kind == Kind::kDepthwise);
    case Kind::kDense:
      return Connect(words->record<Dense>());
    case Kind::kAdd:
      return Add(words->record<Addition>());
    case Kind::kAveragePool:
    case Kind::kMaxPool:
      return Pool(words->record<Pooling>(), kind == Kind::kAveragePool);
  }
  return false;
}

}  // namespace

int main() {
  Words header(0);
  if (header.number() != kImageMagic) return 2;
  Words words(header.number());
  const uint32_t layers = header.number();
  for (uint32_t layer = 0; layer < layers; ++layer) {
    if (Compute(&words)) continue;
    Write("not equal: layer ");
    Write(layer);
    Write("\n");
    return 1;
  }
  return 0;
}
