// SPDX-License-Identifier: BSD-3-Clause
// Reads the weights of a node when XNNPACK packs them, and frees them at once: they are never all in memory beside the
// packed ones, and those that are packed already are not read at all.
#pragma once

#include <xnnpack.h>

#include <optional>
#include <unordered_map>

#include <executorch/runtime/core/error.h>

#include "payload/payload.h"
#include "private/internals.h"
#include "weights/weights.h"

namespace executorch {
namespace backends {
namespace xnnpack {

/// A constant of the payload that is packed.
struct PackedConstant {
  /// XNNPACK's number for it.
  uint32_t value;
  /// Its number in the payload.
  uint32_t index;
  /// Bytes that the value has; the constant has as many or more.
  size_t size;
  /// See OriginalWeights.
  Shape shape;
  std::string_view scales;
  bool is_shareable;
};

/// A node of a subgraph whose filter, and bias if it has one, are constants that are packed.
struct PackedNode {
  uint32_t node;
  PackedConstant filter;
  std::optional<PackedConstant> bias;
};

/// The packed weights of one delegate, and how they are made.
class NodePacker final : public DelegateWeights {
 public:
  using DelegateWeights::DelegateWeights;

  /// Takes part in making the operators of `nodes`, of which a runtime is made next; its weights' cache has to be
  /// provider().
  /// @param payload Must outlive finish().
  void begin_runtime(Payload& payload, xnn_subgraph_t subgraph, std::vector<PackedNode> nodes);

  /// To be called when the runtime is made, or cannot be.
  /// @returns Why weights could not be read (logged).
  runtime::Error finish();

 private:
  struct Node {
    PackedNode packed;
    CreateOperator create;
  };

  static xnn_status create_operator(const xnn_node* node, const xnn_value* values, size_t num_values,
                                    xnn_operator_data* data, xnn_code_cache* code, xnn_weights_cache_t cache);

  /// What is known of a constant without reading all of it.
  OriginalWeights describe(const PackedConstant& constant);
  /// Whether both are to be looked for before they are read.
  bool may_be_packed(const OriginalWeights& filter, const OriginalWeights* bias) const;
  /// False, with error_, when it cannot be read.
  bool read(const PackedConstant& constant, OriginalWeights& weights, xnn_value* values);
  /// Whether packed weights that XNNPACK has found have the size that the operator reads. If not (logged), deletes the
  /// operator and lets XNNPACK pack the weights when it makes it again.
  bool has_right_size(xnn_operator_data* data);
  void release(const PackedConstant& constant, xnn_value* values);

  Payload* payload_ = nullptr;
  std::unordered_map<uint32_t, Node> nodes_;
  /// Whether the loader of the named data may read less than all.
  bool reads_parts_ = true;
  runtime::Error error_ = runtime::Error::Ok;
};

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
