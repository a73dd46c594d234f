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

constexpr char kSharing[] = "memory was shared with the processor";

/// Calls a function with the description of a tensor, whose type depends on its version.
template <typename Function>
void with_description(Qnn_Tensor_t& tensor, Function function) {
  if (tensor.version == QNN_TENSOR_VERSION_1) {
    function(tensor.v1);
  } else {
    function(tensor.v2);
  }
}

/// Tensors that Qualcomm's library gets: their own descriptions, with the names and sizes that the context keeps.
std::vector<Qnn_Tensor_t> described(const std::vector<TensorInfo>& infos) {
  std::vector<Qnn_Tensor_t> tensors;
  tensors.reserve(infos.size());
  for (const TensorInfo& info : infos) {
    tensors.push_back(info.tensor);
    with_description(tensors.back(), [&info](auto& tensor) {
      tensor.name = info.name.c_str();
      tensor.dimensions = const_cast<uint32_t*>(info.sizes.data());
    });
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
  places_.reserve(inputs_.size() + outputs_.size());
  for (size_t i = 0; i < inputs_.size(); ++i) {
    places_.push_back({&inputs_[i], &info_->inputs[i]});
  }
  for (size_t i = 0; i < outputs_.size(); ++i) {
    places_.push_back({&outputs_[i], &info_->outputs[i]});
  }
  const Interface& call = context_->functions();
  return answer(&call, call.graphRetrieve(context_->handle(), info_->name.c_str(), &graph_), "QnnGraph_retrieve",
                "a graph was looked up", Error::DelegateInvalidCompatibility);
}

Delegate::~Delegate() {
  for (Place& place : places_) {
    (void)unregister(place);
  }
}

Error Delegate::execute(Span<EValue*> args) {
  const size_t inputs = inputs_.size();
  ET_CHECK_OK_OR_RETURN_ERROR(check_count(qnn_backend_key, args, inputs, outputs_.size()));
  for (size_t i = 0; i < args.size(); ++i) {
    const bool is_input = i < inputs;
    ET_CHECK_OK_OR_RETURN_ERROR(bind(is_input, is_input ? i : i - inputs, *args[i], places_[i]));
  }
  const Interface& call = context_->functions();
  return answer(&call,
                call.graphExecute(graph_, inputs_.data(), static_cast<uint32_t>(inputs), outputs_.data(),
                                  static_cast<uint32_t>(outputs_.size()), nullptr, nullptr),
                "QnnGraph_execute", "the graph was run", Error::DelegateInvalidHandle);
}

Error Delegate::bind(bool is_input, size_t index, const EValue& value, Place& place) const {
  const TensorInfo& info = *place.info;
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
  void* const data = const_cast<void*>(given.const_data_ptr());
  const SharedBuffer shared = shares_ ? SharedMemory::get().find(data) : SharedBuffer{};
  if (shared.id != 0 && shared.size >= info.bytes) {
    return share(shared, place);
  }
  with_description(*place.tensor, [data, &info](auto& tensor) {
    tensor.memType = QNN_TENSORMEMTYPE_RAW;
    tensor.clientBuf.data = data;
    tensor.clientBuf.dataSize = static_cast<uint32_t>(info.bytes);
  });
  return Error::Ok;
}

Error Delegate::share(const SharedBuffer& buffer, Place& place) const {
  if (place.memory != buffer.id) {
    ET_CHECK_OK_OR_RETURN_ERROR(unregister(place));
    Qnn_MemDescriptor_t descriptor = {};
    descriptor.memShape.numDim = static_cast<uint32_t>(place.info->sizes.size());
    descriptor.memShape.dimSize = const_cast<uint32_t*>(place.info->sizes.data());
    with_description(*place.tensor, [&descriptor](auto& tensor) { descriptor.dataType = tensor.dataType; });
    descriptor.memType = QNN_MEM_TYPE_ION;
    descriptor.ionInfo.fd = buffer.descriptor;
    const Interface& call = context_->functions();
    ET_CHECK_OK_OR_RETURN_ERROR(answer(&call, call.memRegister(context_->handle(), &descriptor, 1, &place.handle),
                                       "QnnMem_register", kSharing, Error::DelegateInvalidHandle));
    place.memory = buffer.id;
  }
  with_description(*place.tensor, [&place](auto& tensor) {
    tensor.memType = QNN_TENSORMEMTYPE_MEMHANDLE;
    tensor.memHandle = place.handle;
  });
  return Error::Ok;
}

Error Delegate::unregister(Place& place) const {
  if (place.memory == 0) {
    return Error::Ok;
  }
  place.memory = 0;
  const Interface& call = context_->functions();
  return answer(&call, call.memDeRegister(&place.handle, 1), "QnnMem_deRegister", kSharing,
                Error::DelegateInvalidHandle);
}

}  // namespace qnn
}  // namespace backends
}  // namespace executorch
