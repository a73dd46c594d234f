// SPDX-License-Identifier: BSD-3-Clause
#include "delegate.h"

#include <pthreadpool.h>

#include <algorithm>
#include <cinttypes>
#include <string>

#include <executorch/extension/delegate/arguments.h>
#include <executorch/extension/threadpool/threadpool.h>
#include <executorch/runtime/core/event_tracer_hooks.h>
#include <executorch/runtime/platform/log.h>
#include <executorch/runtime/platform/platform.h>

#include "kernels/products.h"
#include "private/internals.h"
#include "private/memory_plan.h"
#include "steps/empty_nodes.h"

namespace executorch {
namespace backends {
namespace xnnpack {

using aten::ScalarType;
using aten::Tensor;
using extension::delegate::Argument;
using runtime::Error;
using runtime::EValue;
using runtime::Span;

namespace {

constexpr char kTitle[] = "XNNPACK";

/// An input or output, which payloads number together.
Argument argument_of(uint32_t id) {
  return {kTitle, "argument", id};
}

/// Roughly the size of weights that stay in the caches until the next execution. On a processor with 32 MB of shared
/// L3 cache, 3 MB stayed and 24 MB did not.
constexpr size_t kNearWeights = size_t{8} << 20;

/// After an execution that followed the one before within this time, threads spin for about as long before they
/// sleep, because the next execution probably follows as soon.
constexpr std::chrono::microseconds kSoon{200};

/// Whether the tensor has `rank` dimensions. Payloads describe a tensor without dimensions as one of rank 1.
bool has_rank(const Tensor& tensor, size_t rank) {
  return static_cast<size_t>(tensor.dim()) == rank || (tensor.dim() == 0 && rank == 1);
}

/// The dtype of the argument for a value of this datatype.
ScalarType dtype_of(xnn_datatype datatype, RawType raw) {
  if (raw != RawType::None) {
    return raw == RawType::Bool ? ScalarType::Bool : ScalarType::Long;
  }
  switch (datatype) {
    case xnn_datatype_fp32:
      return ScalarType::Float;
    case xnn_datatype_fp16:
      return ScalarType::Half;
    case xnn_datatype_qint8:
      return ScalarType::Char;
    case xnn_datatype_quint8:
      return ScalarType::Byte;
    case xnn_datatype_int32:
    case xnn_datatype_qint32:
      return ScalarType::Int;
    default:
      return ScalarType::Undefined;
  }
}

}  // namespace

Delegate::~Delegate() {
  if (runtime_ != nullptr) {
    const std::lock_guard<std::mutex> lock(workspaces_->mutex());
    xnn_delete_runtime(runtime_);
  }
}

Error Delegate::load(const void* data, size_t size, const runtime::NamedDataMap* named_data, WeightsStore* shared,
                     size_t filter_bytes) {
  payload_.emplace();
  ET_CHECK_OK_OR_RETURN_ERROR(payload_->open(data, size, named_data));
  GraphBuilder builder(*payload_, filter_bytes);
  ET_CHECK_OK_OR_RETURN_ERROR(builder.build());
  for (const Value* value : builder.externals()) {
    externals_.push_back({value->external_id, value->datatype, value->raw, value->index, value->dims.size(),
                          value->is_input, value->is_read_by_kernels});
    input_count_ += value->is_input ? 1 : 0;
  }
  pointers_.resize(externals_.size());
  weights_.emplace(shared).begin_runtime(*payload_, builder.subgraph(), builder.take_packed_nodes());
  // The runtime starts in a new empty workspace, so that packing weights, which takes long, blocks no other delegate.
  // The first execution moves it to a workspace of the group.
  workspace_ = Workspace::make();
  ET_CHECK_OR_RETURN_ERROR(workspace_ != nullptr, MemoryAllocationFailed, "XNNPACK: no memory for a workspace");
  // execute() sets the threads.
  const uint32_t flags = builder.may_fuse() ? 0 : no_fusion_flag();
  xnn_status status =
      xnn_create_runtime_v4(builder.subgraph(), weights_->provider(), workspace_->get(), nullptr, flags, &runtime_);
  ET_CHECK_OK_OR_RETURN_ERROR(weights_->finish());
  if (status == xnn_status_success && !has_all_operators(builder.subgraph(), runtime_)) {
    status = xnn_status_out_of_memory;
  }
  if (status != xnn_status_success) {
    ET_LOG(Error, "XNNPACK cannot run the graph of the payload on this machine: %s", status_text(status));
    return status_error(status);
  }
  weights_are_far_ = constants_size(runtime_) > kNearWeights;
  rules_ = builder.take_rules();
  shapes_ = builder.take_shapes();
  constants_ = builder.take_constants();
  steps_ = builder.take_steps();
  origins_ = builder.take_origins();
  value_handles_ = builder.take_value_handles();
  if (!builder.needs_payload()) {
    payload_.reset();
  }
  return Error::Ok;
}

Error Delegate::execute(Span<EValue*> args, runtime::EventTracer* tracer) {
  bool changed = !is_shaped_;
  ET_CHECK_OK_OR_RETURN_ERROR(read_inputs(args, &changed));
  if (changed) {
    ET_CHECK_OK_OR_RETURN_ERROR(infer_shapes(rules_, shapes_));
    if (has_empty_results()) {
      return resize_outputs(args);
    }
  }
  const WorkspaceGroup::Use use = workspaces_->use(workspace_);
  ET_CHECK_OK_OR_RETURN_ERROR(enter(use));
  pthreadpool_t pool = extension::threadpool::get_pthreadpool();
  const size_t threads = pthreadpool_get_threads_count(pool);  // 1 without a pool
  set_threads(runtime_, pool);
  std::optional<EmptyNodes> empty_nodes;
  if (changed || threads != threads_ || !is_shaped_) {  // enter() clears is_shaped_ for another workspace
    threads_ = threads;
    is_shaped_ = false;
    ET_CHECK_OK_OR_RETURN_ERROR(reshape_inputs());
    if (has_empty_values()) {
      empty_nodes.emplace(runtime_);
      ET_CHECK_OK_OR_RETURN_ERROR(empty_nodes->replace(rules_, shapes_));
    }
    ET_CHECK_OK_OR_RETURN_ERROR(reshape());
    order_products(runtime_, threads_);
    sharing_ = plan_sharing(runtime_, threads_);
    if (threads_ > 1 && sharing_.has_one_thread) {
      set_threads(runtime_, nullptr);
      ET_CHECK_OK_OR_RETURN_ERROR(reshape());
      order_products(runtime_, 1);
    }
    is_shaped_ = !empty_nodes;  // its destructor restores nodes that have other shapes
  }
  ET_CHECK_OK_OR_RETURN_ERROR(resize_outputs(args));
  MovedArguments moved;
  ET_CHECK_OK_OR_RETURN_ERROR(leave_page_ends(args, moved));
  // Set up each time: another delegate may have made the workspace grow, which moves its memory.
  xnn_status status = xnn_setup_runtime_v2(runtime_, pointers_.size(), pointers_.data());
  const bool is_measured = runtime::internal::event_tracer_measures_all(tracer);
  set_profiling(runtime_, is_measured);
  const et_timestamp_t start = is_measured ? et_pal_current_ticks() : 0;
  if (status == xnn_status_success) {
    expect_far_weights(weights_are_far_);
    std::optional<ValueLogger> values;
    if (runtime::internal::event_tracer_active(tracer) && tracer->intermediate_outputs_logging_status()) {
      values.emplace(*tracer, runtime_, value_handles_);
    }
    status = invoke(runtime_, sharing_, rest(), values ? &*values : nullptr);
    ended_ = std::chrono::steady_clock::now();
  }
  ET_CHECK_OR_RETURN_ERROR(status == xnn_status_success, Internal, "XNNPACK could not run a delegate: %s",
                           status_text(status));
  moved.finish();
  if (is_measured) {
    operator_log_.write(*tracer, runtime_, start, origins_);
  }
  Error error = Error::Ok;
  for (const auto& step : steps_) {
    if (const char* failure = step->take_failure()) {
      ET_LOG(Error, "XNNPACK: an argument of a delegate has a value that does not fit: %s", failure);
      error = Error::InvalidArgument;
    }
  }
  return error;
}

Error Delegate::enter(const WorkspaceGroup::Use& use) {
  ET_CHECK_OR_RETURN_ERROR(use.workspace() != nullptr, MemoryAllocationFailed, "XNNPACK: no memory for a workspace");
  if (use.workspace() != workspace_) {
    {
      const std::lock_guard<std::mutex> lock(workspaces_->mutex());
      move_to_workspace(runtime_, use.workspace()->get());
    }
    workspace_ = use.workspace();
    is_shaped_ = false;
  }
  return Error::Ok;
}

Rest Delegate::rest() const {
  return std::chrono::steady_clock::now() - ended_ < kSoon ? Rest::Awake : Rest::Asleep;
}

Error Delegate::read_inputs(Span<EValue*> args, bool* changed) {
  const size_t outputs = externals_.size() - input_count_;
  ET_CHECK_OK_OR_RETURN_ERROR(extension::delegate::check_count(kTitle, args, input_count_, outputs));
  for (size_t i = 0; i < externals_.size(); ++i) {
    const External& external = externals_[i];
    const Argument argument = argument_of(external.id);
    ET_CHECK_OK_OR_RETURN_ERROR(check_is_tensor(argument, *args[external.id]));
    const Tensor& tensor = args[external.id]->toTensor();
    ET_CHECK_OK_OR_RETURN_ERROR(check_dtype(argument, tensor, dtype_of(external.datatype, external.raw)));
    ET_CHECK_OK_OR_RETURN_ERROR(check_shape(argument, tensor, has_rank(tensor, external.rank),
                                            [&] { return std::to_string(external.rank) + " dimensions"; }));
    pointers_[i] = {external.id, const_cast<void*>(tensor.const_data_ptr())};
    if (!external.is_input) {
      continue;
    }
    Shape& shape = shapes_[external.index];
    for (size_t d = 0; d < external.rank; ++d) {
      const size_t size = tensor.dim() == 0 ? 1 : static_cast<size_t>(tensor.size(tensor.dim_order()[d]));
      if (shape[d] != size) {
        shape[d] = size;
        *changed = true;
        is_shaped_ = false;
      }
    }
  }
  return Error::Ok;
}

bool Delegate::has_empty_results() const {
  return std::all_of(externals_.begin(), externals_.end(), [&](const External& external) {
    return external.is_input || element_count(shapes_[external.index]) == 0;
  });
}

bool Delegate::has_empty_values() const {
  return std::any_of(shapes_.begin(), shapes_.end(), [](const Shape& shape) { return element_count(shape) == 0; });
}

Error Delegate::reshape_inputs() {
  for (const External& external : externals_) {
    if (external.is_input) {
      const Shape& shape = shapes_[external.index];
      const xnn_status status = xnn_reshape_external_value(runtime_, external.id, shape.size(), shape.data());
      ET_CHECK_OR_RETURN_ERROR(status == xnn_status_success, Internal,
                               "XNNPACK cannot set the shape of argument %" PRIu32 " of a delegate: %s", external.id,
                               status_text(status));
    }
  }
  return Error::Ok;
}

Error Delegate::reshape() {
  plan_memory_anew(runtime_);
  const PlanningMemory planning(runtime_);
  xnn_status status = planning.has_records() ? xnn_status_success : xnn_status_out_of_memory;
  if (status == xnn_status_success) {
    const std::lock_guard<std::mutex> lock(workspaces_->mutex());
    status = xnn_reshape_runtime(runtime_);
  }
  operator_log_.forget_operators();
  ET_CHECK_OR_RETURN_ERROR(status != xnn_status_out_of_memory, MemoryAllocationFailed,
                           "XNNPACK: there is not enough memory for the results of a delegate");
  ET_CHECK_OR_RETURN_ERROR(status == xnn_status_success, InvalidArgument,
                           "XNNPACK cannot run a delegate on inputs of these shapes: %s", status_text(status));
  for (const External& external : externals_) {
    size_t rank = 0;
    size_t dims[XNN_MAX_TENSOR_DIMS] = {};
    status = xnn_get_external_value_shape(runtime_, external.id, &rank, dims);
    ET_CHECK_OR_RETURN_ERROR(
        status == xnn_status_success && Shape(dims, dims + rank) == shapes_[external.index] && rank == external.rank,
        InvalidProgram, "XNNPACK: argument %" PRIu32 " of a delegate has another shape than its graph says",
        external.id);
  }
  return Error::Ok;
}

Error Delegate::resize_outputs(Span<EValue*> args) {
  for (size_t i = 0; i < externals_.size(); ++i) {
    const External& external = externals_[i];
    if (external.is_input) {
      continue;
    }
    const Tensor& tensor = args[external.id]->toTensor();
    ET_CHECK_OR_RETURN_ERROR(tensor.dim() > 0 || element_count(shapes_[external.index]) == 1, InvalidArgument,
                             "XNNPACK: output %" PRIu32 " of a delegate has no dimensions, its result has %zu elements",
                             external.id, element_count(shapes_[external.index]));
    int64_t sizes[XNN_MAX_TENSOR_DIMS] = {};
    for (size_t d = 0; d < static_cast<size_t>(tensor.dim()); ++d) {
      sizes[tensor.dim_order()[d]] = static_cast<int64_t>(shapes_[external.index][d]);
    }
    ET_CHECK_OK_OR_RETURN_ERROR(resize_output(argument_of(external.id), tensor,
                                              aten::ArrayRef<int64_t>(sizes, static_cast<size_t>(tensor.dim()))));
    pointers_[i].data = tensor.mutable_data_ptr();
  }
  return Error::Ok;
}

Error Delegate::leave_page_ends(Span<EValue*> args, MovedArguments& moved) {
  for (size_t i = 0; i < externals_.size(); ++i) {
    const External& external = externals_[i];
    const size_t size = args[external.id]->toTensor().nbytes();
    if (external.is_read_by_kernels && may_leave_page(pointers_[i].data, size)) {
      ET_CHECK_OK_OR_RETURN_ERROR(moved.move(pointers_[i].data, size, external.is_input));
    }
  }
  return Error::Ok;
}

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
