// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor_ptr.h>
#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/result.h>

namespace executorch {
namespace extension {
namespace llm {

/// Makes the inputs of a program's methods, and gets their outputs. This class passes the tokens and their position,
/// for programs that store their cache. Subclasses can pass caches as inputs and outputs.
class IOManager {
 public:
  /// `module` must outlive this object.
  explicit IOManager(ET_MODULE_NAMESPACE::Module& module) : module_(module) {}
  virtual ~IOManager() = default;

  /// Called once, before anything runs.
  ET_NODISCARD virtual runtime::Error load(const std::string& prefill_method, const std::string& decode_method) {
    (void)prefill_method, (void)decode_method;
    return runtime::Error::Ok;
  }
  ET_NODISCARD runtime::Error load() { return load("forward", "forward"); }

  /// Called when a conversation begins.
  ET_NODISCARD virtual runtime::Error reset(const std::string& prefill_method, const std::string& decode_method) {
    (void)prefill_method, (void)decode_method;
    return runtime::Error::Ok;
  }
  ET_NODISCARD runtime::Error reset() { return reset("forward", "forward"); }

  /// The inputs of a call: `input`, int64 [1, tokens], and `start_pos`, see populate_start_pos_or_cache_position(),
  /// which must outlive the inputs. InvalidArgument if the method does not take two inputs.
  virtual runtime::Result<std::vector<runtime::EValue>> prepare_prefill(const TensorPtr& input,
                                                                        const TensorPtr& start_pos,
                                                                        const std::string& prefill_method) {
    return tokens_and_position(input, start_pos, prefill_method);
  }
  runtime::Result<std::vector<runtime::EValue>> prepare_prefill(const TensorPtr& input, const TensorPtr& start_pos) {
    return prepare_prefill(input, start_pos, "forward");
  }
  virtual runtime::Result<std::vector<runtime::EValue>> prepare_decode(const TensorPtr& input,
                                                                       const TensorPtr& start_pos,
                                                                       const std::string& decode_method) {
    return tokens_and_position(input, start_pos, decode_method);
  }
  runtime::Result<std::vector<runtime::EValue>> prepare_decode(const TensorPtr& input, const TensorPtr& start_pos) {
    return prepare_decode(input, start_pos, "forward");
  }

  /// Called with the outputs of each call.
  ET_NODISCARD virtual runtime::Error update_prefill(const std::vector<runtime::EValue>& model_outputs,
                                                     const std::string& prefill_method) {
    (void)model_outputs, (void)prefill_method;
    return runtime::Error::Ok;
  }
  ET_NODISCARD runtime::Error update_prefill(const std::vector<runtime::EValue>& model_outputs) {
    return update_prefill(model_outputs, "forward");
  }
  ET_NODISCARD virtual runtime::Error update_decode(const std::vector<runtime::EValue>& model_outputs,
                                                    const std::string& decode_method) {
    (void)model_outputs, (void)decode_method;
    return runtime::Error::Ok;
  }
  ET_NODISCARD runtime::Error update_decode(const std::vector<runtime::EValue>& model_outputs) {
    return update_decode(model_outputs, "forward");
  }

 protected:
  runtime::Result<std::vector<runtime::EValue>> tokens_and_position(const TensorPtr& input, const TensorPtr& start_pos,
                                                                    const std::string& method) {
    ET_ASSIGN_OR_RETURN(meta, module_.method_meta(method));
    ET_CHECK_OR_RETURN_ERROR(meta.num_inputs() == 2, InvalidArgument,
                             "method '%s' takes %zu inputs; expected tokens and their position", method.c_str(),
                             meta.num_inputs());
    return std::vector<runtime::EValue>{*input, *start_pos};
  }

 private:
  ET_MODULE_NAMESPACE::Module& module_;
};

}  // namespace llm
}  // namespace extension
}  // namespace executorch
