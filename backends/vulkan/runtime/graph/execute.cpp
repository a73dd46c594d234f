// SPDX-License-Identifier: BSD-3-Clause
// One execution of a graph: its arguments, a recording if shapes changed, the submission and the results.
#include <cinttypes>
#include <string>

#include <executorch/extension/delegate/arguments.h>
#include <executorch/runtime/platform/log.h>

#include "graph/graph.h"
#include "graph/host_copy.h"

namespace executorch {
namespace backends {
namespace vulkan {

using extension::delegate::Argument;
using runtime::Error;
using runtime::EValue;
using runtime::Span;

namespace {

constexpr char kTitle[] = "Vulkan";

aten::ArrayRef<int64_t> array_of(const Sizes& sizes) {
  return {sizes.data(), sizes.size()};
}

}  // namespace

Error Graph::read_shapes(Span<EValue*> args, bool* changed) {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    Value& value = values_[static_cast<size_t>(inputs_[i].value)];
    const EValue& arg = *args[i];
    if (value.type == Value::Type::Tensor) {
      const Argument argument{kTitle, "input", i};
      ET_CHECK_OK_OR_RETURN_ERROR(check_is_tensor(argument, arg));
      const auto& tensor = arg.toTensor();
      ET_CHECK_OK_OR_RETURN_ERROR(check_dtype(argument, tensor, can_copy(tensor.scalar_type(), value.tensor->dtype),
                                              name_of(value.tensor->dtype)));
      const Sizes sizes(tensor.sizes().begin(), tensor.sizes().end());
      bool fits = sizes.size() == value.tensor->max_sizes.size();
      for (size_t d = 0; fits && d < sizes.size(); ++d) {
        fits = sizes[d] <= value.tensor->max_sizes[d];
      }
      ET_CHECK_OK_OR_RETURN_ERROR(
          check_shape(argument, tensor, fits, [&] { return "at most " + text_of(value.tensor->max_sizes); }));
      *changed = *changed || sizes != value.tensor->sizes;
      value.tensor->sizes = sizes;
    } else if (value.type == Value::Type::SymInt) {
      int64_t number = 0;
      if (arg.isInt()) {
        number = arg.toInt();
      } else {
        ET_CHECK_OR_RETURN_ERROR(
            arg.isTensor() && arg.toTensor().numel() == 1 && integer_at(arg.toTensor(), 0, &number), InvalidArgument,
            "Vulkan: input %zu is not an integer", i);
      }
      *changed = *changed || number != value.integer;
      value.integer = number;
    }
  }
  for (HostRead& read : host_reads_) {
    int64_t number = 0;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (inputs_[i].value == read.value) {
        ET_CHECK_OR_RETURN_ERROR(integer_at(args[i]->toTensor(), read.index, &number), InvalidArgument,
                                 "Vulkan: input %zu holds no integer at %" PRId64, i, read.index);
      }
    }
    *changed = *changed || number != read.found;
  }
  return Error::Ok;
}

Error Graph::execute(Span<EValue*> args, runtime::EventTracer* tracer) {
  const std::lock_guard<std::mutex> lock(mutex_);
  ET_CHECK_OK_OR_RETURN_ERROR(extension::delegate::check_count(kTitle, args, inputs_.size(), outputs_.size()));
  bool changed = !is_recorded_ || is_timed_ != (tracer != nullptr);
  arguments_ = args;
  ET_CHECK_OK_OR_RETURN_ERROR(read_shapes(args, &changed));
  if (changed) {
    ET_CHECK_OK_OR_RETURN_ERROR(record(tracer != nullptr));
  }
  ET_CHECK_OK_OR_RETURN_ERROR(write_inputs(args));
  ET_CHECK_OK_OR_RETURN_ERROR(sequence_->run());
  if (tracer != nullptr) {
    log_times(*tracer);
  }
  return read_outputs(args);
}

Error Graph::write_inputs(Span<EValue*> args) {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const Value& value = values_[static_cast<size_t>(inputs_[i].value)];
    if (value.type != Value::Type::Tensor) {
      continue;
    }
    void* to = inputs_[i].staging != nullptr ? inputs_[i].staging->mapped() : value.tensor->buffer->mapped();
    ET_CHECK_OK_OR_RETURN_ERROR(copy_in(args[i]->toTensor(), value.tensor->kind, to));
  }
  return Error::Ok;
}

Error Graph::read_outputs(Span<EValue*> args) {
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const Value& value = values_[static_cast<size_t>(outputs_[i].value)];
    EValue& arg = *args[inputs_.size() + i];
    const Argument argument{kTitle, "output", i};
    if (value.type == Value::Type::Tensor) {
      ET_CHECK_OK_OR_RETURN_ERROR(check_is_tensor(argument, arg));
      ET_CHECK_OK_OR_RETURN_ERROR(resize_output(argument, arg.toTensor(), array_of(value.tensor->sizes)));
      const void* from =
          outputs_[i].staging != nullptr ? outputs_[i].staging->mapped() : value.tensor->buffer->mapped();
      ET_CHECK_OK_OR_RETURN_ERROR(copy_out(from, value.tensor->kind, arg.toTensor()));
    } else if (value.type == Value::Type::SymInt || value.type == Value::Type::Int) {
      if (arg.isTensor()) {
        int32_t number = static_cast<int32_t>(value.integer);
        const Sizes sizes(static_cast<size_t>(arg.toTensor().dim()), 1);
        ET_CHECK_OK_OR_RETURN_ERROR(resize_output(argument, arg.toTensor(), array_of(sizes)));
        ET_CHECK_OK_OR_RETURN_ERROR(copy_out(&number, Kind::Int, arg.toTensor()));
      } else {
        arg = EValue(value.integer);
      }
    }
  }
  return Error::Ok;
}

void Graph::log_times(runtime::EventTracer& tracer) {
  std::vector<gpu::Sequence::Time> times;
  if (sequence_->times(times) != Error::Ok) {
    return;
  }
  size_t number = 0;
  for (const gpu::Sequence::Time& time : times) {
    const std::string name = std::string(time.name) + "_" + std::to_string(number++);
    // The debug id is the tag, a node id by which tools find the model's nodes; the metadata has the kernel's name.
    tracer.log_profiling_delegate(nullptr, static_cast<int32_t>(time.tag), time.start_ns, time.end_ns, name.c_str(),
                                  name.size() + 1);
  }
}

}  // namespace vulkan
}  // namespace backends
}  // namespace executorch
