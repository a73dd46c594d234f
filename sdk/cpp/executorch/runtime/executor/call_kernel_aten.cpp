// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/executor/call_kernel.h>

#include <exception>

#include <ATen/core/LegacyTypeDispatch.h>
#include <c10/util/Exception.h>

#include <executorch/runtime/core/exec_aten/util/tensor_access.h>
#include <executorch/runtime/platform/log.h>

namespace executorch {
namespace runtime {
namespace internal {
namespace {

class LogWarnings final : public ::c10::WarningHandler {
 public:
  void process(const ::c10::Warning& warning) override { ET_LOG(Debug, "%s", warning.msg().c_str()); }
};

void make_safe(const EValue& value);

void make_safe(aten::ArrayRef<EValue*> items) {
  for (const EValue* item : items) {
    if (item != nullptr) {
      make_safe(*item);
    }
  }
}

void make_safe(const EValue& value) {
  if (value.isTensor()) {
    forget_what_has_no_memory(value.toTensor());
  } else if (value.isTensorList()) {
    make_safe(value.payload.copyable_union.as_tensor_list_ptr->wrapped_values());
  } else if (value.isListOptionalTensor()) {
    make_safe(value.payload.copyable_union.as_list_optional_tensor_ptr->wrapped_values());
  }
}

void failed(KernelRuntimeContext& context, Span<EValue*> args, const char* what) {
  ET_LOG(Error, "A kernel of PyTorch has thrown: %s", what);
  for (const EValue* arg : args) {
    make_safe(*arg);
  }
  context.fail(Error::Internal);
}

}  // namespace

void call_kernel(OpFunction kernel, KernelRuntimeContext& context, Span<EValue*> args) {
  // Log PyTorch's warnings at level Debug only: it warns about resized outputs, and kernels resize them in each call.
  static LogWarnings warnings;
  const ::c10::WarningUtils::WarningHandlerGuard warning_guard(&warnings);
  const ::at::AutoDispatchBelowADInplaceOrView dispatch_guard;
  try {
    kernel(context, args);
  } catch (const ::c10::Error& error) {
    failed(context, args, error.what_without_backtrace());
  } catch (const std::exception& error) {
    failed(context, args, error.what());
  } catch (...) {
    failed(context, args, "something other than a std::exception");
  }
}

void release_items(EValue& value) {
  if (value.isTensorList()) {
    value.payload.copyable_union.as_tensor_list_ptr->reset_elements();
  } else if (value.isListOptionalTensor()) {
    value.payload.copyable_union.as_list_optional_tensor_ptr->reset_elements();
  }
}

}  // namespace internal
}  // namespace runtime
}  // namespace executorch
