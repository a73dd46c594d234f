// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cinttypes>
#include <cstdio>

#include <executorch/runtime/core/exec_aten/util/scalar_type_util.h>
#include <executorch/runtime/core/exec_aten/util/tensor_dimension_limit.h>
#include <executorch/runtime/core/fixed_text.h>
#include <executorch/runtime/core/same_text.h>
#include <executorch/runtime/kernel/find_kernel.h>
#include <executorch/runtime/kernel/operator_registry.h>
#include <executorch/runtime/kernel/prim_ops/prim_ops.h>
#include <executorch/runtime/platform/system.h>

// Capacity of the table. A selective build sets EXECUTORCH_SELECTED_MAX_KERNEL_NUM to what its models need.
#ifndef MAX_KERNEL_NUM
#ifdef EXECUTORCH_SELECTED_MAX_KERNEL_NUM
#define MAX_KERNEL_NUM EXECUTORCH_SELECTED_MAX_KERNEL_NUM
#else
#define MAX_KERNEL_NUM 2000
#endif
#endif

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {
namespace {

using ::executorch::runtime::internal::FixedText;

constexpr size_t kMaxKernels = MAX_KERNEL_NUM;
static_assert(kMaxKernels > 0 && kMaxKernels < 0xffff, "MAX_KERNEL_NUM must be within 1 to 65534");

// The smallest power of two that is at least twice the capacity, so that probes are short even if the table is full.
constexpr size_t slot_count() {
  size_t n = 2;
  while (n < 2 * kMaxKernels) {
    n *= 2;
  }
  return n;
}
constexpr size_t kSlots = slot_count();

// Kernels in the order of registration, and an open-addressing hash index over their names: a slot holds the number of
// a kernel plus one, 0 is free. Kernels of one operator share the probe sequence of its name. All of it is
// zero-initialised.
Kernel kernels[kMaxKernels];
uint16_t slots[kSlots];
size_t kernel_count = 0;

// FNV-1a (Fowler, Noll, Vo), folded, because its low bits are mixed too little for short names.
size_t first_slot(const char* name) {
  uint32_t hash = 2166136261u;
  for (; *name != '\0'; ++name) {
    hash = (hash ^ static_cast<uint8_t>(*name)) * 16777619u;
  }
  return (hash ^ (hash >> 15)) & (kSlots - 1);
}

size_t next_slot(size_t slot) {
  return (slot + 1) & (kSlots - 1);
}

// The library that contains a kernel's code, for messages.
const char* library_of(OpFunction function) {
  const char* name = et_pal_get_shared_library_name(reinterpret_cast<const void*>(function));
  return name == DYNAMIC_LIBRARY_NOT_SUPPORTED || name == DYNAMIC_LIBRARY_NOT_FOUND ? "this program" : name;
}

const char* key_text(const KernelKey& key) {
  return key.is_fallback() ? "fallback" : key.data();
}

// Finds the kernel with exactly this key, or null; `*slot` is where it is or belongs.
const Kernel* find_exact(const char* name, const KernelKey& key, size_t* slot) {
  for (*slot = first_slot(name); slots[*slot] != 0; *slot = next_slot(*slot)) {
    const Kernel& kernel = kernels[slots[*slot] - 1];
    if (::executorch::runtime::internal::same_text(kernel.name_, name) && kernel.kernel_key_ == key) {
      return &kernel;
    }
  }
  return nullptr;
}

Error add(const Kernel& kernel) {
  ET_CHECK_OR_RETURN_ERROR(kernel.name_ != nullptr && kernel.op_ != nullptr, InvalidArgument,
                           "a kernel needs a name and a function; found the name %s and %s function",
                           kernel.name_ != nullptr ? kernel.name_ : "null", kernel.op_ != nullptr ? "a" : "no");
  size_t slot = 0;
  const Kernel* existing = find_exact(kernel.name_, kernel.kernel_key_, &slot);
  ET_CHECK_OR_RETURN_ERROR(existing == nullptr, RegistrationAlreadyRegistered,
                           "the kernel %s (%s) in %s is registered already, as kernel number %" ET_PRIsize_t
                           " in %s. Link one library that implements the operator, or call its register function once",
                           kernel.name_, key_text(kernel.kernel_key_), library_of(kernel.op_),
                           static_cast<size_t>(existing - kernels), library_of(existing->op_));
  ET_CHECK_OR_RETURN_ERROR(kernel_count < kMaxKernels, RegistrationExceedingMaxKernels,
                           "the kernel %s does not fit: the table holds %" ET_PRIsize_t
                           " kernels. Build with a larger MAX_KERNEL_NUM, or register fewer operators",
                           kernel.name_, kMaxKernels);
  kernels[kernel_count] = kernel;
  slots[slot] = static_cast<uint16_t>(++kernel_count);
  return Error::Ok;
}

// Removes the kernel that was added last. No other kernel follows it in its probe sequence, so its slot becomes free.
void remove_last() {
  size_t slot = first_slot(kernels[kernel_count - 1].name_);
  while (slots[slot] != kernel_count) {
    slot = next_slot(slot);
  }
  slots[slot] = 0;
  kernels[--kernel_count] = Kernel();
}

// Whether a key "dtypes/1001..." has a 1 for the dtype of every tensor.
bool lists_dtypes(const char* key, Span<const TensorMeta> tensors) {
  key += sizeof("dtypes/") - 1;
  for (const TensorMeta& tensor : tensors) {
    if (key[static_cast<size_t>(tensor.dtype_)] != '1') {
      return false;
    }
  }
  return true;
}

// Selects the best of several kernels: an exact match of the key, else the fallback.
class Selection {
 public:
  Selection(const char* name, Span<const TensorMeta> meta_list) : name_(name), meta_list_(meta_list) { key_[0] = '\0'; }

  // True when `kernel` is an exact match: no other can be better.
  ET_NOINLINE bool offer(const Kernel& kernel) {
    if (!::executorch::runtime::internal::same_text(kernel.name_, name_)) {
      return false;
    }
    const KernelKey key = kernel.kernel_key_;
    if (key.is_fallback() || key.data()[0] == 'd') {
      if (fallback_ == nullptr && (key.is_fallback() || lists_dtypes(key.data(), meta_list_))) {
        fallback_ = kernel.op_;
      }
      return false;
    }
    // The text is made only for operators with specialised kernels.
    if (key_[0] == '\0' && !meta_list_.empty()) {
      (void)internal::make_kernel_key_string(meta_list_, key_, sizeof(key_));
    }
    if (key_[0] != '\0' && ::executorch::runtime::internal::same_text(key_, kernel.kernel_key_.data())) {
      exact_ = kernel.op_;
      return true;
    }
    return false;
  }

  OpFunction best() const { return exact_ != nullptr ? exact_ : fallback_; }

 private:
  const char* name_;
  Span<const TensorMeta> meta_list_;
  OpFunction exact_ = nullptr;
  OpFunction fallback_ = nullptr;
  char key_[KernelKey::MAX_SIZE];
};

// Appends "dtype Float (6), dim order (0,1)" to a text of `length` characters; what does not fit is left out.
size_t describe(const TensorMeta& meta, char* text, size_t length, size_t size) {
  const auto append = [&](const char* format, auto... values) {
    const int written = length < size ? snprintf(text + length, size - length, format, values...) : 0;
    length = std::min(length + (written > 0 ? static_cast<size_t>(written) : 0), size - 1);
  };
  append("dtype %s (%d), dim order (", toString(meta.dtype_), static_cast<int>(meta.dtype_));
  for (size_t d = 0; d < meta.dim_order_.size() && d < kTensorDimensionLimit; ++d) {
    append(d == 0 ? "%u" : ",%u", static_cast<unsigned>(meta.dim_order_[d]));
  }
  append("%s", ")");
  return length;
}

Result<OpFunction> found_or_missing(OpFunction function, const char* name, Span<const TensorMeta> meta_list) {
  if (function != nullptr) {
    return function;
  }
  if constexpr (ET_LOG_ENABLED) {
    char tensors[256] = "";
    size_t length = 0;
    for (size_t i = 0; i < meta_list.size() && length + 2 < sizeof(tensors); ++i) {
      if (i > 0) {
        std::memcpy(tensors + length, "; ", sizeof("; "));
        length += 2;
      }
      length = describe(meta_list[i], tensors, length, sizeof(tensors));
    }
    ET_LOG(Error,
           "kernel '%s' is not registered for these tensors (%s). Link a kernel library that has it (with a selective "
           "build, generate it from this model)",
           name, tensors);
  }
  return Error::OperatorMissing;
}

}  // namespace

}  // namespace ET_RUNTIME_NAMESPACE

namespace runtime {
namespace internal {

OpFunction find_kernel(const char* name, Span<const TensorMeta> tensors) {
  Selection selection(name, tensors);
  for (size_t slot = first_slot(name); slots[slot] != 0; slot = next_slot(slot)) {
    const Kernel& kernel = kernels[slots[slot] - 1];
    if (selection.offer(kernel)) {
      break;
    }
  }
  return selection.best();
}

OpFunction find_kernel(const char* name, Span<const TensorMeta> tensors, Span<const Kernel> kernel_list) {
  Selection selection(name, tensors);
  for (const Kernel& kernel : kernel_list) {
    if (kernel.name_ != nullptr && selection.offer(kernel)) {
      break;
    }
  }
  return selection.best();
}

Error make_kernel_key_string(Span<const TensorMeta> key, char* buffer, size_t buffer_size) {
  bool fits = buffer_size > 0;
  if (fits) {
    FixedText text(buffer, buffer_size);
    // An operator without tensors has no specialised kernels.
    for (size_t i = 0; i < key.size(); ++i) {
      text.append(i == 0 ? "v1/" : "|");
      text.append_number(static_cast<size_t>(key[i].dtype_));
      text.append(";");
      for (size_t d = 0; d < key[i].dim_order_.size(); ++d) {
        text.append(d == 0 ? "" : ",");
        text.append_number(key[i].dim_order_[d]);
      }
    }
    fits = text.fits();
    buffer[0] = fits ? buffer[0] : '\0';
  }
  ET_CHECK_OR_RETURN_ERROR(fits, InvalidArgument,
                           "a kernel key of %" ET_PRIsize_t " tensors does not fit %" ET_PRIsize_t " bytes", key.size(),
                           buffer_size);
  return Error::Ok;
}

void log_tensor_meta(Span<const TensorMeta> meta_list) {
  for (size_t i = 0; ET_LOG_ENABLED && i < meta_list.size(); ++i) {
    char text[128] = "";
    describe(meta_list[i], text, 0, sizeof(text));
    ET_LOG(Error, "tensor %" ET_PRIsize_t ": %s", i, text);
  }
}

}  // namespace internal
}  // namespace runtime

namespace ET_RUNTIME_NAMESPACE {

Error register_kernels(const Span<const Kernel> new_kernels) {
  const size_t count_before = kernel_count;
  for (const Kernel& kernel : new_kernels) {
    const Error error = add(kernel);
    if (error != Error::Ok) {
      while (kernel_count > count_before) {
        remove_last();
      }
      return error;
    }
  }
  return Error::Ok;
}

namespace {

/// Registers the prim operators at the first use of the registry, so that no static initialiser is needed. A failure is
/// logged here, and is an error of Program::load().
void provide_prim_ops() {
  (void)::executorch::runtime::prim_ops::register_prim_ops();
}

Error check_name(const char* name) {
  ET_CHECK_OR_RETURN_ERROR(name != nullptr, InvalidArgument,
                           "expected the name of an operator, such as aten::add.out, found a null pointer");
  return Error::Ok;
}

}  // namespace

Span<const Kernel> get_registered_kernels() {
  provide_prim_ops();
  return {kernels, kernel_count};
}

bool registry_has_op_function(const char* name, Span<const TensorMeta> meta_list) {
  provide_prim_ops();
  return name != nullptr && internal::find_kernel(name, meta_list) != nullptr;
}

Result<OpFunction> get_op_function_from_registry(const char* name, Span<const TensorMeta> meta_list) {
  ET_CHECK_OK_OR_RETURN_ERROR(check_name(name));
  provide_prim_ops();
  return found_or_missing(internal::find_kernel(name, meta_list), name, meta_list);
}

Result<OpFunction> get_op_function_from_registry(const char* name, Span<const TensorMeta> meta_list,
                                                 Span<const Kernel> kernel_list) {
  ET_CHECK_OK_OR_RETURN_ERROR(check_name(name));
  return found_or_missing(internal::find_kernel(name, meta_list, kernel_list), name, meta_list);
}

}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch
