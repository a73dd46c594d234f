// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <type_traits>

#include <executorch/runtime/platform/assert.h>

#ifdef USE_ATEN_LIB
#include <c10/util/ArrayRef.h>

namespace executorch {
namespace runtime {
using ::c10::ArrayRef;
using ::c10::IntArrayRef;
}  // namespace runtime
}  // namespace executorch

#else

namespace executorch {
namespace runtime {

/**
 * A view of constant elements that it does not own: the subset of c10::ArrayRef that kernels use.
 *
 * Cheap to copy; pass by value. The pointed-to memory must outlive the view, so never bind one to a temporary that
 * ends before the view does.
 */
template <typename T>
class ArrayRef final {
 public:
  using iterator = const T*;
  using const_iterator = const T*;
  using size_type = size_t;
  using value_type = T;

  /* implicit */ constexpr ArrayRef() noexcept : Data(nullptr), Length(0) {}

  /// A view of one element.
  /* implicit */ constexpr ArrayRef(const T& OneElt) : Data(&OneElt), Length(1) {}

  /// @param data May be null only when `length` is 0.
  ArrayRef(const T* data, size_t length) : Data(data), Length(length) { ET_DCHECK(Data != nullptr || Length == 0); }

  /// The elements in [begin, end).
  ArrayRef(const T* begin, const T* end) : Data(begin), Length(static_cast<size_t>(end - begin)) {}

  template <size_t N>
  /* implicit */ constexpr ArrayRef(const std::array<T, N>& Arr) : Data(Arr.data()), Length(N) {}

  template <size_t N>
  /* implicit */ constexpr ArrayRef(const T (&Arr)[N]) : Data(Arr), Length(N) {}

  constexpr iterator begin() const { return Data; }
  constexpr iterator end() const { return Data + Length; }
  constexpr const_iterator cbegin() const { return Data; }
  constexpr const_iterator cend() const { return Data + Length; }

  constexpr bool empty() const { return Length == 0; }
  constexpr const T* data() const { return Data; }
  constexpr size_t size() const { return Length; }

  /// First element; aborts when empty.
  const T& front() const { return at(0); }
  /// Last element; aborts when empty.
  const T& back() const {
    ET_CHECK_MSG(!empty(), "back() of an empty ArrayRef");
    return Data[Length - 1];
  }

  /// True when sizes and all elements are equal.
  bool equals(ArrayRef RHS) const {
    if (Length != RHS.Length) {
      return false;
    }
    for (size_t i = 0; i < Length; ++i) {
      if (!(Data[i] == RHS.Data[i])) {
        return false;
      }
    }
    return true;
  }

  /// The `M` elements that start at `N`; aborts when they are not all inside.
  ArrayRef<T> slice(size_t N, size_t M) const {
    ET_CHECK_MSG(N <= Length && M <= Length - N,
                 "slice(%" ET_PRIsize_t ", %" ET_PRIsize_t ") of an ArrayRef of %" ET_PRIsize_t " elements", N, M,
                 Length);
    return ArrayRef<T>(Data + N, M);
  }
  /// All but the first `N` elements.
  constexpr ArrayRef<T> slice(size_t N) const { return slice(N, N <= Length ? Length - N : Length); }

  /// @pre Index < size(); not checked.
  constexpr const T& operator[](size_t Index) const { return Data[Index]; }

  /// Element `Index`; aborts when it does not exist.
  const T& at(size_t Index) const {
    ET_CHECK_MSG(Index < Length, "index %" ET_PRIsize_t " of an ArrayRef of %" ET_PRIsize_t " elements", Index, Length);
    return Data[Index];
  }

  /// Assigning a temporary would leave a dangling view.
  template <typename U>
  std::enable_if_t<std::is_same<U, T>::value, ArrayRef>& operator=(U&& Temporary) = delete;
  template <typename U>
  std::enable_if_t<std::is_same<U, T>::value, ArrayRef>& operator=(std::initializer_list<U>) = delete;

 private:
  const T* Data;
  size_t Length;
};

template <typename T>
ArrayRef<T> makeArrayRef(const T& OneElt) {
  return OneElt;
}
template <typename T>
ArrayRef<T> makeArrayRef(const T* data, size_t length) {
  return ArrayRef<T>(data, length);
}
template <typename T>
ArrayRef<T> makeArrayRef(const T* begin, const T* end) {
  return ArrayRef<T>(begin, end);
}
template <typename T, std::size_t N>
ArrayRef<T> makeArrayRef(const std::array<T, N>& Arr) {
  return Arr;
}
template <typename T>
ArrayRef<T> makeArrayRef(const ArrayRef<T>& Vec) {
  return Vec;
}
template <typename T>
ArrayRef<T>& makeArrayRef(ArrayRef<T>& Vec) {
  return Vec;
}
template <typename T, size_t N>
ArrayRef<T> makeArrayRef(const T (&Arr)[N]) {
  return ArrayRef<T>(Arr);
}

template <typename T>
bool operator==(ArrayRef<T> a1, ArrayRef<T> a2) {
  return a1.equals(a2);
}
template <typename T>
bool operator!=(ArrayRef<T> a1, ArrayRef<T> a2) {
  return !a1.equals(a2);
}

using IntArrayRef = ArrayRef<int64_t>;

}  // namespace runtime
}  // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::makeArrayRef;
}  // namespace executor
}  // namespace torch

#endif

namespace torch {
namespace executor {
using ::executorch::runtime::ArrayRef;
using ::executorch::runtime::IntArrayRef;
}  // namespace executor
}  // namespace torch
