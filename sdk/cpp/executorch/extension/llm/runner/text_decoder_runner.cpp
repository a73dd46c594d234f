// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/llm/runner/text_decoder_runner.h>

#include <cinttypes>

#include <executorch/extension/llm/runner/util.h>
#include <executorch/extension/tensor/tensor_ptr_maker.h>

namespace executorch {
namespace extension {
namespace llm {

using executorch::aten::ScalarType;
using executorch::aten::SizesType;
using executorch::aten::Tensor;
using runtime::Error;
using runtime::EValue;
using runtime::Result;

namespace {

/// While this object exists, a flag can end a run of the method.
class Interruptible final {
 public:
  Interruptible(Method& method, const std::atomic<Error>& interrupt) : method_(method) {
    method_.set_interrupt(&interrupt);
  }
  ~Interruptible() { method_.set_interrupt(nullptr); }
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;

 private:
  Method& method_;
};

Result<Tensor> logits_of(const Result<std::vector<EValue>>& outputs, const std::string& method) {
  if (!outputs.ok()) {
    return outputs.error();
  }
  ET_CHECK_OR_RETURN_ERROR(!outputs->empty() && outputs->front().isTensor(), InvalidProgram,
                           "the first output of method '%s' is not a tensor; expected logits", method.c_str());
  return outputs->front().toTensor();
}

}  // namespace

TextDecoderRunner::TextDecoderRunner(Module* module, IOManager* io_manager, std::string method_name,
                                     std::unique_ptr<Sampler> sampler)
    : module_(module), io_manager_(io_manager), method_name_(std::move(method_name)), sampler_(std::move(sampler)) {}

Result<Tensor> TextDecoderRunner::step(TensorPtr& input, int64_t start_pos) {
  const auto count = static_cast<int64_t>(input->numel());
  if (static_length_ == 0 || count == static_length_) {
    return step_with(input, count, start_pos, method_name_);
  }
  last_logits_.reset();
  auto logits = step_padded(input);
  if (logits.ok()) {
    last_logits_.emplace(*logits);
  }
  return logits;
}

Result<Tensor> TextDecoderRunner::step_with(const TensorPtr& input, int64_t count, int64_t start_pos,
                                            const std::string& method, const std::vector<EValue>& more) {
  last_logits_.reset();
  auto logits = logits_of(execute(input, count, start_pos, method, more), method);
  if (logits.ok()) {
    last_logits_.emplace(*logits);
  }
  return logits;
}

Result<std::vector<EValue>> TextDecoderRunner::run(const std::string& method, const std::vector<EValue>& inputs) {
  ET_ASSIGN_OR_RETURN(loaded, module_->method(method));
  const Interruptible interruptible(*loaded, interrupt_);
  return module_->execute(method, inputs);
}

Result<std::vector<EValue>> TextDecoderRunner::execute(const TensorPtr& input, int64_t count, int64_t start_pos,
                                                       const std::string& method_name,
                                                       const std::vector<EValue>& more) {
  ET_ASSIGN_OR_RETURN(method, module_->method(method_name));
  if (method->method_meta().num_inputs() < 2) {
    return run(method_name, {*input});
  }
  ET_ASSIGN_OR_RETURN(position, populate_start_pos_or_cache_position(module_, start_pos, positions_,
                                                                     static_cast<int>(count), method_name.c_str()));
  // An IO manager supports only methods that take tokens and their position.
  ET_ASSIGN_OR_RETURN(inputs, more.empty() ? io_manager_->prepare_decode(input, position, method_name)
                                           : Result<std::vector<EValue>>(std::vector<EValue>{*input, *position}));
  inputs.insert(inputs.end(), more.begin(), more.end());
  auto outputs = run(method_name, inputs);
  if (outputs.ok()) {
    ET_CHECK_OK_OR_RETURN_ERROR(io_manager_->update_decode(*outputs, method_name));
  }
  return outputs;
}

Result<Tensor> TextDecoderRunner::step_padded(const TensorPtr& input) {
  const auto length = static_cast<int64_t>(input->numel());
  ET_CHECK_OR_RETURN_ERROR(length < static_length_, InvalidArgument,
                           "%" PRId64 " tokens do not fit: the program takes %" PRId64, length, static_length_);
  const auto* const tokens = input->const_data_ptr<int64_t>();
  std::vector<int64_t> padded(tokens, tokens + length);
  padded.resize(static_cast<size_t>(static_length_), 0);
  const auto all = from_blob(padded.data(), {1, static_cast<SizesType>(static_length_)}, ScalarType::Long);
  ET_ASSIGN_OR_RETURN(logits, logits_of(execute(all, static_length_, 0, method_name_), method_name_));
  ET_CHECK_OR_RETURN_ERROR(
      logits.dim() == 3 && logits.size(1) == static_length_, NotSupported,
      "the program takes exactly %" PRId64
      " tokens and gives the logits of the last one only, so that it cannot run "
      "for %" PRId64
      " tokens. Export it with debug.generate_full_logits=true, with model.enable_dynamic_shape=true, or "
      "with a cache",
      static_length_, length);
  // Tokens attend only to earlier tokens, so the padding does not change the first rows.
  view_ = from_blob(const_cast<void*>(logits.const_data_ptr()),
                    {1, static_cast<SizesType>(length), static_cast<SizesType>(logits.size(2))}, logits.scalar_type());
  return *view_;
}

}  // namespace llm
}  // namespace extension
}  // namespace executorch
