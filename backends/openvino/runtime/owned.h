// SPDX-License-Identifier: BSD-3-Clause
// Owners of OpenVINO's objects.
#pragma once

#include <memory>

#include "library.h"

namespace executorch {
namespace backends {
namespace openvino {

/// Frees an object of type T with the function `free` of the library.
template <typename T, void (*Library::*free)(T*)>
struct Freed {
  const Library* library = nullptr;
  void operator()(T* object) const { (library->*free)(object); }
};

template <typename T, void (*Library::*free)(T*)>
using Owned = std::unique_ptr<T, Freed<T, free>>;

using OwnedCore = Owned<OvCore, &Library::core_free>;
using OwnedModel = Owned<OvModel, &Library::model_free>;
using OwnedCompiledModel = Owned<OvCompiledModel, &Library::compiled_model_free>;
using OwnedRequest = Owned<OvInferRequest, &Library::infer_request_free>;
using OwnedTensor = Owned<OvTensor, &Library::tensor_free>;
using OwnedPort = Owned<OvConstPort, &Library::output_const_port_free>;

}  // namespace openvino
}  // namespace backends
}  // namespace executorch
