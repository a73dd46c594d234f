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
   * @param shared Where packed weights are that others may have too; must outlive the object. Null for its own only.
   */
  runtime::Error load(const void* data, size_t size, const runtime::NamedDataMap* named_data, WeightsStore* shared);

  /// Whether the payload is still read when the delegate runs.
  bool needs_payload() const { return payload_.has_value(); }

  /**
   * Runs it on tensors, whose outputs it resizes.
   *
   * @retval Error::InvalidArgument (logged) an argument is no tensor or of another dtype or rank, or the shapes do not
   * fit each other.
   * @param tracer Gets an event for each operator, see profile.h; may be null.
   */
  runtime::Error execute(runtime::Span<runtime::EValue*> args, runtime::EventTracer* tracer = nullptr);

 private:
  /// An argument. Its shape here is that of memory: dimensions in the order of the strides.
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
  /// Whether no result has an element, so that there is nothing to compute. XNNPACK takes no empty tensors.
  bool has_empty_results() const;
  /// Runs in a workspace of its own until the end of `use`.
  runtime::Error enter(const WorkspaceGroup::Use& use);
  runtime::Error reshape();
  runtime::Error resize_outputs(runtime::Span<runtime::EValue*> args);
  /// Moves the arguments behind which kernels would read what may not be there.
  runtime::Error leave_page_ends(runtime::Span<runtime::EValue*> args, MovedArguments& moved);
  /// What threads do after the execution that begins.
  Rest rest() const;

  const std::shared_ptr<WorkspaceGroup> workspaces_;
  /// That of the last execution.
  std::shared_ptr<Workspace> workspace_;
  xnn_runtime_t runtime_ = nullptr;
  std::vector<External> externals_;
  std::vector<ShapeRule> rules_;
  /// By Value::index, of the last call.
  std::vector<Shape> shapes_;
  bool is_shaped_ = false;
  /// For which the operators are divided.
  size_t threads_ = 0;
  Sharing sharing_;
  bool weights_are_far_ = false;
  /// When the last execution has ended.
  std::chrono::steady_clock::time_point ended_;
  std::vector<xnn_external_value> pointers_;
  std::vector<std::unique_ptr<uint8_t[]>> constants_;
  std::vector<std::unique_ptr<Step>> steps_;
  std::vector<NodeOrigin> origins_;
  std::optional<NodePacker> weights_;
  std::optional<Payload> payload_;
};

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
