// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

namespace executorch {
namespace runtime {
namespace internal {
template <typename T>
using remove_cvref_t = std::remove_cv_t<std::remove_reference_t<T>>;
}  // namespace internal

template <typename Fn>
class FunctionRef;

/**
 * A reference to something callable, for parameters: two pointers, no allocation. It does not own the callable, so do
 * not store it longer than the call.
 */
template <typename Ret, typename... Params>
class FunctionRef<Ret(Params...)> {
 public:
  FunctionRef() = default;
  FunctionRef(std::nullptr_t) {}

  template <typename Callable>
  /* implicit */ FunctionRef(
      Callable&& callable,
      std::enable_if_t<!std::is_same<internal::remove_cvref_t<Callable>, FunctionRef>::value>* = nullptr,
      std::enable_if_t<
          std::is_void<Ret>::value ||
          std::is_convertible<decltype(std::declval<Callable>()(std::declval<Params>()...)), Ret>::value>* = nullptr)
      : call_(call<std::remove_reference_t<Callable>>), callable_(address(callable)) {}

  /// @pre The reference is not empty.
  Ret operator()(Params... params) const { return call_(callable_, std::forward<Params>(params)...); }

  explicit operator bool() const { return call_ != nullptr; }

  /// True for the same callable object.
  bool operator==(const FunctionRef<Ret(Params...)>& Other) const { return callable_ == Other.callable_; }

 private:
  // An intptr_t holds pointers to objects and to functions, which void* does not on every target.
  template <typename Callable>
  static intptr_t address(Callable& callable) {
    if constexpr (std::is_function_v<Callable>) {
      return reinterpret_cast<intptr_t>(&callable);
    } else {
      return reinterpret_cast<intptr_t>(std::addressof(callable));
    }
  }

  template <typename Callable>
  static Ret call(intptr_t callable, Params... params) {
    return (*reinterpret_cast<Callable*>(callable))(std::forward<Params>(params)...);
  }

  Ret (*call_)(intptr_t callable, Params... params) = nullptr;
  intptr_t callable_ = 0;
};

}  // namespace runtime
}  // namespace executorch
