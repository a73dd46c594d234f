// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <type_traits>

#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/result.h>

namespace executorch {
namespace runtime {

struct EValue;

/**
 * A list whose elements are values of a method, so that they may change between executions (a list of symbolic sizes, a
 * list of tensors). get() copies the current elements into the unwrapped array and returns a view of it.
 *
 * T is int64_t, Tensor or std::optional<Tensor>. Owns neither array; a null element of `wrapped_vals` is an empty
 * optional.
 */
template <typename T>
class BoxedEvalueList {
 public:
  BoxedEvalueList() = default;

  /**
   * @param wrapped_vals `size` pointers to the values of the elements.
   * @param unwrapped_vals Room for `size` elements.
   * @param size 0 or more; aborts otherwise, and for null arrays of a list that is not empty.
   */
  BoxedEvalueList(EValue** wrapped_vals, T* unwrapped_vals, int size)
      : wrapped_vals_(checked(wrapped_vals, unwrapped_vals, size), static_cast<size_t>(size)),
        unwrapped_vals_(unwrapped_vals) {}

  /// The elements now; valid until the next get(). Aborts when an element has another type or is missing.
  aten::ArrayRef<T> get() const;

  /// The elements now, or Error::InvalidType when one has another type, Error::InvalidState when one is missing.
  Result<aten::ArrayRef<T>> tryGet() const;

  /// The values of the elements; one that is None is null or has the tag None. For reading the elements without a copy.
  aten::ArrayRef<EValue*> wrapped_values() const { return wrapped_vals_; }

  /// The number of elements.
  size_t size() const { return wrapped_vals_.size(); }

  /// Releases the unwrapped elements and keeps their memory; the next get() fills it again. For builds whose tensors
  /// are reference counted; others hold nothing.
  void reset_elements() {
    if constexpr (std::is_default_constructible_v<T>) {
      for (size_t i = 0; i < wrapped_vals_.size(); ++i) {
        unwrapped_vals_[i] = T();
      }
    }
  }

  /// Ends the life of the unwrapped elements; for builds whose tensors are reference counted.
  void destroy_elements() {
    for (size_t i = 0; i < wrapped_vals_.size(); ++i) {
      unwrapped_vals_[i].~T();
    }
  }

 private:
  static EValue** checked(EValue** wrapped_vals, T* unwrapped_vals, int size) {
    ET_CHECK_MSG(size >= 0, "expected a list of 0 or more elements, found %d", size);
    ET_CHECK_MSG(size == 0 || (wrapped_vals != nullptr && unwrapped_vals != nullptr),
                 "a list of %d elements needs both arrays", size);
    return wrapped_vals;
  }

  aten::ArrayRef<EValue*> wrapped_vals_;
  mutable T* unwrapped_vals_ = nullptr;
};

}  // namespace runtime
}  // namespace executorch
