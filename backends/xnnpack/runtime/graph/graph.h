// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * Builds a subgraph of XNNPACK from the graph of a payload.
 */
#pragma once

#include <xnnpack.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <executorch/runtime/core/error.h>
#include <serialization/xnnpack_graph_generated.h>

#include "graph/shapes.h"
#include "payload/payload.h"
#include "profile.h"
#include "steps/step.h"
#include "weights/node_packer.h"

namespace executorch {
namespace backends {
namespace xnnpack {

/// The type of an argument that XNNPACK's operators cannot read. Only steps read and write such arguments.
enum class RawType : uint8_t { None, Bool, Int64 };

/// A value of the graph, whose fields have been checked.
struct Value {
  xnn_datatype datatype = xnn_datatype_invalid;
  RawType raw = RawType::None;
  Shape dims;
  /// Scale of a per-tensor quantised value.
  float scale = 0;
  /// Index into the shapes of the graph.
  size_t index = 0;
  /// Its id in the subgraph.
  uint32_t id = XNN_INVALID_VALUE_ID;
  /// Its position among the delegate's arguments; XNN_INVALID_VALUE_ID if it is not an argument.
  uint32_t external_id = XNN_INVALID_VALUE_ID;
  /// The elements of a constant, else null.
  const void* data = nullptr;
  /// The number of a constant in the payload, and its size in bytes.
  uint32_t constant = 0;
  size_t size = 0;
  /// Whether `data` is a placeholder, because the elements are read only when they are packed.
  bool is_deferred = false;
  /// Whether `data` points to the payload's entry, and not to a copy.
  bool is_in_place = false;
  /// Whether the value is an input or an output of the delegate.
  bool is_input = false;
  bool is_output = false;
  /// Whether one of the nodes that were read so far computes the value, or reads it.
  bool is_computed = false;
  bool is_read = false;
  /// Whether an operator of XNNPACK reads the value, see page_ends.h.
  bool is_read_by_kernels = false;
};

/// As much as phones have for one model. ResNet18 takes 94 MB of it; with the weights of diffusion models, transformed
/// filters would take gigabytes.
constexpr size_t kDefaultFilterBytes = size_t{128} << 20;

/// Whether the elements are int4, two in a byte. XNNPACK supports this for filters only.
inline bool has_four_bits(xnn_datatype datatype) {
  return datatype == xnn_datatype_qcint4 || datatype == xnn_datatype_qbint4;
}

/**
 * Builds an xnn_subgraph from a payload's graph. It checks what XNNPACK assumes without checking: ids of values, the
 * order of nodes, sizes of constants, and that the shapes of a node's operands fit each other.
 */
class GraphBuilder final {
 public:
  /// @param payload Must outlive the builder and the creation of a runtime from the subgraph.
  /// @param filter_bytes How much larger than the filters the transformed filters that steps keep may be in total.
  explicit GraphBuilder(Payload& payload, size_t filter_bytes = kDefaultFilterBytes)
      : payload_(payload), filter_bytes_(filter_bytes) {}

  /**
   * @retval Error::InvalidProgram (logged) the graph is malformed.
   * @retval Error::NotSupported (logged) XNNPACK cannot run it on this machine.
   */
  runtime::Error build();

  xnn_subgraph_t subgraph() const { return subgraph_.get(); }

  /// The values that are arguments of the delegate, in the order of their external ids.
  std::vector<const Value*> externals() const;

  /// The rules by which output shapes follow from input shapes, and the shapes in the payload, by Value::index.
  std::vector<ShapeRule> take_rules() { return std::move(rules_); }
  std::vector<Shape> take_shapes() { return std::move(shapes_); }

  /// Whether the runtime reads constants in the payload, which must then outlive it.
  bool needs_payload() const { return needs_payload_; }

  /// Constants that the runtime reads in each execution. They must outlive it.
  std::vector<std::unique_ptr<uint8_t[]>> take_constants() { return std::move(kept_); }

  /// The steps among the nodes, which must outlive the runtime.
  std::vector<std::unique_ptr<Step>> take_steps() { return std::move(steps_); }

  /// The origins of the subgraph's nodes, by node number.
  std::vector<NodeOrigin> take_origins() { return std::move(origins_); }

  /// The debug handles of the nodes that compute the values of the subgraph, by the numbers of the values; 0 for none.
  std::vector<uint32_t> take_value_handles() { return std::move(value_handles_); }

  /// The nodes whose weights a NodePacker reads when the runtime is created.
  std::vector<PackedNode> take_packed_nodes() { return std::move(packed_nodes_); }

  /// Whether XNNPACK may fuse clamps into the nodes before them. If such a node has a window, XNNPACK confuses its
  /// first two paddings with the limits of an activation. It reads their bits as floats, raises the first one to the
  /// lower limit if it is below, and reduces the second one to the upper limit if it is above. The paddings stay
  /// unchanged if both are below 2^23 (whose bits are the smallest normal float), the lower limit is at most 0, and the
  /// upper limit is above that float.
  bool may_fuse() const { return may_fuse_; }

  /// Whether the payload may contain steps.
  bool has_steps() const { return payload_.has_steps(); }

 private:
  friend class NodeReader;

  struct DeleteSubgraph {
    void operator()(xnn_subgraph_t subgraph) const { xnn_delete_subgraph(subgraph); }
  };

  runtime::Error find_packed_constants();
  /// Records the packed constants of the node that was defined last.
  void add_packed_node(const fb_xnnpack::XNode& node);
  std::optional<PackedConstant> packed_constant(uint32_t id, const LayerPacking& how, bool is_shareable) const;
  /// Reads a constant that is needed at run time, and not only when it is packed, and keeps it in memory.
  runtime::Error read_in_place(Value& value, bool by_kernels);
  runtime::Error define_value(const fb_xnnpack::XValue& value, uint32_t index);
  runtime::Error find_data(const fb_xnnpack::XNNTensorValue& tensor, Value& value);
  runtime::Error define_quantized(const fb_xnnpack::XNNQuantizedTensorValue& quantized, uint32_t flags, Value& value);
  template <typename Quant>
  runtime::Result<runtime::Span<const uint8_t>> scales(const Quant& quant, size_t count, size_t element_size);

  Payload& payload_;
  /// What is left of the constructor's `filter_bytes`.
  size_t filter_bytes_;
  std::unique_ptr<struct xnn_subgraph, DeleteSubgraph> subgraph_;
  /// By id in the payload.
  std::unordered_map<uint32_t, Value> values_;
  /// Ids of filters and biases, which are packed when the runtime is created, and of embedding tables, which are read
  /// in place.
  std::unordered_set<uint32_t> packed_;
  std::vector<PackedNode> packed_nodes_;
  std::vector<bool> has_external_;
  std::vector<ShapeRule> rules_;
  std::vector<Shape> shapes_;
  bool needs_payload_ = false;
  bool may_fuse_ = true;
  std::vector<std::unique_ptr<uint8_t[]>> kept_;
  std::vector<std::unique_ptr<uint8_t[]>> scales_;
  std::vector<std::unique_ptr<Step>> steps_;
  std::vector<NodeOrigin> origins_;
  std::vector<uint32_t> value_handles_;
};

/// Adds a node to the subgraph, see node_reader.cpp. `index` is for messages.
runtime::Error define_node(GraphBuilder& builder, const fb_xnnpack::XNode& node, uint32_t index);

/// Describes a status of XNNPACK for messages.
const char* status_text(xnn_status status);

runtime::Error status_error(xnn_status status);

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
