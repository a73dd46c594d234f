// SPDX-License-Identifier: BSD-3-Clause
// One call of a file of cases (case_file.h), with its memory.
#pragma once

#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/kernel/kernel_runtime_context.h>
#include <executorch/runtime/kernel/operator_registry.h>

#include <cmath>
#include <cstring>
#include <deque>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "case_file.h"
#include "owned_tensor.h"

namespace kernel_testing {

using executorch::runtime::BoxedEvalueList;
using executorch::runtime::Error;
using executorch::runtime::EValue;
using executorch::runtime::KernelRuntimeContext;
using executorch::runtime::OpFunction;
using executorch::runtime::Span;
using executorch::runtime::TensorMeta;

// The memory of one call and its arguments.
class Call {
 public:
  static constexpr size_t kMaxKeyTensors = 16;

  explicit Call(const Case& test_case) : lines_(test_case.lines) {
    while (next_ < lines_.size() && !is_marker(lines_[next_])) {
      stack_.push_back(parse());
    }
    if (next_ == lines_.size()) {
      returned_ = stack_.front();  // in place; other calls have outputs even if they fail
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

  /// As in a program, the results follow the arguments.
  std::vector<EValue*> arguments() const {
    std::vector<EValue*> all = stack_;
    all.push_back(returned_);
    return all;
  }

  /// The tensors that the registry chooses a kernel by; for a list, its first tensor. Empty if there are too many for a
  /// key.
  std::vector<TensorMeta> key() const {
    std::vector<TensorMeta> metas;
    for (const EValue* value : arguments()) {
      std::optional<Tensor> tensor;
      if (value->isTensor()) {
        tensor = value->toTensor();
      } else if (value->isTensorList() && !value->toTensorList().empty()) {
        tensor = value->toTensorList()[0];
      }
      if (tensor) {
        auto* const order = const_cast<executorch::aten::DimOrderType*>(tensor->dim_order().data());
        metas.emplace_back(tensor->scalar_type(),
                           Span<executorch::aten::DimOrderType>(order, tensor->dim_order().size()));
      }
    }
    return metas.size() <= kMaxKeyTensors ? metas : std::vector<TensorMeta>();
  }

  Error run(OpFunction kernel) const {
    std::vector<EValue*> stack = arguments();
    KernelRuntimeContext context;
    kernel(context, Span<EValue*>(stack.data(), stack.size()));
    return context.failure_state();
  }

  /// The first error in the outputs of run(); empty if they are right. `tolerance` is relative; without a
  /// value, it is the dtype's.
  std::string difference(std::optional<double> tolerance) const {
    for (size_t i = 0; i < outputs_.size(); ++i) {
      const auto& [actual, expected] = outputs_[i];
      const std::string text = difference(*actual, *expected, tolerance.value_or(actual->tolerance));
      if (!text.empty()) {
        return "output " + std::to_string(i) + ": " + text;
      }
    }
    return "";
  }

 private:
  static bool is_marker(const std::string& line) { return line.compare(0, 3, "out") == 0 || line == "self"; }

  static std::string difference(const OwnedTensor& actual, const OwnedTensor& expected, double tolerance) {
    const Tensor tensor = actual.tensor();
    std::ostringstream text;
    if (std::vector<int32_t>(tensor.sizes().begin(), tensor.sizes().end()) != expected.sizes) {
      text << "its sizes are";
      for (const int32_t size : tensor.sizes()) {
        text << ' ' << size;
      }
      return text.str();
    }
    with_type(tensor.scalar_type(), [&](auto tag) {
      using T = decltype(tag);
      for (size_t i = 0; i < static_cast<size_t>(tensor.numel()) && text.tellp() == 0; ++i) {
        T got;
        T want;
        std::memcpy(&got, actual.data.data() + actual.offset_of(i) * sizeof(T), sizeof(T));
        std::memcpy(&want, expected.data.data() + expected.offset_of(i) * sizeof(T), sizeof(T));
        const double x = static_cast<double>(got);
        const double y = static_cast<double>(want);
        bool same = got == want;
        if constexpr (!std::is_integral_v<T>) {
          same =
              same || (std::isnan(x) && std::isnan(y)) || std::fabs(x - y) <= tolerance * std::fmax(std::fabs(y), 0.1);
        }
        if (!same) {
          text << "element " << i << " is " << x << " instead of " << y;
        }
      }
    });
    return text.str();
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
    out.allocate(other.impl->scalar_type(), 0x55);
    return out;
  }

  OwnedTensor& parse_tensor(std::stringstream& stream) {
    std::string dtype_name, sizes, dim_order;
    stream >> dtype_name >> sizes >> dim_order;
    const DtypeName* dtype = find_dtype(dtype_name);
    OwnedTensor& tensor = tensors_.emplace_back();
    tensor.sizes = parse_list<int32_t>(sizes);
    tensor.dim_order = parse_list<uint8_t>(dim_order);
    tensor.tolerance = dtype->tolerance;
    tensor.allocate(dtype->dtype, 0);
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

}  // namespace kernel_testing
