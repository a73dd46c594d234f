// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>  // included in every file, so that all use the same converters of containers

#include <executorch/extension/tensor/tensor_ptr.h>
#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/executor/method_meta.h>

namespace executorch {
namespace extension {
namespace pybindings {

/// The library whose tensors a call returns.
enum class TensorLibrary { kNumpy, kTorch };

/// Python values as EValues, with everything that they point to. Tensors are used in place where their memory is
/// dense in the dim order that the method expects, and copied into that order otherwise. Needs the GIL to be made and
/// destroyed. Must not move: EValues point into it.
class Inputs final {
 public:
  /// `meta` has the expected dim orders; values beyond its inputs are converted too, and the runtime refuses them.
  /// TypeError, with the position, for a value of a type that no method takes; ValueError for a
  /// tensor that is not in CPU memory.
  Inputs(const pybind11::sequence& values, const runtime::MethodMeta& meta);
  Inputs(const Inputs&) = delete;
  Inputs& operator=(const Inputs&) = delete;

  const std::vector<runtime::EValue>& evalues() const { return evalues_; }

  /// torch if an input is a torch tensor, numpy if one is an array; with no tensor at all, torch if the process has
  /// imported it.
  TensorLibrary output_library() const;

  /// Advice for converting the first tensor that has another dtype than the method takes; "" if all dtypes are right.
  const std::string& conversion() const { return conversion_; }

 private:
  void add(const pybind11::handle& value, size_t index, const runtime::MethodMeta& meta);
  void add_tensor(const void* data, aten::ScalarType type, std::vector<aten::SizesType> sizes,
                  const std::vector<ssize_t>& strides, size_t index, const runtime::MethodMeta& meta);
  bool add_torch_tensor(const pybind11::handle& value, size_t index, const runtime::MethodMeta& meta);
  bool add_array(const pybind11::handle& value, size_t index, const runtime::MethodMeta& meta);
  void check_dtype(aten::ScalarType type, bool is_array, size_t index, const runtime::MethodMeta& meta);

  std::vector<runtime::EValue> evalues_;
  std::vector<TensorPtr> tensors_;
  std::vector<pybind11::object> owners_;
  std::deque<std::string> strings_;
  std::deque<aten::ArrayRef<char>> string_refs_;
  std::string conversion_;
  bool has_torch_tensor_ = false;
  bool has_array_ = false;
};

/// Converts a value to a Python object: None, bool, int, float, str, a tensor, or a list of them. Tensors are copied if
/// `clone`; otherwise they are views into the runtime's memory that keep `owner` alive.
pybind11::object to_python(const runtime::EValue& value, TensorLibrary library, bool clone,
                           const pybind11::object& owner);

}  // namespace pybindings
}  // namespace extension
}  // namespace executorch
