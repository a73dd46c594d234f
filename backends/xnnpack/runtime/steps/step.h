// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * Operators that XNNPACK lacks: a step is a function of ours that runs as a node of its graph, on its threads and in
 * its workspace.
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

/// Inputs of a step, at most; XNNPACK's own limit.
constexpr size_t kMaxStepInputs = 5;

/// Results of a step, at most.
constexpr size_t kMaxStepOutputs = 2;
using StepOutputs = std::array<uint32_t, kMaxStepOutputs>;

struct StepData {
  const void* in[kMaxStepInputs] = {};
  void* out = nullptr;         ///< null where only the second result is read
  void* second_out = nullptr;  ///< null where it is not read
};

class Step {
 public:
  Step() = default;
  virtual ~Step() = default;
  Step(const Step&) = delete;
  Step& operator=(const Step&) = delete;

  /// Its name in events; null for the name in the payload.
  virtual const char* name() const { return nullptr; }

  /// Takes what it needs of inputs that are constant, whose `in` is not null, when a runtime is made: they may be freed
  /// afterwards. As XNNPACK's own operators do, it looks for its form of them in `weights` first.
  virtual xnn_status pack(const StepData&, xnn_weights_cache_t) { return xnn_status_success; }

  /// How many results a node of it may have; all of them have the same shape.
  virtual size_t most_outputs() const { return 1; }

  /// The shape of the result; nullopt if the inputs do not fit each other or the parameters of the step. The step then
  /// reads and writes only inside tensors of these shapes.
  virtual OptionalShape shape(const std::vector<Shape>& in) const = 0;

  /// How the work on inputs that shape() accepted is divided.
  struct Plan {
    size_t units = 1;    ///< parts that any thread may compute
    size_t scratch = 0;  ///< bytes that each thread needs
    /// Roughly, in multiplications of a GEMM; decides whether threads are woken.
    double work = std::numeric_limits<double>::infinity();
    xnn_status status = xnn_status_success;  ///< of what the step had to allocate
  };
  virtual Plan plan(const std::vector<Shape>& in, size_t threads) = 0;

  /// Computes one part.
  /// @param scratch At a multiple of 64.
  virtual void run(const StepData& data, size_t unit, void* scratch) = 0;

  /// What was wrong with the values of the inputs since the last call; null if nothing was.
  const char* take_failure() { return failure_.exchange(nullptr); }

 protected:
  void fail(const char* why) { failure_ = why; }

 private:
  std::atomic<const char*> failure_{nullptr};
};

/// Adds a step to a subgraph. It must live as long as the runtimes that are made from it.
/// @param inputs, count Values, at least one and at most kMaxStepInputs.
/// @param input_rank, output_rank Dimensions of the first input and of the results.
/// @param outputs Values; XNN_INVALID_VALUE_ID for results that are not read, but for one at least.
xnn_status define_step(xnn_subgraph_t subgraph, Step& step, const uint32_t* inputs, size_t count, size_t input_rank,
                       const StepOutputs& outputs, size_t output_rank);

/// Makes a node of a subgraph one of a step, as define_step() does. The result has as many dimensions as the first
/// input.
void become_step(xnn_node& node, Step& step, const uint32_t* inputs, size_t count, uint32_t output);

/// The step of a node that is one.
Step& step_of(const xnn_node& node);

/// Creates the operator of such a node; XNNPACK calls it when a runtime is created.
xnn_status create_step(const xnn_node* node, const xnn_value* values, size_t num_values, xnn_operator_data* data,
                       xnn_code_cache* code, xnn_weights_cache_t weights);

/// Step::Plan::work of the last xnn_reshape_runtime(); infinity for XNNPACK's own operators.
double step_work(const xnn_operator_data& op);

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
