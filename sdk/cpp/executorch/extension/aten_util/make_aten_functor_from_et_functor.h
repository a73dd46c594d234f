// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * Registers a kernel of this runtime in PyTorch, so that one source serves both:
 *
 *     Tensor& my_relu_out(const Tensor& x, Tensor& out);   // the kernel
 *     TORCH_LIBRARY(my_ops, m) {
 *       m.def("relu.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)", WRAP_TO_ATEN(my_relu_out, 1));
 *     }
 *
 * A kernel receives contiguous tensors: tensors with other strides are copied, and outputs are copied back. The kernel
 * may make an output smaller, not larger. Arguments that the runtime cannot express (another device, a dtype that only
 * PyTorch has), and a kernel that fails, throw c10::Error: a RuntimeError in Python.
 */
#pragma once

#include <ATen/Functions.h>
#include <ATen/Tensor.h>
#include <ATen/core/List.h>

#include <cstddef>
#include <limits>
#include <optional>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <executorch/extension/aten_util/aten_bridge.h>
#include <executorch/extension/memory_allocator/malloc_memory_allocator.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/exec_aten/util/tensor_dimension_limit.h>
#include <executorch/runtime/kernel/kernel_runtime_context.h>

namespace executorch {
namespace extension {
namespace internal {

/// Returns `tensor` if it is contiguous, otherwise a contiguous copy.
inline at::Tensor readable(const at::Tensor& tensor) {
  TORCH_CHECK(tensor.device().is_cpu() && tensor.layout() == at::kStrided,
              "kernels of this runtime take dense tensors on the CPU, found one on ", tensor.device(), " of layout ",
              tensor.layout());
  // The dtypes of the runtime come first in PyTorch's enumeration and have the same numbers.
  TORCH_CHECK(static_cast<int>(tensor.scalar_type()) < static_cast<int>(aten::ScalarType::Undefined),
              "the runtime has no dtype for ", tensor.scalar_type());
  TORCH_CHECK(tensor.dim() <= static_cast<int64_t>(runtime::kTensorDimensionLimit), "expected at most ",
              runtime::kTensorDimensionLimit, " dimensions, found ", tensor.dim());
  for (const int64_t size : tensor.sizes()) {
    TORCH_CHECK(size <= std::numeric_limits<aten::SizesType>::max(), "size ", size, " is too large for a kernel");
  }
  return tensor.resolve_conj().resolve_neg().contiguous();
}

/// How PyTorch passes a parameter of type T (`type`), and an object that converts it to a T (get()) and owns the memory
/// that the T points to. Numbers and bools are passed unchanged.
template <typename T>
struct FromAten {
  using type = T;
  explicit FromAten(T value) : value_(value) {}
  T get() { return value_; }

 private:
  T value_;
};

template <>
struct FromAten<aten::Tensor> {
  using type = const at::Tensor&;
  explicit FromAten(const at::Tensor& tensor)
      : contiguous_(readable(tensor)), tensor_(alias_tensor_ptr_to_attensor(contiguous_)) {}
  aten::Tensor& get() { return *tensor_; }

 private:
  at::Tensor contiguous_;
  TensorPtr tensor_;
};

/// An output, which the kernel may resize to a smaller size.
struct OutputFromAten {
  using type = at::Tensor&;
  explicit OutputFromAten(at::Tensor& tensor)
      : at_(tensor), contiguous_(readable(tensor)), tensor_(alias_tensor_ptr_to_attensor(contiguous_)) {}
  aten::Tensor& get() { return *tensor_; }
  void finish() {
    const std::vector<int64_t> sizes(tensor_->sizes().begin(), tensor_->sizes().end());
    const bool is_copy = !contiguous_.is_same(at_);
    if (at_.sizes() != at::IntArrayRef(sizes)) {
      at_.resize_(sizes);
      contiguous_.resize_(sizes);
    }
    if (is_copy) {
      at_.copy_(contiguous_);
    }
  }

 private:
  at::Tensor& at_;
  at::Tensor contiguous_;
  TensorPtr tensor_;
};

template <>
struct FromAten<aten::Scalar> {
  using type = const at::Scalar&;
  explicit FromAten(const at::Scalar& scalar) : scalar_(convert(scalar)) {}
  aten::Scalar get() { return scalar_; }

 private:
  static aten::Scalar convert(const at::Scalar& scalar) {
    if (scalar.isBoolean()) {
      return aten::Scalar(scalar.to<bool>());
    }
    return scalar.isIntegral(/*includeBool=*/false) ? aten::Scalar(scalar.to<int64_t>())
                                                    : aten::Scalar(scalar.to<double>());
  }
  aten::Scalar scalar_;
};

template <>
struct FromAten<aten::ScalarType> {
  using type = at::ScalarType;
  explicit FromAten(at::ScalarType scalar_type)
      : scalar_type_(torch_to_executorch_scalar_type(c10::scalarTypeToTypeMeta(scalar_type))) {}
  aten::ScalarType get() { return scalar_type_; }

 private:
  aten::ScalarType scalar_type_;
};

/// Lists of numbers, which share PyTorch's memory.
template <typename T>
struct FromAten<aten::ArrayRef<T>> {
  using type = at::ArrayRef<T>;
  explicit FromAten(at::ArrayRef<T> list) : list_(list.data(), list.size()) {}
  aten::ArrayRef<T> get() { return list_; }

 private:
  aten::ArrayRef<T> list_;
};

template <>
struct FromAten<aten::ArrayRef<aten::Tensor>> {
  using type = at::ArrayRef<at::Tensor>;
  explicit FromAten(at::ArrayRef<at::Tensor> list) {
    kept_.reserve(list.size());
    for (const at::Tensor& tensor : list) {
      kept_.emplace_back(tensor);
      tensors_.push_back(kept_.back().get());
    }
  }
  aten::ArrayRef<aten::Tensor> get() { return {tensors_.data(), tensors_.size()}; }

 private:
  std::vector<FromAten<aten::Tensor>> kept_;
  std::vector<aten::Tensor> tensors_;
};

template <>
struct FromAten<aten::ArrayRef<std::optional<aten::Tensor>>> {
  using type = const c10::List<std::optional<at::Tensor>>&;
  explicit FromAten(const c10::List<std::optional<at::Tensor>>& list) {
    kept_.reserve(list.size());
    for (const std::optional<at::Tensor> tensor : list) {
      if (tensor.has_value()) {
        kept_.emplace_back(*tensor);
      }
      tensors_.push_back(tensor.has_value() ? std::optional<aten::Tensor>(kept_.back().get()) : std::nullopt);
    }
  }
  aten::ArrayRef<std::optional<aten::Tensor>> get() { return {tensors_.data(), tensors_.size()}; }

 private:
  std::vector<FromAten<aten::Tensor>> kept_;
  std::vector<std::optional<aten::Tensor>> tensors_;
};

template <typename T>
struct FromAten<std::optional<T>> {
  using type = const std::optional<std::decay_t<typename FromAten<T>::type>>&;
  explicit FromAten(type value) {
    if (value.has_value()) {
      kept_.emplace(*value);
    }
  }
  std::optional<T> get() { return kept_.has_value() ? std::optional<T>(kept_->get()) : std::nullopt; }

 private:
  std::optional<FromAten<T>> kept_;
};

template <typename Parameter>
using FromAtenOf = std::conditional_t<std::is_same_v<Parameter, aten::Tensor&>, OutputFromAten,
                                      FromAten<std::remove_cv_t<std::remove_reference_t<Parameter>>>>;

/// The output index of a kernel that returns something other than a tensor.
constexpr int kNoOutput = -1;

template <auto kFunction, int kOutput, bool kContext, typename Return, typename... Parameters>
struct AtenCall {
  using Arguments = std::tuple<typename FromAtenOf<Parameters>::type...>;

  template <int kIndex, bool kIsOutput = (kIndex >= 0)>
  struct Result {
    using type = Return;
  };
  template <int kIndex>
  struct Result<kIndex, true> {
    static_assert(kIndex < static_cast<int>(sizeof...(Parameters)), "N is not the index of a parameter");
    using type = at::Tensor&;
    static_assert(std::is_same_v<std::tuple_element_t<kIndex, Arguments>, type>, "the output must be a Tensor&");
  };

  static typename Result<kOutput>::type call(typename FromAtenOf<Parameters>::type... arguments) {
    return invoke(std::index_sequence_for<Parameters...>(), arguments...);
  }

 private:
  template <size_t... kIndex>
  static typename Result<kOutput>::type invoke(std::index_sequence<kIndex...>,
                                               typename FromAtenOf<Parameters>::type... arguments) {
    std::tuple<FromAtenOf<Parameters>...> converted{FromAtenOf<Parameters>(arguments)...};
    MallocMemoryAllocator temporary;
    runtime::KernelRuntimeContext context(nullptr, &temporary);
    const auto run = [&]() -> decltype(auto) {
      if constexpr (kContext) {
        return kFunction(context, std::get<kIndex>(converted).get()...);
      } else {
        return kFunction(std::get<kIndex>(converted).get()...);
      }
    };
    const auto check = [&] {
      TORCH_CHECK(context.failure_state() == runtime::Error::Ok,
                  "the kernel failed: ", runtime::error_name(context.failure_state()), "; the log says why");
    };
    if constexpr (kOutput >= 0) {
      (void)run();
      check();
      (finish(std::get<kIndex>(converted)), ...);
      return std::get<kOutput>(Arguments(arguments...));
    } else if constexpr (std::is_void_v<Return>) {
      run();
      check();
      (finish(std::get<kIndex>(converted)), ...);
    } else {
      Return result = run();
      check();
      return result;
    }
  }

  template <typename Converted>
  static void finish(Converted& converted) {
    if constexpr (std::is_same_v<Converted, OutputFromAten>) {
      converted.finish();
    }
  }
};

template <typename Function, Function kFunction, int kOutput>
struct AtenFunctor;
template <typename Return, typename... Parameters, Return (*kFunction)(Parameters...), int kOutput>
struct AtenFunctor<Return (*)(Parameters...), kFunction, kOutput>
    : AtenCall<kFunction, kOutput, false, Return, Parameters...> {};
template <typename Return, typename... Parameters, Return (*kFunction)(runtime::KernelRuntimeContext&, Parameters...),
          int kOutput>
struct AtenFunctor<Return (*)(runtime::KernelRuntimeContext&, Parameters...), kFunction, kOutput>
    : AtenCall<kFunction, kOutput, true, Return, Parameters...> {};

}  // namespace internal
}  // namespace extension
}  // namespace executorch

#define ET_INTERNAL_WRAP_TO_ATEN_2(function, output) \
  (&::executorch::extension::internal::AtenFunctor<decltype(&function), &function, output>::call)
#define ET_INTERNAL_WRAP_TO_ATEN_1(function) \
  ET_INTERNAL_WRAP_TO_ATEN_2(function, ::executorch::extension::internal::kNoOutput)
#define ET_INTERNAL_WRAP_TO_ATEN_SELECT(_1, _2, name, ...) name

/// WRAP_TO_ATEN(function, N): a function pointer that takes PyTorch's types, for torch.library or to be called.
/// Parameter N of the kernel, from 0 and not counting a KernelRuntimeContext&, is the output, which it returns.
/// WRAP_TO_ATEN(function): for a kernel that returns a number, or nothing.
#define WRAP_TO_ATEN(...)                                                                                 \
  ET_INTERNAL_WRAP_TO_ATEN_SELECT(__VA_ARGS__, ET_INTERNAL_WRAP_TO_ATEN_2, ET_INTERNAL_WRAP_TO_ATEN_1, ~) \
  (__VA_ARGS__)
