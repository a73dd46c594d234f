// SPDX-License-Identifier: BSD-3-Clause
// One call of the files that eager_cases_test.cpp runs, with its memory.
//
// The file holds one value a line. A case is
//     case NAME [fails] [tolerance V]      the operator; "fails": the call must be refused
//     arguments ...
//     out                      followed by its expected tensors; out_list N if the last argument is a list of N
//     outputs;
//                              self if the first argument is written in place
// and an argument one of
//     tensor DTYPE SIZES DIM_ORDER VALUES...      values in row-major order; "-" for no dimensions
//     tensors N | optional_tensors N              followed by N lines
//     int V | float V | bool V | ints V... | floats V... | str TEXT | none
#pragma once

#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/exec_aten/util/scalar_type_util.h>
#include <executorch/runtime/kernel/kernel_runtime_context.h>
#include <executorch/runtime/kernel/operator_registry.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <deque>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

namespace eager_cases {

using executorch::aten::BFloat16;
using executorch::aten::Half;
using executorch::aten::ScalarType;
using executorch::aten::Tensor;
using executorch::aten::TensorImpl;
using executorch::runtime::BoxedEvalueList;
using executorch::runtime::Error;
using executorch::runtime::EValue;
using executorch::runtime::Kernel;
using executorch::runtime::KernelRuntimeContext;
using executorch::runtime::Span;

struct DtypeName {
  const char* name;
  ScalarType dtype;
  double tolerance;  // relative
};

constexpr DtypeName kDtypes[] = {
    {"float32", ScalarType::Float, 2e-6}, {"float64", ScalarType::Double, 1e-13},
    {"float16", ScalarType::Half, 2e-3},  {"bfloat16", ScalarType::BFloat16, 1e-2},
    {"uint8", ScalarType::Byte, 0},       {"int8", ScalarType::Char, 0},
    {"int16", ScalarType::Short, 0},      {"int32", ScalarType::Int, 0},
    {"int64", ScalarType::Long, 0},       {"bool", ScalarType::Bool, 0},
};

template <typename F>
void with_type(ScalarType dtype, F&& f) {
  switch (dtype) {
    case ScalarType::Float:
      return f(float{});
    case ScalarType::Double:
      return f(double{});
    case ScalarType::Half:
      return f(Half{});
    case ScalarType::BFloat16:
      return f(BFloat16{});
    case ScalarType::Byte:
      return f(uint8_t{});
    case ScalarType::Char:
      return f(int8_t{});
    case ScalarType::Short:
      return f(int16_t{});
    case ScalarType::Int:
      return f(int32_t{});
    case ScalarType::Long:
      return f(int64_t{});
    default:
      return f(bool{});
  }
}

// A tensor that owns its memory. Its sizes are upper bounds, so operators may resize it.
struct OwnedTensor {
  std::vector<int32_t> sizes;
  std::vector<uint8_t> dim_order;
  std::vector<int32_t> strides;
  std::vector<char> data;
  std::unique_ptr<TensorImpl> impl;
  double tolerance = 0;

  Tensor tensor() const { return Tensor(impl.get()); }

  // The place in memory, in elements, of the element that is number `linear` in row-major order.
  size_t offset_of(size_t linear) const {
    size_t offset = 0;
    for (size_t d = sizes.size(); d-- > 0;) {
      offset += linear % sizes[d] * strides[d];
      linear /= sizes[d];
    }
    return offset;
  }
};

template <typename T>
std::vector<T> parse_list(const std::string& text) {
  std::vector<T> values;
  std::stringstream stream(text == "-" ? "" : text);
  for (std::string item; std::getline(stream, item, ',');) {
    values.push_back(static_cast<T>(std::stoi(item)));
  }
  return values;
}

template <typename T>
T parse_value(const std::string& text) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(std::stoll(text));
  } else if constexpr (std::is_same_v<T, double>) {
    return std::strtod(text.c_str(), nullptr);
  } else {
    return static_cast<T>(std::strtof(text.c_str(), nullptr));
  }
}

struct Case {
  std::string name;
  std::string place;  // file:line
  std::vector<std::string> lines;
};

// The memory of one call and its arguments.
class Call {
 public:
  explicit Call(const Case& test_case) : lines_(test_case.lines) {
    while (next_ < lines_.size() && !is_marker(lines_[next_])) {
      stack_.push_back(parse());
    }
    if (next_ == lines_.size()) {
      returned_ = stack_.front();  // in place; the others have outputs also where they fail
      return;
    }
    std::stringstream marker(lines_[next_++]);
    std::string kind;
    size_t count = 0;
    marker >> kind >> count;
    const size_t first = tensors_.size();
    while (next_ < lines_.size()) {
      parse();
    }
    if (kind == "self") {
      outputs_.push_back({&tensors_.front(), &tensors_[first]});
      returned_ = stack_.front();
      return;
    }
    std::vector<EValue*> outs;
    const size_t end = tensors_.size();
    for (size_t i = first; i < end; ++i) {
      OwnedTensor& out = blank_like(tensors_[i]);
      outputs_.push_back({&out, &tensors_[i]});
      outs.push_back(value(EValue(out.tensor())));
    }
    if (kind == "out_list") {
      stack_.push_back(tensor_list(outs));
      returned_ = stack_.back();
    } else {
      stack_.insert(stack_.end(), outs.begin(), outs.end());
      returned_ = outs.size() == 1 ? outs[0] : tensor_list(outs);
    }
  }

  Error run(const Kernel& kernel) {
    // As in a program, the outputs follow once more.
    stack_.push_back(returned_);
    KernelRuntimeContext context;
    kernel.op_(context, Span<EValue*>(stack_.data(), stack_.size()));
    return context.failure_state();
  }

  // tolerance: relative; 0 means that of the dtype.
  void expect_outputs(double tolerance) const {
    for (const auto& [actual, expected] : outputs_) {
      expect_equal(*actual, *expected, tolerance > 0 ? tolerance : actual->tolerance);
    }
  }

 private:
  static bool is_marker(const std::string& line) { return line.compare(0, 3, "out") == 0 || line == "self"; }

  static void expect_equal(const OwnedTensor& actual, const OwnedTensor& expected, double tolerance) {
    const Tensor tensor = actual.tensor();
    ASSERT_EQ(std::vector<int32_t>(tensor.sizes().begin(), tensor.sizes().end()), expected.sizes);
    with_type(tensor.scalar_type(), [&](auto tag) {
      using T = decltype(tag);
      for (size_t i = 0; i < static_cast<size_t>(tensor.numel()); ++i) {
        T got;
        T want;
        std::memcpy(&got, actual.data.data() + actual.offset_of(i) * sizeof(T), sizeof(T));
        std::memcpy(&want, expected.data.data() + expected.offset_of(i) * sizeof(T), sizeof(T));
        if constexpr (std::is_integral_v<T>) {
          ASSERT_EQ(got, want) << "at " << i;
        } else {
          const double x = static_cast<double>(got);
          const double y = static_cast<double>(want);
          const bool same = x == y || (std::isnan(x) && std::isnan(y)) ||
                            std::fabs(x - y) <= tolerance * std::fmax(std::fabs(y), 0.1);
          ASSERT_TRUE(same) << "at " << i << ": " << x << " instead of " << y;
        }
      }
    });
  }

  EValue* value(EValue&& v) {
    values_.push_back(std::make_unique<EValue>(std::move(v)));
    return values_.back().get();
  }

  OwnedTensor& blank_like(const OwnedTensor& other) {
    OwnedTensor& out = tensors_.emplace_back();
    out.sizes = other.sizes;
    out.dim_order = other.dim_order;
    out.tolerance = other.tolerance;
    finish(out, other.impl->scalar_type(), 0x55);
    return out;
  }

  static void finish(OwnedTensor& tensor, ScalarType dtype, char fill) {
    const size_t rank = tensor.sizes.size();
    tensor.strides.resize(rank);
    size_t stride = 1;
    for (size_t i = rank; i-- > 0;) {
      tensor.strides[tensor.dim_order[i]] = static_cast<int32_t>(stride);
      stride *= std::max(tensor.sizes[tensor.dim_order[i]], 1);
    }
    size_t numel = 1;
    for (const int32_t size : tensor.sizes) {
      numel *= static_cast<size_t>(size);
    }
    tensor.data.assign(numel * executorch::runtime::elementSize(dtype), fill);
    tensor.impl =
        std::make_unique<TensorImpl>(dtype, rank, tensor.sizes.data(), tensor.data.data(), tensor.dim_order.data(),
                                     tensor.strides.data(), executorch::aten::TensorShapeDynamism::DYNAMIC_BOUND);
  }

  OwnedTensor& parse_tensor(std::stringstream& stream) {
    std::string dtype_name, sizes, dim_order;
    stream >> dtype_name >> sizes >> dim_order;
    const DtypeName* dtype = kDtypes;
    while (dtype_name != dtype->name) {
      ++dtype;
    }
    OwnedTensor& tensor = tensors_.emplace_back();
    tensor.sizes = parse_list<int32_t>(sizes);
    tensor.dim_order = parse_list<uint8_t>(dim_order);
    tensor.tolerance = dtype->tolerance;
    finish(tensor, dtype->dtype, 0);
    with_type(dtype->dtype, [&](auto tag) {
      using T = decltype(tag);
      std::string text;
      for (size_t i = 0; stream >> text; ++i) {
        const T element = parse_value<T>(text);
        std::memcpy(tensor.data.data() + tensor.offset_of(i) * sizeof(T), &element, sizeof(T));
      }
    });
    return tensor;
  }

  EValue* tensor_list(const std::vector<EValue*>& items) {
    auto& wrapped = wrapped_.emplace_back(items);
    auto& unwrapped = tensor_items_.emplace_back(items.size(), Tensor(nullptr));
    auto& list = tensor_lists_.emplace_back(wrapped.data(), unwrapped.data(), static_cast<int>(items.size()));
    return value(EValue(&list));
  }

  EValue* parse() {
    std::stringstream stream(lines_[next_++]);
    std::string kind;
    stream >> kind;
    if (kind == "tensor") {
      return value(EValue(parse_tensor(stream).tensor()));
    }
    if (kind == "tensors" || kind == "optional_tensors") {
      size_t count = 0;
      stream >> count;
      std::vector<EValue*> items;
      for (size_t i = 0; i < count; ++i) {
        EValue* item = parse();
        items.push_back(item->isNone() ? nullptr : item);
      }
      if (kind == "tensors") {
        return tensor_list(items);
      }
      auto& wrapped = wrapped_.emplace_back(items);
      auto& unwrapped = optional_items_.emplace_back(items.size());
      auto& list = optional_lists_.emplace_back(wrapped.data(), unwrapped.data(), static_cast<int>(items.size()));
      return value(EValue(&list));
    }
    if (kind == "ints") {
      std::vector<EValue*> items;
      for (int64_t item; stream >> item;) {
        items.push_back(value(EValue(item)));
      }
      auto& wrapped = wrapped_.emplace_back(items);
      auto& unwrapped = int_items_.emplace_back(items.size());
      auto& list = int_lists_.emplace_back(wrapped.data(), unwrapped.data(), static_cast<int>(items.size()));
      return value(EValue(&list));
    }
    if (kind == "floats") {
      auto& items = float_items_.emplace_back();
      for (std::string item; stream >> item;) {
        items.push_back(std::strtod(item.c_str(), nullptr));
      }
      auto& list = float_lists_.emplace_back(items.data(), items.size());
      return value(EValue(&list));
    }
    if (kind == "none") {
      return value(EValue());
    }
    std::string text;
    stream >> text;
    if (kind == "str") {
      auto& chars = strings_.emplace_back(text);
      auto& ref = string_refs_.emplace_back(chars.data(), chars.size());
      return value(EValue(&ref));
    }
    return kind == "int"    ? value(EValue(static_cast<int64_t>(std::stoll(text))))
           : kind == "bool" ? value(EValue(text == "1"))
                            : value(EValue(std::strtod(text.c_str(), nullptr)));
  }

  const std::vector<std::string>& lines_;
  size_t next_ = 0;
  std::deque<OwnedTensor> tensors_;
  std::vector<std::unique_ptr<EValue>> values_;
  std::deque<std::vector<EValue*>> wrapped_;
  std::deque<std::vector<Tensor>> tensor_items_;
  std::deque<std::vector<std::optional<Tensor>>> optional_items_;
  std::deque<std::vector<int64_t>> int_items_;
  std::deque<BoxedEvalueList<Tensor>> tensor_lists_;
  std::deque<BoxedEvalueList<std::optional<Tensor>>> optional_lists_;
  std::deque<BoxedEvalueList<int64_t>> int_lists_;
  std::deque<std::vector<double>> float_items_;
  std::deque<executorch::aten::ArrayRef<double>> float_lists_;
  std::deque<std::string> strings_;
  std::deque<executorch::aten::ArrayRef<char>> string_refs_;
  std::vector<EValue*> stack_;
  EValue* returned_ = nullptr;
  std::vector<std::pair<OwnedTensor*, OwnedTensor*>> outputs_;  // actual, expected
};

}  // namespace eager_cases
