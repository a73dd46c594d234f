// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/portable_type/device.h>
#include <executorch/runtime/core/result.h>
#include <executorch/runtime/core/span.h>
#include <executorch/runtime/core/tag.h>

namespace executorch_flatbuffer {
struct ExecutionPlan;
struct Tensor;
}  // namespace executorch_flatbuffer

namespace executorch {
namespace runtime {

/// Metadata of a tensor. Everything it returns is valid as long as the Program.
class TensorInfo final {
 public:
  TensorInfo() = delete;
  TensorInfo(const TensorInfo&) = default;
  TensorInfo(TensorInfo&&) = default;
  TensorInfo& operator=(const TensorInfo&) = default;
  TensorInfo& operator=(TensorInfo&& other) = default;
  ~TensorInfo() = default;

  /// The sizes; their upper bound for a tensor of dynamic shape.
  Span<const int32_t> sizes() const { return sizes_; }

  /// The dimensions from the outermost to the innermost in memory.
  Span<const uint8_t> dim_order() const { return dim_order_; }

  executorch::aten::ScalarType scalar_type() const { return scalar_type_; }

  /// Whether the data is in planned memory. Otherwise it is a constant or a view, or the caller provides it.
  bool is_memory_planned() const { return is_memory_planned_; }

  /// Bytes of data for sizes().
  size_t nbytes() const { return nbytes_; }

  /// The fully qualified name of a parameter or buffer; empty for other tensors.
  std::string_view name() const { return name_; }

 private:
  friend class MethodMeta;

  TensorInfo(const executorch_flatbuffer::Tensor& tensor, size_t nbytes);

  Span<const int32_t> sizes_;
  Span<const uint8_t> dim_order_;
  std::string_view name_;
  executorch::aten::ScalarType scalar_type_;
  bool is_memory_planned_;
  size_t nbytes_;
};

/// Metadata of a method, available without loading it: inputs, outputs and memory. Must not outlive the
/// Program. Errors of all functions that take an index: InvalidArgument when it is out of range.
class MethodMeta final {
 public:
  MethodMeta() = delete;
  MethodMeta(const MethodMeta&) = default;
  MethodMeta(MethodMeta&&) = default;
  MethodMeta& operator=(const MethodMeta&) = default;
  MethodMeta& operator=(MethodMeta&& other) = default;
  ~MethodMeta() = default;

  const char* name() const;

  size_t num_inputs() const;

  /// The kind of an input. None: a scalar whose value is not fixed, or an argument that was None at export.
  Result<Tag> input_tag(size_t index) const;

  /// Errors also: InvalidArgument when the input is not a tensor.
  Result<TensorInfo> input_tensor_meta(size_t index) const;

  size_t num_outputs() const;

  /// The kind of an output.
  Result<Tag> output_tag(size_t index) const;

  /// Errors also: InvalidArgument when the output is not a tensor.
  Result<TensorInfo> output_tensor_meta(size_t index) const;

  /// The mutable state of the method that carries a name; Method::get_attribute gives access to it.
  size_t num_attributes() const;

  /// Name, dtype and sizes of one of these.
  Result<TensorInfo> attribute_tensor_meta(size_t index) const;

  /// The number of planned buffers that the method needs, see MemoryManager.
  size_t num_memory_planned_buffers() const;

  /// Bytes of planned buffer `index`.
  Result<int64_t> memory_planned_buffer_size(size_t index) const;

  /// The planned buffer with the state that all methods of the program share; empty if they share none. It has the same
  /// index and size in each method that has one. See Program::load_shared_state().
  std::optional<size_t> shared_planned_buffer() const;

  /// The device that planned buffer `index` must be on.
  Result<etensor::Device> memory_planned_buffer_device(size_t index) const;

  /// Whether a part of the method runs on the backend of that name; false for null.
  bool uses_backend(const char* backend_name) const;

  /// The number of distinct backends of the method.
  size_t num_backends() const;

  /// The name of one of them, valid as long as the program.
  Result<const char*> get_backend_name(size_t index) const;

  /// The number of instructions of the first chain.
  size_t num_instructions() const;

  /// The name that older code uses for num_memory_planned_buffers().
  ET_DEPRECATED size_t num_non_const_buffers() const { return num_memory_planned_buffers(); }

  /// The name that older code uses for memory_planned_buffer_size().
  ET_DEPRECATED Result<int64_t> non_const_buffer_size(size_t index) const { return memory_planned_buffer_size(index); }

 private:
  friend class Program;
  friend class Method;

  explicit MethodMeta(const executorch_flatbuffer::ExecutionPlan* plan) : plan_(plan) {}

  const executorch_flatbuffer::ExecutionPlan* plan_;
};

}  // namespace runtime
}  // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::MethodMeta;
using ::executorch::runtime::TensorInfo;
}  // namespace executor
}  // namespace torch
