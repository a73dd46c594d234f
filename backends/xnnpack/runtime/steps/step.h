// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * Operators that XNNPACK lacks, or that are faster here: a step runs as a node of XNNPACK's graph, on its threads and
 * in its workspace.
 */
#pragma once

#include <xnnpack.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "graph/shapes.h"

struct xnn_code_cache;
struct xnn_node;
struct xnn_operator_data;
struct xnn_value;

namespace executorch {
namespace backends {
namespace xnnpack {

/// The most inputs of a step, which is XNNPACK's limit for a node.
constexpr size_t kMaxStepInputs = 5;

/// The most outputs of a step.
constexpr size_t kMaxStepOutputs = 2;
using StepOutputs = std::array<uint32_t, kMaxStepOutputs>;

struct StepData {
  const void* in[kMaxStepInputs] = {};
  void* out = nullptr;         ///< null if no node reads it
  void* second_out = nullptr;  ///< null if no node reads it
};

class Step {
 public:
  Step() = default;
  virtual ~Step() = default;
  Step(const Step&) = delete;
  Step& operator=(const Step&) = delete;

  /// The step's name in events; null to use the name of its kind in the payload.
  virtual const char* name() const { return nullptr; }

  /// Packs the constant inputs, whose `in` is not null, when a runtime is created; the caller may free them afterwards.
  /// As XNNPACK's operators do, it first looks up packed weights in `weights`.
  virtual xnn_status pack(const StepData&, xnn_weights_cache_t) { return xnn_status_success; }

  /// The most outputs of a node with this step. All outputs have the same shape.
  virtual size_t most_outputs() const { return 1; }

  /// The shape of the outputs; nullopt if the inputs do not fit each other or the parameters of the step. A step must
  /// never read or write outside tensors of the shapes that this accepted. Inputs may be empty.
  virtual OptionalShape shape(const std::vector<Shape>& in) const = 0;

  /// How the work is divided, for inputs that shape() accepted and outputs that are not empty.
  struct Plan {
    size_t units = 1;    ///< units of work, each of which any thread may compute
    size_t scratch = 0;  ///< bytes of scratch memory for each thread
    /// A rough estimate in multiplications of a GEMM, which decides whether threads are woken.
    double work = std::numeric_limits<double>::infinity();
    xnn_status status = xnn_status_success;  ///< an error, such as a failed allocation
  };
  virtual Plan plan(const std::vector<Shape>& in, size_t threads) = 0;

  /// Computes one unit of work.
  /// @param scratch Aligned to 64 bytes; null if the plan asks for none.
  virtual void run(const StepData& data, size_t unit, void* scratch) = 0;

  /// Returns and clears the message of a run that failed because of the values of its inputs; null if none failed.
  const char* take_failure() { return failure_.exchange(nullptr); }

 protected:
  void fail(const char* why) { failure_ = why; }

 private:
  std::atomic<const char*> failure_{nullptr};
};

/// Adds a step to a subgraph. It must live as long as the runtimes that are made from it.
/// @param inputs, count Ids of values, at least one and at most kMaxStepInputs.
/// @param input_rank, output_rank The number of dimensions of the first input and of the outputs.
/// @param outputs Ids of values; XNN_INVALID_VALUE_ID for outputs that no node reads. At least one id must be valid.
xnn_status define_step(xnn_subgraph_t subgraph, Step& step, const uint32_t* inputs, size_t count, size_t input_rank,
                       const StepOutputs& outputs, size_t output_rank);

/// Makes an existing node run a step. Its output has as many dimensions as its first input.
void become_step(xnn_node& node, Step& step, const uint32_t* inputs, size_t count, uint32_t output);

/// The step of a node that define_step() or become_step() has made.
Step& step_of(const xnn_node& node);

/// Creates the operator of such a node; XNNPACK calls it when a runtime is created.
xnn_status create_step(const xnn_node* node, const xnn_value* values, size_t num_values, xnn_operator_data* data,
                       xnn_code_cache* code, xnn_weights_cache_t weights);

/// Makes a node of a runtime run a step with one result instead of its operators, which the caller must have kept.
xnn_status replace_operators(xnn_operator_data& data, Step& step);

/// Whether a node of a runtime runs a step.
bool is_step(const xnn_operator_data& data);

/// Step::Plan::work of the last xnn_reshape_runtime(); infinity for XNNPACK's own operators.
double step_work(const xnn_operator_data& op);

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
