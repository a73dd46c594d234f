// SPDX-License-Identifier: BSD-3-Clause
#include "delegate.h"

#include <executorch/extension/delegate/arguments.h>
#include <executorch/runtime/core/exec_aten/util/tensor_util.h>
#include <executorch/runtime/platform/log.h>

#include "QnnBackend.h"

namespace executorch {
namespace backends {
namespace qnn {

using extension::delegate::Argument;
using extension::delegate::check_count;
using extension::delegate::check_dtype;
using extension::delegate::check_is_tensor;
using runtime::Error;
using runtime::EValue;
using runtime::Result;
using runtime::Span;

namespace {

/// A tensor that Qualcomm's library gets: its own description, with the names and sizes that the context keeps.
template <typename Tensor>
void describe(const TensorInfo& info, Tensor& tensor) {
  tensor.name = info.name.c_str();
  tensor.dimensions = const_cast<uint32_t*>(info.sizes.data());
  tensor.memType = QNN_TENSORMEMTYPE_RAW;
  tensor.clientBuf.data = nullptr;
  tensor.clientBuf.dataSize = static_cast<uint32_t>(info.bytes);
}

std::vector<Qnn_Tensor_t> described(const std::vector<TensorInfo>& infos) {
  std::vector<Qnn_Tensor_t> tensors;
  tensors.reserve(infos.size());
  for (const TensorInfo& info : infos) {
    tensors.push_back(info.tensor);
    if (info.tensor.version == QNN_TENSOR_VERSION_1) {
      describe(info, tensors.back().v1);
    } else {
      describe(info, tensors.back().v2);
    }
  }
  return tensors;
}

}  // namespace

Error Delegate::load(const char* method) {
  const Result<const GraphInfo*> info = context_->graph(method);
  ET_CHECK_OK_OR_RETURN_ERROR(info.error());
  info_ = *info;
  inputs_ = described(info_->inputs);
  outputs_ = described(info_->outputs);
  const Interface& call = context_->functions();
  return answer(&call, call.graphRetrieve(context_->handle(), info_->name.c_str(), &graph_), "QnnGraph_retrieve",
                "a graph was looked up", Error::DelegateInvalidCompatibility);
}

Error Delegate::execute(Span<EValue*> args) {
  const size_t inputs = inputs_.size();
  ET_CHECK_OK_OR_RETURN_ERROR(check_count(qnn_backend_key, args, inputs, outputs_.size()));
  for (size_t i = 0; i < args.size(); ++i) {
    const bool is_input = i < inputs;
    const size_t index = is_input ? i : i - inputs;
    const TensorInfo& info = is_input ? info_->inputs[index] : info_->outputs[index];
    ET_CHECK_OK_OR_RETURN_ERROR(bind(is_input, index, info, *args[i], is_input ? inputs_[index] : outputs_[index]));
  }
  const Interface& call = context_->functions();
  return answer(&call,
                call.graphExecute(graph_, inputs_.data(), static_cast<uint32_t>(inputs), outputs_.data(),
                                  static_cast<uint32_t>(outputs_.size()), nullptr, nullptr),
                "QnnGraph_execute", "the graph was run", Error::DelegateInvalidHandle);
}

Error Delegate::bind(bool is_input, size_t index, const TensorInfo& info, const EValue& value, Qnn_Tensor_t& tensor) {
  const Argument argument = {qnn_backend_key, is_input ? "input" : "output", index};
  ET_CHECK_OK_OR_RETURN_ERROR(check_is_tensor(argument, value));
  const auto& given = value.toTensor();
  ET_CHECK_OK_OR_RETURN_ERROR(check_dtype(argument, given, info.type));
  ET_CHECK_OR_RETURN_ERROR(runtime::tensor_is_default_dim_order(given), InvalidArgument,
                           "%s: %s %zu of a delegate must be contiguous, it has another dim order", argument.backend,
                           argument.kind, index);
  ET_CHECK_OR_RETURN_ERROR(given.nbytes() == info.bytes, InvalidArgument,
                           "%s: %s %zu of a delegate has %zu bytes, its graph expects %zu", argument.backend,
                           argument.kind, index, given.nbytes(), info.bytes);
  auto& buffer = tensor.version == QNN_TENSOR_VERSION_1 ? tensor.v1.clientBuf : tensor.v2.clientBuf;
  buffer.data = const_cast<void*>(given.const_data_ptr());
  return Error::Ok;
}

}  // namespace qnn
}  // namespace backends
}  // namespace executorch
