// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstring>
#include <deque>
#include <limits>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/exec_aten/util/scalar_type_util.h>

#include "choices.h"
#include "exact_buffer.h"

namespace executorch {
namespace fuzz {

/// In place of a number of outputs: the kernel has one output, the list that is its last argument.
constexpr size_t kReturnsList = 100;
/// The most elements of a tensor.
constexpr size_t kMaxElements = 1024;

/// Makes arguments for one call of a kernel, and owns everything that they point to.
class Arguments {
  using EValue = runtime::EValue;
  using ScalarType = aten::ScalarType;
  using Tag = runtime::Tag;
  using Tensor = aten::Tensor;
  template <typename T>
  using BoxedEvalueList = runtime::BoxedEvalueList<T>;

 public:
  explicit Arguments(Choices& choices) : choices_(choices) {}

  EValue* make(Tag tag) {
    switch (tag) {
      case Tag::Tensor:
        return keep(EValue(tensor()));
      case Tag::Int:
        return keep(EValue(integer()));
      case Tag::Double:
        return choices_.once_in(2) ? keep(EValue(integer())) : keep(EValue(real()));
      case Tag::Bool:
        return keep(EValue(choices_.once_in(2)));
      case Tag::String:
        return string();
      case Tag::ListInt:
        return list<int64_t>([this] { return keep(EValue(integer())); });
      case Tag::ListTensor:
        return list<Tensor>([this] { return keep(EValue(tensor())); });
      case Tag::ListOptionalTensor:
        return list<std::optional<Tensor>>([this] { return choices_.once_in(3) ? nullptr : keep(EValue(tensor())); });
      case Tag::ListBool:
        return bools();
      case Tag::ListDouble:
        return doubles();
      default:
        return keep(EValue());
    }
  }

  /// Appends the outputs, which the executor passes again after the arguments.
  void return_outputs(std::vector<EValue*>& stack, size_t outputs) {
    if (outputs == kReturnsList) {
      stack.push_back(stack.back());
    } else if (outputs > 1) {
      returned_.assign(stack.end() - static_cast<ptrdiff_t>(outputs), stack.end());
      stack.push_back(list_of_values<Tensor>(returned_));
    }
  }

 private:
  EValue* keep(EValue value) {
    values_.push_back(value);
    return &values_.back();
  }

  int64_t integer() {
    constexpr int64_t kHostile[] = {std::numeric_limits<int64_t>::min(),
                                    std::numeric_limits<int64_t>::max(),
                                    std::numeric_limits<int32_t>::min(),
                                    std::numeric_limits<int32_t>::max(),
                                    int64_t(1) << 30,
                                    -(int64_t(1) << 40),
                                    int64_t(1) << 62,
                                    255};
    return choices_.once_in(6) ? kHostile[choices_.below(8)] : static_cast<int64_t>(choices_.below(10)) - 3;
  }

  double real() {
    constexpr double kHostile[] = {std::numeric_limits<double>::quiet_NaN(),
                                   std::numeric_limits<double>::infinity(),
                                   -std::numeric_limits<double>::infinity(),
                                   1e300,
                                   -1e-300,
                                   9.3e18};
    return choices_.once_in(6) ? kHostile[choices_.below(6)] : (static_cast<double>(choices_.below(32)) - 12) / 4;
  }

  EValue* string() {
    static const char* const kTexts[] = {"none",  "tanh",  "sum",  "mean",  "prod", "amax", "amin",
                                         "floor", "trunc", "left", "right", "",     "x"};
    const char* const text = kTexts[choices_.below(sizeof(kTexts) / sizeof(kTexts[0]))];
    texts_.emplace_back(const_cast<char*>(text), std::strlen(text));
    return keep(EValue(&texts_.back()));
  }

  template <typename T, typename Make>
  EValue* list(const Make& make_element) {
    pointers_.emplace_back();
    std::vector<EValue*>& pointers = pointers_.back();
    for (size_t size = choices_.below(5); size > 0; --size) {
      pointers.push_back(make_element());
    }
    return list_of_values<T>(pointers);
  }

  template <typename T>
  EValue* list_of_values(std::vector<EValue*>& pointers) {
    auto& lists = list_of<T>();
    lists.push_back({std::vector<T>(pointers.size(), empty<T>()), {}});
    auto& entry = lists.back();
    entry.second = BoxedEvalueList<T>(pointers.data(), entry.first.data(), static_cast<int>(pointers.size()));
    return keep(EValue(&entry.second));
  }

  EValue* bools() {
    bools_.emplace_back(new bool[4]);
    const size_t size = choices_.below(5);
    for (size_t i = 0; i < size; ++i) {
      bools_.back()[i] = choices_.once_in(2);
    }
    bool_lists_.emplace_back(bools_.back().get(), size);
    return keep(EValue(&bool_lists_.back()));
  }

  EValue* doubles() {
    doubles_.emplace_back();
    for (size_t size = choices_.below(5); size > 0; --size) {
      doubles_.back().push_back(real());
    }
    double_lists_.emplace_back(doubles_.back().data(), doubles_.back().size());
    return keep(EValue(&double_lists_.back()));
  }

  /// Sizes of at most kMaxElements elements; without elements some may be huge.
  std::vector<int32_t> shape() {
    constexpr int32_t kSizes[] = {1, 2, 3, 4, 5, 7, 1, 2, 0, 130};
    std::vector<int32_t> sizes(choices_.once_in(8) ? choices_.below(9) : choices_.below(5));
    // `extent` counts a size of 0 as 1, as strides do: the strides must fit as well.
    size_t extent = 1;
    for (int32_t& size : sizes) {
      size = kSizes[choices_.below(10)];
      size = extent * static_cast<size_t>(size) > kMaxElements ? 1 : size;
      extent *= static_cast<size_t>(std::max(1, size));
    }
    const bool is_empty = std::find(sizes.begin(), sizes.end(), 0) != sizes.end();
    if (is_empty && choices_.once_in(4)) {
      sizes[choices_.below(sizes.size())] = std::numeric_limits<int32_t>::max();
      if (std::find(sizes.begin(), sizes.end(), 0) == sizes.end()) {
        sizes.assign(1, 0);
      }
    }
    return sizes;
  }

  Tensor tensor() {
    if (!impls_.empty() && choices_.once_in(16)) {
      return Tensor(&impls_[choices_.below(impls_.size())]);  // an earlier tensor again
    }
    // Two of three tensors get the shape of an earlier one, because most kernels refuse shapes that do not agree.
    if (shapes_.empty() || choices_.once_in(3)) {
      shapes_.push_back(shape());
    } else {
      shapes_.push_back(shapes_.back());
    }
    if (impls_.empty() || choices_.once_in(3)) {
      constexpr ScalarType kDtypes[] = {
          ScalarType::Float, ScalarType::Long,   ScalarType::Float,        ScalarType::Double, ScalarType::Half,
          ScalarType::Bool,  ScalarType::Int,    ScalarType::BFloat16,     ScalarType::Byte,   ScalarType::Char,
          ScalarType::Short, ScalarType::UInt16, ScalarType::UInt32,       ScalarType::UInt64, ScalarType::ComplexFloat,
          ScalarType::Long,  ScalarType::Float,  ScalarType::ComplexDouble};
      dtype_ = kDtypes[choices_.below(sizeof(kDtypes) / sizeof(kDtypes[0]))];
    }
    std::vector<int32_t>& sizes = shapes_.back();
    const size_t dims = sizes.size();
    orders_.emplace_back(dims);
    std::vector<uint8_t>& order = orders_.back();
    for (size_t d = 0; d < dims; ++d) {
      order[d] = static_cast<uint8_t>(d);
    }
    if (dims >= 3 && choices_.once_in(4)) {
      std::rotate(order.begin() + 1, order.begin() + 2, order.end());  // channels last
    } else if (dims >= 2 && choices_.once_in(8)) {
      std::swap(order[choices_.below(dims)], order[choices_.below(dims)]);
    }
    strides_.emplace_back(dims);
    size_t elements = 1;
    int32_t stride = 1;
    for (size_t i = dims; i-- > 0;) {
      strides_.back()[order[i]] = stride;
      stride *= std::max(1, sizes[order[i]] > 65536 ? 1 : sizes[order[i]]);
    }
    for (const int32_t size : sizes) {
      elements *= static_cast<size_t>(size);
    }
    buffers_.emplace_back(elements * runtime::elementSize(dtype_));
    fill(buffers_.back());
    impls_.emplace_back(
        dtype_, static_cast<ssize_t>(dims), sizes.data(), buffers_.back().data.get(), order.data(),
        strides_.back().data(),
        choices_.once_in(4) ? aten::TensorShapeDynamism::STATIC : aten::TensorShapeDynamism::DYNAMIC_BOUND);
    return Tensor(&impls_.back());
  }

  // Small whole numbers, which are good indices, or any bytes.
  void fill(ExactBuffer& buffer) {
    const bool is_small = !choices_.once_in(4);
    const size_t size = runtime::elementSize(dtype_);
    uint32_t state = choices_.byte();
    for (size_t i = 0; i < buffer.bytes; i += size) {
      state = state * 1664525u + 1013904223u;
      uint8_t* element = buffer.data.get() + i;
      if (!is_small) {
        for (size_t j = 0; j < size; ++j) {
          element[j] = static_cast<uint8_t>(state >> (8 * (j % 4)));
        }
      } else if (dtype_ == ScalarType::Float) {
        const float value = static_cast<float>(state >> 29) - 2;
        std::memcpy(element, &value, size);
      } else {
        element[0] = static_cast<uint8_t>(state >> 30);
      }
    }
  }

  template <typename T>
  auto& list_of() {
    if constexpr (std::is_same_v<T, int64_t>) {
      return int_lists_;
    } else if constexpr (std::is_same_v<T, Tensor>) {
      return tensor_lists_;
    } else {
      return optional_tensor_lists_;
    }
  }
  template <typename T>
  T empty() {
    if constexpr (std::is_same_v<T, Tensor>) {
      return Tensor(nullptr);
    } else {
      return T();
    }
  }

  template <typename T>
  using Lists = std::deque<std::pair<std::vector<T>, BoxedEvalueList<T>>>;

  Choices& choices_;
  ScalarType dtype_ = ScalarType::Float;
  std::deque<EValue> values_;
  std::deque<std::vector<int32_t>> shapes_;
  std::deque<std::vector<int32_t>> strides_;
  std::deque<std::vector<uint8_t>> orders_;
  std::deque<ExactBuffer> buffers_;
  std::deque<aten::TensorImpl> impls_;
  std::deque<std::vector<EValue*>> pointers_;
  std::vector<EValue*> returned_;
  std::deque<aten::ArrayRef<char>> texts_;
  std::deque<std::unique_ptr<bool[]>> bools_;
  std::deque<aten::ArrayRef<bool>> bool_lists_;
  std::deque<std::vector<double>> doubles_;
  std::deque<aten::ArrayRef<double>> double_lists_;
  Lists<int64_t> int_lists_;
  Lists<Tensor> tensor_lists_;
  Lists<std::optional<Tensor>> optional_tensor_lists_;
};

}  // namespace fuzz
}  // namespace executorch
