// SPDX-License-Identifier: BSD-3-Clause
// Multiplies two float32 tensors of one shape, without a heap. Its payload is the text "mul".
#include <cstring>

#include <executorch/extension/delegate/arguments.h>
#include <executorch/extension/delegate/delegate_backend.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>

namespace executorch {
namespace backends {
namespace demo_firmware {

namespace {

using aten::ScalarType;
using aten::Tensor;
using extension::delegate::check_count;
using extension::delegate::check_is_tensor;
using extension::delegate::check_tensor;
using extension::delegate::DelegateBackend;
using extension::delegate::Loading;
using runtime::BackendExecutionContext;
using runtime::Error;
using runtime::EValue;
using runtime::Span;

constexpr char kKey[] = "DemoFirmwareBackend";

struct Delegate {};  // there is nothing to keep

class DemoFirmwareBackend final : public DelegateBackend<Delegate> {
 public:
  bool is_available() const override { return true; }

 protected:
  Error load(Loading<Delegate>& loading) const override {
    ET_CHECK_OR_RETURN_ERROR(loading.payload.size() == 3 && std::memcmp(loading.payload.data(), "mul", 3) == 0,
                             DelegateInvalidCompatibility, "the payload of %s is not the text \"mul\"", kKey);
    loading.make();
    loading.payload.Free();
    return Error::Ok;
  }

  Error run(BackendExecutionContext&, Delegate&, Span<EValue*> args) const override {
    ET_CHECK_OK_OR_RETURN_ERROR(check_count(kKey, args, 2, 1));
    ET_CHECK_OK_OR_RETURN_ERROR(check_is_tensor({kKey, "input", 0}, *args[0]));
    const auto sizes = args[0]->toTensor().sizes();
    for (size_t i = 0; i < 2; ++i) {
      ET_CHECK_OK_OR_RETURN_ERROR(check_tensor({kKey, "input", i}, *args[i], ScalarType::Float, sizes));
    }
    ET_CHECK_OK_OR_RETURN_ERROR(check_tensor({kKey, "output", 0}, *args[2], ScalarType::Float, sizes));
    const auto* const a = args[0]->toTensor().const_data_ptr<float>();
    const auto* const b = args[1]->toTensor().const_data_ptr<float>();
    Tensor product = args[2]->toTensor();
    for (ssize_t i = 0; i < product.numel(); ++i) {
      product.mutable_data_ptr<float>()[i] = a[i] * b[i];
    }
    return Error::Ok;
  }
};

}  // namespace

}  // namespace demo_firmware
}  // namespace backends
}  // namespace executorch

EXECUTORCH_REGISTER_BACKEND_AT_LOAD(demo_firmware_backend, executorch::backends::demo_firmware::kKey,
                                    executorch::backends::demo_firmware::DemoFirmwareBackend);
