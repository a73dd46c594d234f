// SPDX-License-Identifier: BSD-3-Clause
#include "profile.h"

#include <optional>
#include <string>

#include <executorch/extension/delegate/ticks.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/platform/platform.h>

#include "private/xnnpack_runtime.h"

namespace executorch {
namespace backends {
namespace xnnpack {

namespace {

#if !defined(_WIN32) && !defined(__MACH__) && !defined(__EMSCRIPTEN__)
constexpr bool kHasTimespec = true;
uint64_t nanoseconds(const xnn_timestamp& stamp) {
  return static_cast<uint64_t>(stamp.tv_sec) * 1000000000u + static_cast<uint64_t>(stamp.tv_nsec);
}
#else
constexpr bool kHasTimespec = false;
uint64_t nanoseconds(const xnn_timestamp&) {
  return 0;
}
#endif

/// The durations of the operators of the last invocation, read in sequence. XNNPACK's profile has whole microseconds,
/// but most operators of small models take less than one. So this class reads its time stamps, in private memory of the
/// runtime.
class Durations {
 public:
  Durations(xnn_runtime_t runtime, size_t count) {
    if (kHasTimespec) {
      before_ = nanoseconds(runtime->start_ts);
      return;
    }
    size_t size = 0;
    microseconds_.resize(count);
    if (xnn_get_runtime_profiling_info(runtime, xnn_profile_info_operator_timing, count * sizeof(uint64_t),
                                       microseconds_.data(), &size) != xnn_status_success) {
      microseconds_.assign(count, 0);
    }
  }

  /// Returns the duration of the next operator in nanoseconds.
  uint64_t next(const xnn_operator_data& data) {
    if (!kHasTimespec) {
      return microseconds_[at_++] * 1000;
    }
    uint64_t end = before_;
    for (size_t j = 0; j < XNN_MAX_OPERATOR_OBJECTS; ++j) {
      end = data.operator_objects[j] != nullptr ? nanoseconds(data.end_ts[j]) : end;
    }
    const uint64_t duration = end - before_;
    before_ = end;
    return duration;
  }

 private:
  uint64_t before_ = 0;
  std::vector<uint64_t> microseconds_;
  size_t at_ = 0;
};

/// The dtype with which a value is logged; nullopt for values that are not logged.
std::optional<aten::ScalarType> dtype_of(xnn_datatype datatype) {
  switch (datatype) {
    case xnn_datatype_fp32:
      return aten::ScalarType::Float;
    case xnn_datatype_fp16:
      return aten::ScalarType::Half;
    case xnn_datatype_qint8:
      return aten::ScalarType::Char;
    case xnn_datatype_quint8:
      return aten::ScalarType::Byte;
    default:
      return std::nullopt;
  }
}

/// The name of an operator.
std::string name_of(const xnn_operator& op, const char* step) {
  if (step != nullptr) {
    return step;
  }
  std::string name = xnn_operator_type_to_string(op.type);
  if (op.ukernel.type != xnn_microkernel_type_default) {
    name += std::string(" ") + xnn_microkernel_type_to_string(op.ukernel.type);
  }
  return name;
}

}  // namespace

size_t node_count(xnn_subgraph_t subgraph) {
  return subgraph->num_nodes;
}

std::vector<uint32_t> outputs_of(xnn_subgraph_t subgraph, size_t node) {
  const xnn_node& found = subgraph->nodes[node];
  return {found.outputs, found.outputs + found.num_outputs};
}

void set_profiling(xnn_runtime_t runtime, bool on) {
  runtime->profiling = on;
}

void OperatorLog::find_operators(xnn_runtime_t runtime, const std::vector<NodeOrigin>& origins) {
  operators_.clear();
  for (size_t i = 0; i < runtime->num_ops; ++i) {
    const xnn_operator_data& data = runtime->opdata[i];
    if (data.operator_objects[0] == nullptr) {
      continue;  // fused into another node
    }
    const NodeOrigin origin = data.id < origins.size() ? origins[data.id] : NodeOrigin{0, nullptr};
    operators_.push_back({i, origin.debug_handle, name_of(*data.operator_objects[0], origin.step)});
  }
  is_found_ = true;
}

void OperatorLog::write(runtime::EventTracer& tracer, xnn_runtime_t runtime, et_timestamp_t start,
                        const std::vector<NodeOrigin>& origins) {
  if (!is_found_) {
    find_operators(runtime, origins);
  }
  Durations durations(runtime, operators_.size());
  const extension::delegate::Ticks ticks;
  uint64_t elapsed = 0;
  et_timestamp_t begin = start;
  for (const Operator& op : operators_) {
    elapsed += durations.next(runtime->opdata[op.index]);
    const et_timestamp_t end = start + ticks.of(elapsed);
    if (op.debug_handle != 0) {
      tracer.log_profiling_delegate(nullptr, static_cast<runtime::DelegateDebugIntId>(op.debug_handle), begin, end,
                                    op.name.data(), op.name.size());
    } else {
      tracer.log_profiling_delegate(op.name.c_str(), runtime::kUnsetDelegateDebugIntId, begin, end, nullptr, 0);
    }
    begin = end;
  }
}

void ValueLogger::after(size_t node) {
  const xnn_operator_data& data = runtime_->opdata[node];
  for (size_t i = 0; i < data.num_outputs; ++i) {
    const uint32_t id = data.outputs[i];
    const uint32_t handle = id < handles_.size() ? handles_[id] : 0;
    if (handle == 0) {
      continue;
    }
    const xnn_value& value = runtime_->values[id];
    const std::optional<aten::ScalarType> dtype = dtype_of(value.datatype);
    if (!dtype || value.data == nullptr) {
      continue;
    }
    const size_t rank = value.shape.num_dims;
    aten::SizesType sizes[XNN_MAX_TENSOR_DIMS];
    aten::StridesType strides[XNN_MAX_TENSOR_DIMS];
    aten::DimOrderType order[XNN_MAX_TENSOR_DIMS];
    aten::StridesType stride = 1;
    for (size_t d = rank; d-- > 0;) {
      sizes[d] = static_cast<aten::SizesType>(value.shape.dim[d]);
      strides[d] = stride;
      order[d] = static_cast<aten::DimOrderType>(d);
      stride *= sizes[d];
    }
    aten::TensorImpl impl(*dtype, static_cast<ssize_t>(rank), sizes, value.data, order, strides);
    // The tracer logs its error itself; the execution continues.
    (void)tracer_.log_intermediate_output_delegate(nullptr, static_cast<runtime::DelegateDebugIntId>(handle),
                                                   aten::Tensor(&impl));
  }
}

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
