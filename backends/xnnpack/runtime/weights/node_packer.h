// SPDX-License-Identifier: BSD-3-Clause
// Reads the weights of each node only when XNNPACK packs them and frees them right after, so that the original weights
// of a whole model are never in memory together with the packed ones. Weights that are packed already are not read.
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
  /// The id of its value in the subgraph.
  uint32_t value;
  /// The number of the constant in the payload.
  uint32_t index;
  /// Bytes of the value. The constant in the payload may be larger.
  size_t size;
  /// See OriginalWeights.
  Shape shape;
  std::string_view scales;
  bool is_shareable;
};

/// A node of a subgraph whose filter is a packed constant, and so is its bias if it has one.
struct PackedNode {
  uint32_t node;
  PackedConstant filter;
  std::optional<PackedConstant> bias;
};

/// Packs the weights of one delegate and owns the packed weights.
class NodePacker final : public DelegateWeights {
 public:
  using DelegateWeights::DelegateWeights;

  /// Replaces the functions that create the operators of `nodes`. Call it before the runtime is created from
  /// `subgraph`, with provider() as the runtime's weights cache.
  /// @param payload Must outlive finish().
  void begin_runtime(Payload& payload, xnn_subgraph_t subgraph, std::vector<PackedNode> nodes);

  /// Call it after the runtime was created, or its creation failed.
  /// @returns The error (logged) if weights could not be read, or MemoryAllocationFailed if memory ran out, or Ok.
  runtime::Error finish();

 private:
  struct Node {
    PackedNode packed;
    CreateOperator create;
  };

  static xnn_status create_operator(const xnn_node* node, const xnn_value* values, size_t num_values,
                                    xnn_operator_data* data, xnn_code_cache* code, xnn_weights_cache_t cache);

  xnn_status create(const xnn_node* node, const xnn_value* values, size_t num_values, xnn_operator_data* data,
                    xnn_code_cache* code, xnn_weights_cache_t cache);

  /// Describes a constant without reading all of it.
  OriginalWeights describe(const PackedConstant& constant);
  /// Whether the file may hold these weights, so that XNNPACK should look for them before they are read.
  bool may_be_packed(const OriginalWeights& filter, const OriginalWeights* bias) const;
  /// Returns false and sets error_ if the constant cannot be read.
  bool read(const PackedConstant& constant, OriginalWeights& weights, xnn_value* values);
  /// Whether packed weights that were found have the size that the operator reads. If not (logged), deletes the
  /// operator; XNNPACK then packs the weights when it creates the operator again.
  bool has_right_size(xnn_operator_data* data);
  void release(const PackedConstant& constant, xnn_value* values);

  Payload* payload_ = nullptr;
  std::unordered_map<uint32_t, Node> nodes_;
  /// False once the named data has refused to read only a part of an entry.
  bool reads_parts_ = true;
  runtime::Error error_ = runtime::Error::Ok;
};

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
