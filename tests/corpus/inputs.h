// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include <executorch/extension/tensor/tensor.h>
#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/exec_aten/util/scalar_type_util.h>

#include "manifest.h"

namespace corpus {

/// The values of a call as methods take them. They refer to `values`.
class Inputs {
 public:
  explicit Inputs(const std::vector<Value>& values) {
    evalues_.reserve(values.size());
    for (const Value& value : values) {
      add(value);
    }
  }
  const std::vector<executorch::runtime::EValue>& evalues() const { return evalues_; }

 private:
  void add(const Value& value) {
    if (value.type == "tensor") {
      const size_t item = executorch::runtime::elementSize(value.dtype);
      std::vector<uint8_t> data(value.data.size());
      for (size_t i = 0; i < data.size() / item; ++i) {
        std::memcpy(&data[position(i, value.sizes, value.dim_order) * item], &value.data[i * item], item);
      }
      tensors_.push_back(
          executorch::extension::make_tensor_ptr(value.sizes, std::move(data), value.dim_order, {}, value.dtype));
      evalues_.emplace_back(*tensors_.back());
    } else if (value.type == "int") {
      evalues_.emplace_back(value.integer);
    } else if (value.type == "double") {
      evalues_.emplace_back(value.real);
    } else if (value.type == "bool") {
      evalues_.emplace_back(value.flag);
    } else if (value.type == "string") {
      strings_.push_back(std::make_unique<executorch::aten::ArrayRef<char>>(value.text.data(), value.text.size()));
      evalues_.emplace_back(strings_.back().get());
    } else {
      evalues_.emplace_back();
    }
  }

  std::vector<executorch::runtime::EValue> evalues_;
  std::vector<executorch::extension::TensorPtr> tensors_;
  std::vector<std::unique_ptr<executorch::aten::ArrayRef<char>>> strings_;
};

}  // namespace corpus
