// SPDX-License-Identifier: BSD-3-Clause
#include "program_driver.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include <executorch/extension/data_loader/buffer_data_loader.h>
#include <executorch/extension/memory_allocator/malloc_memory_allocator.h>
#include <executorch/runtime/core/exec_aten/util/dim_order_util.h>
#include <executorch/runtime/executor/method.h>
#include <executorch/runtime/executor/program.h>
#include <executorch/runtime/platform/platform.h>
#include <executorch/runtime/platform/runtime.h>

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
constexpr size_t kMaxSteps = 512;
constexpr size_t kMaxMethods = 8;
/// Executing twice finds what one execution leaves behind for the next.
constexpr int kExecutions = 2;

/// Exactly `size` bytes on the heap, so that a sanitizer sees every byte read past them.
struct Buffer {
  explicit Buffer(size_t size, int fill = 0) : data(static_cast<uint8_t*>(std::malloc(size))), bytes(size) {
    if (size > 0) {
      std::memset(data.get(), fill, size);
    }
  }

  struct Free {
    void operator()(uint8_t* pointer) const { std::free(pointer); }
  };
  std::unique_ptr<uint8_t, Free> data;
  size_t bytes;
};

/// An input tensor with everything it refers to.
struct Input {
  Input(const TensorInfo& info, int fill)
      : sizes(info.sizes().begin(), info.sizes().end()),
        dim_order(info.dim_order().begin(), info.dim_order().end()),
        strides(sizes.size()),
        data(info.nbytes(), fill) {
    executorch::runtime::dim_order_to_stride_nocheck(sizes.data(), dim_order.data(), sizes.size(), strides.data());
    impl = std::make_unique<TensorImpl>(info.scalar_type(), static_cast<ssize_t>(sizes.size()), sizes.data(),
                                        data.data.get(), dim_order.data(), strides.data());
  }

  std::vector<int32_t> sizes;
  std::vector<uint8_t> dim_order;
  std::vector<int32_t> strides;
  Buffer data;
  std::unique_ptr<TensorImpl> impl;
};

/// Sets all inputs; false when one is too large or refused.
bool set_inputs(Method& method, const MethodMeta& meta, int fill, std::vector<std::unique_ptr<Input>>& inputs) {
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
      inputs.push_back(std::make_unique<Input>(*info, fill));
      value = EValue(Tensor(inputs.back()->impl.get()));
    } else if (*tag == Tag::None) {
      value = EValue(int64_t{fill + 1});
    } else {
      // Scalars that are built in accept their own value only.
      value = method.get_input(i);
    }
    if (method.set_input(value, i) != Error::Ok) {
      return false;
    }
  }
  return true;
}

/// Gives memory to the outputs that have none planned.
bool set_outputs(Method& method, const MethodMeta& meta, std::vector<Buffer>& buffers) {
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
  volatile uint8_t sink = 0;
  for (size_t i = 0; i < method.outputs_size(); ++i) {
    const EValue& output = method.get_output(i);
    if (output.isTensor() && output.toTensor().const_data_ptr() != nullptr) {
      const auto* bytes = static_cast<const uint8_t*>(output.toTensor().const_data_ptr());
      for (size_t j = 0; j < output.toTensor().nbytes(); ++j) {
        sink = static_cast<uint8_t>(sink + bytes[j]);
      }
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
  std::vector<Buffer> planned;
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
  std::vector<Buffer> outputs;
  auto method = program.load_method(name, &memory_manager);
  if (!method.ok() || !set_outputs(*method, *meta, outputs)) {
    return false;
  }
  bool executed = false;
  for (int i = 0; i < kExecutions; ++i) {
    if (!set_inputs(*method, *meta, i, inputs) || !run_to_end(*method)) {
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
  Buffer copy(size);
  if (size > 0) {
    std::memcpy(copy.data.get(), data, size);
  }
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
  return outcome;
}

void silence_logs() {
  const auto drop = [](et_timestamp_t, et_pal_log_level_t, const char*, const char*, size_t, const char*, size_t) {};
  (void)executorch::runtime::register_pal(executorch::runtime::PalImpl::create(drop, __FILE__));
}

}  // namespace fuzz
}  // namespace executorch
