#include "interpreter.h"

#include <stdarg.h>

#include "tflfuse/fused_ops.h"

namespace {

constexpr int kScratchNumber = 7;

// The bytes of an int8 tensor; 0 for what is none or has a dimension below 1.
uint64_t BytesOf(const TensorSpec& tensor) {
  uint64_t bytes = 1;
  for (const int32_t n : tensor.dims) {
    if (n <= 0) return 0;
    bytes *= static_cast<uint32_t>(n);
    if (bytes > FuzzInterpreter::kMostBytes) return bytes;
  }
  return bytes;
}

std::string Content(const Exact& memory) {
  return std::string(reinterpret_cast<const char*>(memory.bytes()), memory.size());
}

}  // namespace

FuzzInterpreter::FuzzInterpreter(const Case& c) : c_(c), tensors_(c.tensors.size()), memory_(c.tensors.size()) {
  context_.impl_ = this;
  context_.ReportError = spoils(Spoil::kMute) ? nullptr : ReportError;
  context_.AllocatePersistentBuffer = spoils(Spoil::kNoPersistent) ? nullptr : AllocatePersistentBuffer;
  context_.RequestScratchBufferInArena = spoils(Spoil::kNoScratch) ? nullptr : RequestScratchBufferInArena;
  context_.GetScratchBuffer = GetScratchBuffer;
  context_.GetEvalTensor = GetEvalTensor;
  const size_t operands = c.tensors.size() - 1;
  for (size_t t = 0; t <= operands; ++t) make_tensor(t, t == operands);
  std::vector<int> numbers;
  for (size_t t = 0; t < operands; ++t) numbers.push_back(static_cast<int>(t));
  if (spoils(Spoil::kInputNumber)) numbers[c.which % operands] = c.value;
  const int count = static_cast<int>(operands);
  const int output = spoils(Spoil::kOutputNumber) ? c.value : count;
  if (!spoils(Spoil::kNoInputs)) {
    node_.inputs = array(numbers.data(), operands, spoils(Spoil::kInputCount) ? c.value : count);
  }
  if (!spoils(Spoil::kNoOutputs)) node_.outputs = array(&output, 1, spoils(Spoil::kOutputCount) ? c.value : 1);
}

// A size that no memory stands behind must be refused before an entry is read; a small one has its entries.
TfLiteIntArray* FuzzInterpreter::array(const int* data, size_t held, int size) {
  const size_t entries = size >= 0 && size <= 64 ? static_cast<size_t>(size) : 0;
  arrays_.push_back(std::make_unique<Exact>((entries + 1) * sizeof(int)));
  int* numbers = reinterpret_cast<int*>(arrays_.back()->bytes());
  numbers[0] = size;
  for (size_t i = 0; i < entries; ++i) numbers[i + 1] = held > 0 ? data[i % held] : 1;
  return reinterpret_cast<TfLiteIntArray*>(numbers);
}

void FuzzInterpreter::make_tensor(size_t t, bool is_output) {
  const TensorSpec& spec = c_.tensors[t];
  TfLiteEvalTensor& tensor = tensors_[t];
  const bool is_constants = t + 2 == tensors_.size();
  tensor.type = static_cast<TfLiteType>(spec.type % 16);  // what the declaration of TfLiteType has room for
  const int rank = spoils(Spoil::kRank, t) ? c_.value : static_cast<int>(spec.dims.size());
  tensor.dims = spoils(Spoil::kNoDims, t) ? nullptr : array(spec.dims.data(), spec.dims.size(), rank);
  // What TFLM says of a tensor and what lies there agree, but for what Prepare refuses.
  TensorSpec said = spec;
  if (tensor.dims != nullptr) said.dims.assign(tensor.dims->data, tensor.dims->data + (rank < 0 || rank > 64 ? 0 : rank));
  const uint64_t bytes = BytesOf(said);
  if (bytes > kMostBytes || spoils(Spoil::kNoData, t)) {
    has_memory_ = spoils(Spoil::kNoData, t) && has_memory_;
    return;
  }
  const size_t shift = is_constants ? c_.constants_shift : is_output ? c_.output_shift : c_.input_shift;
  memory_[t].exact = std::make_unique<Exact>(static_cast<size_t>(bytes), shift);
  const Exact& memory = *memory_[t].exact;
  tensor.data.int8 = memory.ints();
  Random random(c_.seed + t);
  const std::vector<uint8_t>& constants = c_.constants;
  for (size_t i = 0; i < memory.size(); ++i) {
    memory.bytes()[i] = is_constants ? (i < constants.size() ? constants[i] : 0) : static_cast<uint8_t>(random.below(256));
  }
  if (!is_output) memory_[t].before = Content(memory);
}

TfLiteStatus FuzzInterpreter::checked(TfLiteStatus status) {
  const bool has_voice = context_.ReportError != nullptr;
  REQUIRE(status == kTfLiteOk || status == kTfLiteError);
  REQUIRE(messages_ == (status == kTfLiteError && has_voice ? 1u : 0u));
  return status;
}

TfLiteStatus FuzzInterpreter::prepare() {
  options_.exact = std::make_unique<Exact>(c_.options.data(), c_.options.size(), c_.options_shift);
  options_.before = Content(*options_.exact);
  const char* options = reinterpret_cast<const char*>(options_.exact->bytes());
  size_t length = c_.options.size();
  if (spoils(Spoil::kNoOptions)) options = nullptr, length = static_cast<uint32_t>(c_.value);
  if (spoils(Spoil::kShortOptions) && c_.value >= 0 && static_cast<size_t>(c_.value) < length) {
    length = static_cast<size_t>(c_.value);
  }
  node_.user_data = tflfuse::ChainInit(&context_, options, length);
  REQUIRE(messages_ == 0);
  return checked(tflfuse::ChainPrepare(&context_, &node_));
}

TfLiteStatus FuzzInterpreter::eval(uint8_t fill) {
  for (size_t t = 0; t < tensors_.size(); ++t) {
    if (spoils(Spoil::kNoDataAtEval, t)) tensors_[t].data.data = nullptr;
  }
  const Memory& output = memory_.back();
  if (output.exact != nullptr) memset(output.exact->bytes(), fill, output.exact->size());
  memset(scratch_->bytes(), fill, scratch_->size());
  return checked(tflfuse::ChainEval(&context_, &node_));
}

std::string FuzzInterpreter::output() const { return Content(*memory_.back().exact); }

void FuzzInterpreter::require_unchanged() const {
  REQUIRE(Content(*options_.exact) == options_.before);
  for (size_t t = 0; t + 1 < memory_.size(); ++t) {
    REQUIRE(memory_[t].exact == nullptr || Content(*memory_[t].exact) == memory_[t].before);
  }
}

void FuzzInterpreter::ReportError(TfLiteContext* context, const char* format, ...) {
  char text[200];
  va_list arguments;
  va_start(arguments, format);
  const int length = vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  const std::string start = std::string(tflfuse::kChainName) + ": ";
  REQUIRE(length > static_cast<int>(start.size()) + 8 && strncmp(text, start.c_str(), start.size()) == 0);
  ++of(context)->messages_;
  of(context)->message_ = text + start.size();
}

void* FuzzInterpreter::AllocatePersistentBuffer(TfLiteContext* context, size_t bytes) {
  FuzzInterpreter* self = of(context);
  if (self->fails()) return nullptr;
  REQUIRE(self->persistent_ == nullptr && bytes <= 64);
  self->persistent_ = std::make_unique<Exact>(bytes);
  return self->persistent_->bytes();
}

TfLiteStatus FuzzInterpreter::RequestScratchBufferInArena(TfLiteContext* context, size_t bytes, int* number) {
  FuzzInterpreter* self = of(context);
  if (self->fails() || bytes > kMostBytes) return kTfLiteError;
  REQUIRE(self->scratch_ == nullptr);
  self->scratch_ = std::make_unique<Exact>(bytes);
  *number = kScratchNumber;
  return kTfLiteOk;
}

void* FuzzInterpreter::GetScratchBuffer(TfLiteContext* context, int number) {
  REQUIRE(number == kScratchNumber);
  return of(context)->fails() ? nullptr : of(context)->scratch_->bytes();
}

TfLiteEvalTensor* FuzzInterpreter::GetEvalTensor(const TfLiteContext* context, int number) {
  FuzzInterpreter* self = of(context);
  const bool is_known = number >= 0 && static_cast<size_t>(number) < self->tensors_.size();
  if (!is_known || self->spoils(Spoil::kNoTensor, static_cast<size_t>(number))) return nullptr;
  return &self->tensors_[static_cast<size_t>(number)];
}
