// Runs convolutions by CMSIS-NN's kernels, between marks, for a comparison of what they execute and move.
// As in TFLM: activations, multipliers and shifts lie in SRAM, weights and biases in flash.
#include <string.h>

#include "arm_nnfunctions.h"
#include "image.h"
#include "marks.h"
#include "semihosting.h"

using semihosting::Write;

extern "C" uint8_t arena[];

namespace {

// As tests/cortexm/rival.py writes it.
struct Layer {
  uint32_t depthwise;
  int32_t input[3], output[3], kernel[2], stride[2], dilation[2], pad[2];  // heights first, channels last
  int32_t input_offset, output_offset, clamp_min, clamp_max;
  Span values, weights, bias, multipliers, shifts, expected;
};

// Takes pieces of the arena, one behind the other.
class Arena {
 public:
  explicit Arena(uint8_t* begin) : at_(begin) {}
  void* take(uint32_t bytes) {
    void* piece = at_;
    at_ += (bytes + 15) & ~15u;
    return piece;
  }
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

bool Compute(const Layer& l) {
  Arena memory(arena);
  const int8_t* input = memory.copy<int8_t>(l.values);
  int8_t* output = static_cast<int8_t*>(memory.take(l.expected.length));
  const cmsis_nn_per_channel_quant_params quantization = {memory.copy<int32_t>(l.multipliers),
                                                          memory.copy<int32_t>(l.shifts)};
  const cmsis_nn_dims in = Dims(l.input), out = Dims(l.output), bias = {1, 1, 1, l.output[2]};
  const int8_t* weights = Constant<int8_t>(l.weights);
  const int32_t* biases = Constant<int32_t>(l.bias);
  const cmsis_nn_activation clamps = {l.clamp_min, l.clamp_max};
  cmsis_nn_context context = {};
  arm_cmsis_nn_status status;
  if (l.depthwise != 0) {
    const cmsis_nn_dims filter = {1, l.kernel[0], l.kernel[1], l.output[2]};
    const cmsis_nn_dw_conv_params params = {l.input_offset, l.output_offset,  l.output[2] / l.input[2], Tile(l.stride),
                                            Tile(l.pad),    Tile(l.dilation), clamps};
    context.size = arm_depthwise_conv_wrapper_s8_get_buffer_size(&params, &in, &filter, &out);
    context.buf = memory.take(static_cast<uint32_t>(context.size));
    BeginSpan(arena);
    status = arm_depthwise_conv_wrapper_s8(&context, &params, &quantization, &in, input, &filter, weights, &bias, biases,
                                           &out, output);
    EndSpan();
  } else {
    const cmsis_nn_dims filter = {l.output[2], l.kernel[0], l.kernel[1], l.input[2]};
    const cmsis_nn_conv_params params = {l.input_offset, l.output_offset,  Tile(l.stride),
                                         Tile(l.pad),    Tile(l.dilation), clamps};
    context.size = arm_convolve_wrapper_s8_get_buffer_size(&params, &in, &filter, &out);
    context.buf = memory.take(static_cast<uint32_t>(context.size));
    BeginSpan(arena);
    status = arm_convolve_wrapper_s8(&context, &params, &quantization, &in, input, &filter, weights, &bias, biases, &out,
                                     output);
    EndSpan();
  }
  return status == ARM_CMSIS_NN_SUCCESS && memcmp(output, l.expected.data(), l.expected.length) == 0;
}

}  // namespace

int main() {
  Words header(0);
  if (header.number() != kImageMagic) return 2;
  Words words(header.number());
  const uint32_t layers = header.number();
  for (uint32_t layer = 0; layer < layers; ++layer) {
    if (Compute(words.record<Layer>())) continue;
    Write("not equal: layer ");
    Write(layer);
    Write("\n");
    return 1;
  }
  return 0;
}
