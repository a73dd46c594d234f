// SPDX-License-Identifier: BSD-3-Clause
#include "delegate.h"

#include <cinttypes>
#include <cstdio>
#include <cstring>

#include <executorch/extension/delegate/arguments.h>
#include <executorch/runtime/core/exec_aten/util/tensor_util.h>
#include <executorch/runtime/platform/log.h>

#include "EnnBackend.h"

namespace executorch {
namespace backends {
namespace enn {

using extension::delegate::Argument;
using extension::delegate::check_count;
using extension::delegate::check_is_tensor;
using runtime::Error;
using runtime::EValue;
using runtime::Span;

namespace {

constexpr uint32_t kMostTensors = 4096;
constexpr char kAllocating[] = "the memory of its tensors was made";
constexpr char kEnding[] = "it was ended";

}  // namespace

Delegate::~Delegate() {
  if (buffers_ != nullptr) {
    const auto count = static_cast<int32_t>(counts_.inputs + counts_.outputs);
    (void)answer(api_.release_buffers(buffers_, count), "EnnReleaseBuffers", kEnding, Error::DelegateInvalidHandle);
  }
  if (is_open_) {
    (void)answer(api_.close_model(model_), "EnnCloseModel", kEnding, Error::DelegateInvalidHandle);
  }
}

Error Delegate::load(Span<const uint8_t> network, int32_t chip) {
  ET_CHECK_OR_RETURN_ERROR(!network.empty() && network.size() <= UINT32_MAX, InvalidProgram,
                           "Samsung: a network has %zu bytes, expected 1 to %" PRIu32 ": export the model again",
                           network.size(), UINT32_MAX);
  ET_CHECK_OK_OR_RETURN_ERROR(session_.open());
  char opening[80];
  std::snprintf(opening, sizeof(opening),
                chip == 0 ? "a network was opened" : "a network for the chip E%" PRId32 " was opened", chip);
  ET_CHECK_OK_OR_RETURN_ERROR(answer(api_.open_model_from_memory(reinterpret_cast<const char*>(network.data()),
                                                                 static_cast<uint32_t>(network.size()), &model_),
                                     "EnnOpenModelFromMemory", opening, Error::DelegateInvalidCompatibility));
  is_open_ = true;
  ET_CHECK_OK_OR_RETURN_ERROR(answer(api_.allocate_all_buffers(model_, &buffers_, &counts_, 0, true),
                                     "EnnAllocateAllBuffersWithSessionId", kAllocating,
                                     Error::DelegateInvalidCompatibility));
  return check_buffers();
}

Error Delegate::check_buffers() const {
  ET_CHECK_OR_RETURN_ERROR(
      buffers_ != nullptr && counts_.inputs <= kMostTensors && counts_.outputs > 0 && counts_.outputs <= kMostTensors,
      DelegateInvalidCompatibility,
      "Samsung: a network has %" PRIu32 " inputs and %" PRIu32 " outputs, expected at most %" PRIu32
      " and at least one output",
      counts_.inputs, counts_.outputs, kMostTensors);
  for (uint32_t i = 0; i < counts_.inputs + counts_.outputs; ++i) {
    ET_CHECK_OR_RETURN_ERROR(buffers_[i] != nullptr && buffers_[i]->data != nullptr, DelegateInvalidCompatibility,
                             "Samsung: tensor %" PRIu32 " of a network has no memory", i);
  }
  return Error::Ok;
}

Error Delegate::execute(Span<EValue*> args) {
  ET_CHECK_OK_OR_RETURN_ERROR(check_count(enn_backend_key, args, counts_.inputs, counts_.outputs));
  for (size_t i = 0; i < counts_.inputs; ++i) {
    ET_CHECK_OK_OR_RETURN_ERROR(copy(true, i, *args[i]));
  }
  ET_CHECK_OK_OR_RETURN_ERROR(
      answer(api_.execute_model(model_), "EnnExecuteModel", "the network was run", Error::DelegateInvalidHandle));
  for (size_t i = 0; i < counts_.outputs; ++i) {
    ET_CHECK_OK_OR_RETURN_ERROR(copy(false, i, *args[counts_.inputs + i]));
  }
  return Error::Ok;
}

Error Delegate::copy(bool is_input, size_t index, const EValue& value) const {
  const Argument argument = {enn_backend_key, is_input ? "input" : "output", index};
  ET_CHECK_OK_OR_RETURN_ERROR(check_is_tensor(argument, value));
  const auto& tensor = value.toTensor();
  ET_CHECK_OR_RETURN_ERROR(runtime::tensor_is_default_dim_order(tensor), InvalidArgument,
                           "%s: %s %zu of a delegate must be contiguous, it has another dim order", argument.backend,
                           argument.kind, index);
  const Buffer& buffer = *buffers_[is_input ? index : counts_.inputs + index];
  ET_CHECK_OR_RETURN_ERROR(tensor.nbytes() <= buffer.size, InvalidArgument,
                           "%s: %s %zu of a delegate has %zu bytes, its network expects %" PRIu32
                           ": export the program again",
                           argument.backend, argument.kind, index, tensor.nbytes(), buffer.size);
  if (is_input) {
    std::memcpy(buffer.data, tensor.const_data_ptr(), tensor.nbytes());
  } else {
    std::memcpy(tensor.mutable_data_ptr(), buffer.data, tensor.nbytes());
  }
  return Error::Ok;
}

}  // namespace enn
}  // namespace backends
}  // namespace executorch
