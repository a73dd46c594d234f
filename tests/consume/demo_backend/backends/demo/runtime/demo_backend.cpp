// SPDX-License-Identifier: BSD-3-Clause
// Adds two float32 tensors of one shape, with the vendor's library. Its payload is the text "add".
#include "runtime/demo_backend.h"

#include <cstring>

#include <executorch/extension/delegate/arguments.h>
#include <executorch/extension/delegate/delegate_backend.h>
#include <executorch/extension/delegate/shared_library.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>

namespace executorch {
namespace backends {
namespace demo {

namespace {

using aten::ScalarType;
using aten::Tensor;
using extension::delegate::check_count;
using extension::delegate::check_is_tensor;
using extension::delegate::check_tensor;
using extension::delegate::DelegateBackend;
using extension::delegate::Loading;
using extension::delegate::SharedLibrary;
using extension::internal::report_exceptions;
using runtime::BackendExecutionContext;
using runtime::Error;
using runtime::EValue;
using runtime::Span;

/// The vendor's library, which is loaded as long as one of its objects exists.
struct Vendor {
  Vendor()
      : library(SharedLibrary::open(
            {"The Demo SDK", {"libdemo_vendor.so"}, demo_library_variable, "install it, and set DEMO_VENDOR_LIBRARY"},
            {{"demo_vendor_version", &version}, {"demo_vendor_add", &add}})) {}

  int (*version)() = nullptr;
  void (*add)(const float* a, const float* b, float* sum, size_t count) = nullptr;
  SharedLibrary library;
};

/// Error::Ok if the library can be used, else it logs why not, and what to do.
Error check(const Vendor& vendor) {
  ET_CHECK_OR_RETURN_ERROR(vendor.library.error() == Error::Ok, NotFound, "%s", vendor.library.problem().c_str());
  ET_CHECK_OR_RETURN_ERROR(vendor.version() == 2, NotSupported, "the Demo SDK has version %d, expected 2: update it",
                           vendor.version());
  return Error::Ok;
}

struct Delegate {
  Vendor vendor;
};

class DemoBackend final : public DelegateBackend<Delegate> {
 public:
  bool is_available() const override {
    return report_exceptions([] { return check(Vendor()); }) == Error::Ok;
  }

 protected:
  Error load(Loading<Delegate>& loading) const override {
    ET_CHECK_OR_RETURN_ERROR(loading.payload.size() == 3 && std::memcmp(loading.payload.data(), "add", 3) == 0,
                             DelegateInvalidCompatibility, "the payload of DemoBackend is not the text \"add\"");
    ET_CHECK_OK_OR_RETURN_ERROR(check(loading.make().vendor));
    loading.payload.Free();
    return Error::Ok;
  }

  Error run(BackendExecutionContext&, Delegate& delegate, Span<EValue*> args) const override {
    ET_CHECK_OK_OR_RETURN_ERROR(check_count(demo_backend_key, args, 2, 1));
    ET_CHECK_OK_OR_RETURN_ERROR(check_is_tensor({demo_backend_key, "input", 0}, *args[0]));
    const auto sizes = args[0]->toTensor().sizes();
    for (size_t i = 0; i < 2; ++i) {
      ET_CHECK_OK_OR_RETURN_ERROR(check_tensor({demo_backend_key, "input", i}, *args[i], ScalarType::Float, sizes));
    }
    ET_CHECK_OK_OR_RETURN_ERROR(check_tensor({demo_backend_key, "output", 0}, *args[2], ScalarType::Float, sizes));
    Tensor sum = args[2]->toTensor();
    delegate.vendor.add(args[0]->toTensor().const_data_ptr<float>(), args[1]->toTensor().const_data_ptr<float>(),
                        sum.mutable_data_ptr<float>(), static_cast<size_t>(sum.numel()));
    return Error::Ok;
  }
};

}  // namespace

}  // namespace demo
}  // namespace backends
}  // namespace executorch

EXECUTORCH_REGISTER_BACKEND_AT_LOAD(demo_backend, executorch::backends::demo::demo_backend_key,
                                    executorch::backends::demo::DemoBackend);
