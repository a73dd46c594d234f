// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * The table of kernels: which function implements which operator for which dtypes and dim orders.
 *
 * A kernel library registers its whole table once with register_kernels(). A static initialiser of user code may
 * register too: the table needs no construction. Registration is not synchronised; register before programs load on
 * other threads.
 */
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <executorch/runtime/core/array_ref.h>
#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/result.h>
#include <executorch/runtime/core/same_text.h>
#include <executorch/runtime/core/span.h>
#include <executorch/runtime/kernel/kernel_runtime_context.h>

/// Logs the text of a kernel key.
#define ET_LOG_KERNEL_KEY(k)                                                         \
  ET_LOG(Error, "key: %s, is_fallback: %s", (k).is_fallback() ? "null" : (k).data(), \
         (k).is_fallback() ? "true" : "false")

/// Logs the dtype and dim order of each tensor of a list of TensorMeta.
#define ET_LOG_TENSOR_META(meta_list) ::executorch::ET_RUNTIME_NAMESPACE::internal::log_tensor_meta(meta_list)

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {

/// A boxed kernel: reads its arguments from and writes its results to the values.
using OpFunction = void (*)(KernelRuntimeContext&, Span<EValue*>);

/// The properties of a tensor that select a specialised kernel. Does not own the dim order.
struct TensorMeta {
  aten::ScalarType dtype_;
  Span<aten::DimOrderType> dim_order_;

  TensorMeta() = default;
  TensorMeta(aten::ScalarType dtype, Span<aten::DimOrderType> order) : dtype_(dtype), dim_order_(order) {}

  bool operator==(const TensorMeta& other) const { return this->equals(other); }
  bool operator!=(const TensorMeta& other) const { return !this->equals(other); }
  bool equals(const TensorMeta& other) const {
    return dtype_ == other.dtype_ && dim_order_.size() == other.dim_order_.size() &&
           (dim_order_.empty() || std::memcmp(dim_order_.data(), other.dim_order_.data(), dim_order_.size()) == 0);
  }
};

/**
 * Selects the tensors that a kernel supports: "v1/" and `dtype;d0,d1,...` of each tensor argument, joined by '|', for
 * example "v1/6;0,1,2,3|6;0,1" for two Float tensors. A key without text is a fallback for all tensors. "dtypes/" and a
 * 0 or 1 for each ScalarType, in their order, is a fallback for tensors of the dtypes with a 1: a build without the
 * code for other dtypes registers such keys.
 */
struct KernelKey {
  constexpr KernelKey() = default;
  /// @param kernel_key_data NUL-terminated; must live as long as the process. Null is a fallback.
  /* implicit */ constexpr KernelKey(const char* kernel_key_data) : kernel_key_data_(kernel_key_data) {}

  /// Largest number of tensors of a key.
  static constexpr size_t MAX_NUM_TENSORS = 16;
  /// Bytes of the longest key with its NUL: "v1/" and 16 tensors of a dtype of 2 digits and 16 dimensions.
  static constexpr size_t MAX_SIZE = 659;

  bool operator==(const KernelKey& other) const { return this->equals(other); }
  bool operator!=(const KernelKey& other) const { return !this->equals(other); }
  bool equals(const KernelKey& other) const {
    if (is_fallback() || other.is_fallback()) {
      return is_fallback() == other.is_fallback();
    }
    return ::executorch::runtime::internal::same_text(kernel_key_data_, other.kernel_key_data_);
  }

  bool is_fallback() const { return kernel_key_data_ == nullptr; }
  /// Null for a fallback.
  const char* data() const { return kernel_key_data_; }

 private:
  // A fallback is all zero, so that the table of kernels is in .bss and adds no bytes to the executable.
  const char* kernel_key_data_ = nullptr;
};

/// One row of the table. The texts are not owned and must live as long as the process.
struct Kernel {
  /// Name and overload of the operator, for example "aten::add.out".
  const char* name_;
  KernelKey kernel_key_;
  OpFunction op_;

  /// A fallback.
  constexpr explicit Kernel(const char* name, OpFunction func) : name_(name), op_(func) {}
  constexpr explicit Kernel(const char* name, KernelKey key, OpFunction func)
      : name_(name), kernel_key_(key), op_(func) {}
  constexpr Kernel() : name_(nullptr), op_(nullptr) {}
};

}  // namespace ET_RUNTIME_NAMESPACE

namespace runtime {
namespace internal {

/**
 * Writes the key of these tensors.
 *
 * @param buffer KernelKey::MAX_SIZE bytes are always enough.
 * @retval Error::InvalidArgument it does not fit; the buffer holds an empty text.
 */
Error make_kernel_key_string(Span<const TensorMeta> key, char* buffer, size_t buffer_size);

void log_tensor_meta(Span<const TensorMeta> meta_list);

}  // namespace internal
}  // namespace runtime

namespace ET_RUNTIME_NAMESPACE {

/// True when the operator has a kernel for these tensors, or a fallback; false for a null name. Does not log.
bool registry_has_op_function(const char* name, Span<const TensorMeta> meta_list = {});

/**
 * The kernel for these tensors, else the fallback. The time does not depend on the number of kernels.
 *
 * @param name Name and overload, for example "aten::add.out".
 * @param meta_list Dtype and dim order of each tensor argument; empty finds fallbacks only.
 * @retval Error::OperatorMissing (logged) there is none.
 * @retval Error::InvalidArgument (logged) the name is null.
 */
::executorch::runtime::Result<OpFunction> get_op_function_from_registry(const char* name,
                                                                        Span<const TensorMeta> meta_list = {});

/// Same, in a list instead of the table; the list is searched in order.
::executorch::runtime::Result<OpFunction> get_op_function_from_registry(const char* name,
                                                                        Span<const TensorMeta> meta_list,
                                                                        Span<const Kernel> kernel_list);

/// All kernels in the order of their registration.
Span<const Kernel> get_registered_kernels();

/**
 * Adds kernels to the table: all of them or, on failure, none. Their texts are kept, the array itself is copied.
 *
 * @retval Error::RegistrationAlreadyRegistered (logged with both) an operator has a kernel with the same key already.
 * @retval Error::RegistrationExceedingMaxKernels the table is full; build with a larger MAX_KERNEL_NUM.
 * @retval Error::InvalidArgument a kernel has no name or no function.
 */
ET_NODISCARD Error register_kernels(const Span<const Kernel>);

/// register_kernels() for one kernel. Always inlined: each shared library with a runtime has a table, and the linker
/// would take one function for all of them.
ET_NODISCARD ET_INLINE Error register_kernel(const Kernel& kernel) {
  return register_kernels({&kernel, 1});
}

}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch

namespace torch {
namespace executor {
// Old names.
using ::executorch::ET_RUNTIME_NAMESPACE::Kernel;
using ::executorch::ET_RUNTIME_NAMESPACE::KernelKey;
using ::executorch::ET_RUNTIME_NAMESPACE::OpFunction;
using ::executorch::ET_RUNTIME_NAMESPACE::TensorMeta;
using KernelRuntimeContext = ::executorch::ET_RUNTIME_NAMESPACE::KernelRuntimeContext;

ET_INLINE ::executorch::runtime::Error register_kernels(ArrayRef<Kernel> kernels) {
  return ::executorch::ET_RUNTIME_NAMESPACE::register_kernels({kernels.data(), kernels.size()});
}
/// Aborts when there is none.
ET_INLINE OpFunction getOpsFn(const char* name, ArrayRef<TensorMeta> meta_list = {}) {
  auto result =
      ::executorch::ET_RUNTIME_NAMESPACE::get_op_function_from_registry(name, {meta_list.data(), meta_list.size()});
  ET_CHECK_MSG(result.ok(), "%s has no kernel", name);
  return *result;
}
ET_INLINE bool hasOpsFn(const char* name, ArrayRef<TensorMeta> meta_list = {}) {
  return ::executorch::ET_RUNTIME_NAMESPACE::registry_has_op_function(name, {meta_list.data(), meta_list.size()});
}
ET_INLINE ArrayRef<Kernel> get_kernels() {
  const auto kernels = ::executorch::ET_RUNTIME_NAMESPACE::get_registered_kernels();
  return ArrayRef<Kernel>(kernels.data(), kernels.size());
}
}  // namespace executor
}  // namespace torch
