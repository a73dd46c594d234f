// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include <executorch/runtime/core/result.h>
#include <executorch/runtime/platform/assert.h>

namespace executorch {
namespace runtime {

/**
 * A read-only buffer and the function that frees it; move-only. Free() or the destructor frees it, once.
 *
 * The buffer is a pointer or, for a device whose addresses are not pointers of the host, a 64-bit integer.
 */
class FreeableBuffer final {
 public:
  using FreeFn = void (*)(void* context, void* data, size_t size);
  using FreeUInt64Fn = void (*)(void* context, uint64_t data_uint64, size_t size);

  /// Empty.
  FreeableBuffer() = default;

  /**
   * @param data First byte.
   * @param size Bytes.
   * @param free_fn Called once with `free_fn_context`, `data` and `size`, unless `data` is null; null when there is
   *   nothing to free.
   * @param free_fn_context Passed on; must live until the buffer is freed.
   */
  FreeableBuffer(const void* data, size_t size, FreeFn free_fn, void* free_fn_context = nullptr)
      : data_(reinterpret_cast<uintptr_t>(data)), free_fn_{free_fn}, context_(free_fn_context), size_(size) {}

  /// Same for a 64-bit device address.
  explicit FreeableBuffer(const uint64_t data_uint64, size_t size, FreeUInt64Fn free_fn,
                          void* free_fn_context = nullptr)
      : data_(data_uint64), context_(free_fn_context), size_(size), is_uint64_(true) {
    free_fn_.uint64 = free_fn;
  }

  /// Takes the buffer; `rhs` is empty afterwards and frees nothing.
  FreeableBuffer(FreeableBuffer&& rhs) noexcept
      : data_(rhs.data_), free_fn_(rhs.free_fn_), context_(rhs.context_), size_(rhs.size_), is_uint64_(rhs.is_uint64_) {
    rhs.forget();
  }
  FreeableBuffer(const FreeableBuffer&) = delete;
  FreeableBuffer& operator=(const FreeableBuffer&) = delete;
  FreeableBuffer& operator=(FreeableBuffer&&) noexcept = delete;
  ~FreeableBuffer() { Free(); }

  /// Frees the buffer; data() is then null and size() 0. A second call has no effect.
  ET_NOINLINE void Free() {
    if (data_ != 0 && is_uint64_) {
      if (free_fn_.uint64 != nullptr) {
        free_fn_.uint64(context_, data_, size_);
      }
    } else if (data_ != 0 && free_fn_.pointer != nullptr) {
      free_fn_.pointer(context_, const_cast<void*>(pointer()), size_);
    }
    forget();
  }

  /// Bytes.
  size_t size() const { return size_; }

  /// First byte, null when freed; aborts when the buffer is a 64-bit address.
  const void* data() const {
    ET_CHECK_MSG(!is_uint64_, "the buffer is a 64-bit device address; use data_uint64_type() or data_safe()");
    return pointer();
  }

  /// First byte, or Error::InvalidType when the buffer is a 64-bit address.
  Result<const void*> data_safe() const {
    ET_CHECK_OR_RETURN_ERROR(!is_uint64_, InvalidType, "the buffer is a 64-bit device address; use data_uint64_type()");
    return pointer();
  }

  /// The 64-bit address, or Error::InvalidType when the buffer is a pointer.
  Result<uint64_t> data_uint64_type() const {
    ET_CHECK_OR_RETURN_ERROR(is_uint64_, InvalidType, "the buffer is a pointer; use data()");
    return data_;
  }

 private:
  /// is_uint64_ says which one it is.
  union FreeFunction {
    FreeFn pointer;
    FreeUInt64Fn uint64;
  };

  const void* pointer() const { return reinterpret_cast<const void*>(static_cast<uintptr_t>(data_)); }

  void forget() {
    data_ = 0;
    free_fn_.pointer = nullptr;
    context_ = nullptr;
    size_ = 0;
  }

  uint64_t data_ = 0;  ///< the address, of the host or the device
  FreeFunction free_fn_ = {nullptr};
  void* context_ = nullptr;
  size_t size_ = 0;
  bool is_uint64_ = false;
};

}  // namespace runtime
}  // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::FreeableBuffer;
}  // namespace executor
}  // namespace torch
