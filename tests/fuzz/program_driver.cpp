// SPDX-License-Identifier: BSD-3-Clause
#include "program_driver.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include <executorch/extension/data_loader/buffer_data_loader.h>
#include <executorch/extension/memory_allocator/malloc_memory_allocator.h>
#include <executorch/runtime/core/exec_aten/util/dim_order_util.h>
#include <executorch/runtime/core/exec_aten/util/scalar_type_util.h>
#include <executorch/runtime/executor/method.h>
#include <executorch/runtime/executor/program.h>
#include <executorch/runtime/platform/runtime.h>

#include "exact_buffer.h"

namespace executorch {
namespace fuzz {

using executorch::aten::Tensor;
using executorch::aten::TensorImpl;
using executorch::extension::BufferDataLoader;
using executorch::extension::MallocMemoryAllocator;
using executorch::runtime::Error;
using executorch::runtime::EValue;
using executorch::runtime::HierarchicalAllocator;
using executorch::runtime::MemoryManager;
using executorch::runtime::Method;
using executorch::runtime::MethodMeta;
using executorch::runtime::Program;
using executorch::runtime::Span;
using executorch::runtime::Tag;
using executorch::runtime::TensorInfo;

namespace {

constexpr int64_t kMaxPlannedBytes = 1 << 20;
constexpr size_t kMaxTensorBytes = 1 << 20;
constexpr size_t kMaxSteps = 2048;
constexpr size_t kMaxMethods = 8;
/// A second execution shows whether the first one changed any state.
constexpr int kExecutions = 2;

/// Sets all elements to 1 if they are integers, to a number between 0 and 2 if not.
void fill_with_ones(executorch::aten::ScalarType type, ExactBuffer& buffer) {
  if (buffer.bytes == 0) {
    return;
  }
  if (!executorch::runtime::isIntegralType(type, /*includeBool=*/true)) {
    std::memset(buffer.data.get(), 0x3f, buffer.bytes);
    return;
  }
  for (size_t i = 0; i < buffer.bytes; i += executorch::runtime::elementSize(type)) {
    buffer.data.get()[i] = 1;
  }
}

/// An input tensor with everything it refers to.
struct Input {
  Input(const TensorInfo& info, bool ones)
      : sizes(info.sizes().begin(), info.sizes().end()),
        dim_order(info.dim_order().begin(), info.dim_order().end()),
        strides(sizes.size()),
        data(info.nbytes()) {
    if (ones) {
      fill_with_ones(info.scalar_type(), data);
    }
    executorch::runtime::dim_order_to_stride_nocheck(sizes.data(), dim_order.data(), sizes.size(), strides.data());
    impl = std::make_unique<TensorImpl>(info.scalar_type(), static_cast<ssize_t>(sizes.size()), sizes.data(),
                                        data.data.get(), dim_order.data(), strides.data());
  }

  std::vector<int32_t> sizes;
  std::vector<uint8_t> dim_order;
  std::vector<int32_t> strides;
  ExactBuffer data;
  std::unique_ptr<TensorImpl> impl;
};

/// Sets all inputs; false when one is too large or refused.
bool set_inputs(Method& method, const MethodMeta& meta, bool ones, std::vector<std::unique_ptr<Input>>& inputs) {
  for (size_t i = 0; i < meta.num_inputs(); ++i) {
    const auto tag = meta.input_tag(i);
    if (!tag.ok()) {
      return false;
    }
    EValue value;
    if (*tag == Tag::Tensor) {
      const auto info = meta.input_tensor_meta(i);
      if (!info.ok() || info->nbytes() > kMaxTensorBytes) {
        return false;
      }
      inputs.push_back(std::make_unique<Input>(*info, ones));
      value = EValue(Tensor(inputs.back()->impl.get()));
    } else if (*tag == Tag::None) {
      value = EValue(int64_t{ones ? 1 : 2});
    } else {
      // Constant scalar inputs accept their own value only.
      value = method.get_input(i);
    }
    if (method.set_input(value, i) != Error::Ok) {
      return false;
    }
  }
  return true;
}

/// Gives memory to the outputs that have none planned.
bool set_outputs(Method& method, const MethodMeta& meta, std::vector<ExactBuffer>& buffers) {
  for (size_t i = 0; i < meta.num_outputs(); ++i) {
    const auto tag = meta.output_tag(i);
    if (!tag.ok() || *tag != Tag::Tensor) {
      continue;
    }
    const auto info = meta.output_tensor_meta(i);
    if (!info.ok() || info->nbytes() > kMaxTensorBytes) {
      return false;
    }
    if (!info->is_memory_planned() && info->nbytes() > 0) {
      buffers.emplace_back(info->nbytes());
      // Refused for outputs that share memory with something else; those need none.
      (void)method.set_output_data_ptr(buffers.back().data.get(), buffers.back().bytes, i);
    }
  }
  return true;
}

/// Reads every output the way a caller would.
void read_outputs(const Method& method) {
  for (size_t i = 0; i < method.outputs_size(); ++i) {
    const EValue& output = method.get_output(i);
    if (output.isTensor() && output.toTensor().const_data_ptr() != nullptr) {
      read_all(output.toTensor().const_data_ptr(), output.toTensor().nbytes());
    }
  }
}

bool run_to_end(Method& method) {
  for (size_t i = 0; i < kMaxSteps; ++i) {
    const Error error = method.step();
    if (error == Error::EndOfMethod) {
      return method.reset_execution() == Error::Ok;
    }
    if (error != Error::Ok) {
      return false;
    }
  }
  return false;
}

bool run_method(const Program& program, const char* name) {
  const auto meta = program.method_meta(name);
  if (!meta.ok()) {
    return false;
  }
  std::vector<ExactBuffer> planned;
  std::vector<Span<uint8_t>> spans;
  int64_t total = 0;
  for (size_t i = 0; i < meta->num_memory_planned_buffers(); ++i) {
    const auto size = meta->memory_planned_buffer_size(i);
    total += size.ok() ? *size : kMaxPlannedBytes + 1;
    if (total > kMaxPlannedBytes) {
      return false;
    }
    planned.emplace_back(static_cast<size_t>(*size));
    spans.emplace_back(planned.back().data.get(), planned.back().bytes);
  }
  HierarchicalAllocator planned_memory(Span<Span<uint8_t>>(spans.data(), spans.size()));
  MallocMemoryAllocator method_allocator;
  MallocMemoryAllocator temp_allocator;
  MemoryManager memory_manager(&method_allocator, &planned_memory, &temp_allocator);
  // Inputs and outputs are used in place, so they outlive the method.
  std::vector<std::unique_ptr<Input>> inputs;
  std::vector<ExactBuffer> outputs;
  auto method = program.load_method(name, &memory_manager);
  if (!method.ok() || !set_outputs(*method, *meta, outputs)) {
    return false;
  }
  bool executed = false;
  for (int i = 0; i < kExecutions; ++i) {
    // Ones first, because integers cannot be divided by zero.
    if (!set_inputs(*method, *meta, /*ones=*/i % 2 == 0, inputs) || !run_to_end(*method)) {
      return executed;
    }
    executed = true;
    read_outputs(*method);
  }
  return executed;
}

}  // namespace

Outcome run_program(const uint8_t* data, size_t size) {
  executorch::runtime::runtime_init();
  const ExactBuffer copy(data, size);
  BufferDataLoader loader(copy.data.get(), copy.bytes);
  const auto program = Program::load(&loader);
  if (!program.ok()) {
    return Outcome::Refused;
  }
  Outcome outcome = Outcome::Loaded;
  for (size_t i = 0; i < std::min(program->num_methods(), kMaxMethods); ++i) {
    const auto name = program->get_method_name(i);
    if (name.ok() && run_method(*program, *name)) {
      outcome = Outcome::Executed;
    }
  }
  if (size > 0 && std::memcmp(copy.data.get(), data, size) != 0) {
    // Where the file is mapped, writing to a constant is a crash.
    std::fprintf(stderr, "The program wrote to its own constants\n");
    std::abort();
  }
  return outcome;
}

}  // namespace fuzz
}  // namespace executorch
