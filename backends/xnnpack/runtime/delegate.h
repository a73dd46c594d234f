// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <xnnpack.h>

#include <chrono>
#include <memory>
#include <optional>
#include <vector>

#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/event_tracer.h>
#include <executorch/runtime/core/named_data_map.h>
#include <executorch/runtime/core/result.h>
#include <executorch/runtime/core/span.h>

#include "graph/graph.h"
#include "payload/page_ends.h"
#include "payload/payload.h"
#include "threads/sharing.h"
#include "workspace.h"

namespace executorch {
namespace backends {
namespace xnnpack {

/// One delegated part of a method: a runtime of XNNPACK with its packed weights.
class Delegate final {
 public:
  explicit Delegate(std::shared_ptr<WorkspaceGroup> workspaces) : workspaces_(std::move(workspaces)) {}
  ~Delegate();
  Delegate(const Delegate&) = delete;
  Delegate& operator=(const Delegate&) = delete;

  /**
   * Builds the graph and packs the weights.
   *
   * @param data, size The payload. If needs_payload() afterwards, it must outlive the object.
   * @param shared Packed weights that delegates share; must outlive the object. Null to share nothing.
   * @param filter_bytes As GraphBuilder has it.
   */
  runtime::Error load(const void* data, size_t size, const runtime::NamedDataMap* named_data, WeightsStore* shared,
                      size_t filter_bytes = kDefaultFilterBytes);

  /// Whether the payload is still read when the delegate runs.
  bool needs_payload() const { return payload_.has_value(); }

  /**
   * Runs the delegate on its arguments and resizes the outputs.
   *
   * @return As extension/delegate/arguments.h; InvalidArgument if shapes or values do not fit; MemoryAllocationFailed.
   * @param tracer Gets an event for each operator and, if it requests them, the values that operators compute, see
   * profile.h; may be null.
   */
  runtime::Error execute(runtime::Span<runtime::EValue*> args, runtime::EventTracer* tracer = nullptr);

 private:
  /// An argument. Its dimensions are in memory order.
  struct External {
    uint32_t id;
    xnn_datatype datatype;
    RawType raw;
    size_t index;
    size_t rank;
    bool is_input;
    bool is_read_by_kernels;
  };

  runtime::Error read_inputs(runtime::Span<runtime::EValue*> args, bool* changed);
  /// Whether all outputs are empty, so that nothing has to be computed.
  bool has_empty_results() const;
  /// Whether some value is empty, so that EmptyNodes have to replace nodes: XNNPACK does not support empty tensors.
  bool has_empty_values() const;
  /// Moves the runtime to the workspace of `use`, if it is in another one.
  runtime::Error enter(const WorkspaceGroup::Use& use);
  runtime::Error reshape_inputs();
  runtime::Error reshape();
  runtime::Error resize_outputs(runtime::Span<runtime::EValue*> args);
  /// Replaces arguments that end too close to the end of a page by padded copies, see page_ends.h.
  runtime::Error leave_page_ends(runtime::Span<runtime::EValue*> args, MovedArguments& moved);
  /// Whether threads spin or sleep after the execution that begins now.
  Rest rest() const;

  const std::shared_ptr<WorkspaceGroup> workspaces_;
  /// The workspace of the last execution.
  std::shared_ptr<Workspace> workspace_;
  xnn_runtime_t runtime_ = nullptr;
  std::vector<External> externals_;
  size_t input_count_ = 0;
  std::vector<ShapeRule> rules_;
  /// The shapes of the last call, by Value::index.
  std::vector<Shape> shapes_;
  bool is_shaped_ = false;
  /// The number of threads for which the runtime was reshaped.
  size_t threads_ = 0;
  Sharing sharing_;
  bool weights_are_far_ = false;
  /// When the last execution ended.
  std::chrono::steady_clock::time_point ended_;
  std::vector<xnn_external_value> pointers_;
  std::vector<std::unique_ptr<uint8_t[]>> constants_;
  std::vector<std::unique_ptr<Step>> steps_;
  std::vector<NodeOrigin> origins_;
  OperatorLog operator_log_;
  std::vector<uint32_t> value_handles_;
  std::optional<NodePacker> weights_;
  std::optional<Payload> payload_;
};

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
