// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * From the graph of a payload to a subgraph of XNNPACK.
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

/// What an argument holds that XNNPACK does not compute with; only steps read and write it.
enum class RawType : uint8_t { None, Bool, Int64 };

/// A value of the graph, checked.
struct Value {
  xnn_datatype datatype = xnn_datatype_invalid;
  RawType raw = RawType::None;
  Shape dims;
  /// Of int8 with one scale.
  float scale = 0;
  /// Position among the shapes of the graph.
  size_t index = 0;
  /// XNNPACK's number for it.
  uint32_t id = XNN_INVALID_VALUE_ID;
  /// Position among the delegate's arguments; XNN_INVALID_VALUE_ID for what lies inside.
  uint32_t external_id = XNN_INVALID_VALUE_ID;
  /// Its elements where it is constant, else null.
  const void* data = nullptr;
  /// Of a constant, its number in the payload, and its bytes.
  uint32_t constant = 0;
  size_t size = 0;
  /// Whether the elements are not at `data` yet, but are read when they are packed.
  bool is_deferred = false;
  /// Whether `data` lies in the payload.
  bool is_in_place = false;
  /// Whether it is an input of the delegate, an output of it, and whether a node so far has computed it and has read
  /// it.
  bool is_input = false;
  bool is_output = false;
  bool is_computed = false;
  bool is_read = false;
  /// Whether an operator of XNNPACK's reads it, see page_ends.h.
  bool is_read_by_kernels = false;
};

/// Whether two elements share a byte. XNNPACK computes with such filters only.
inline bool has_four_bits(xnn_datatype datatype) {
  return datatype == xnn_datatype_qcint4 || datatype == xnn_datatype_qbint4;
}

/**
 * Builds an xnn_subgraph from a payload's graph. Everything that XNNPACK takes for granted is checked: numbers of
 * values, the order of nodes, sizes of constants, and shapes that two operands of a node must agree on.
 */
class GraphBuilder final {
 public:
  /// @param payload Must outlive the builder and the creation of a runtime from the subgraph.
  explicit GraphBuilder(Payload& payload) : payload_(payload) {}

  /**
   * @retval Error::InvalidProgram (logged) the graph is malformed.
   * @retval Error::NotSupported (logged) XNNPACK cannot run it on this machine.
   */
  runtime::Error build();

  xnn_subgraph_t subgraph() const { return subgraph_.get(); }

  /// The values that are arguments of the delegate, in the order of their external ids.
  std::vector<const Value*> externals() const;

  /// How the shapes follow from each other, and the shapes in the payload, by Value::index.
  std::vector<ShapeRule> take_rules() { return std::move(rules_); }
  std::vector<Shape> take_shapes() { return std::move(shapes_); }

  /// Whether the runtime reads constants in the payload, so that this must live as long as it does.
  bool needs_payload() const { return needs_payload_; }

  /// Constants that the runtime reads each time, which must live as long as it does.
  std::vector<std::unique_ptr<uint8_t[]>> take_constants() { return std::move(kept_); }

  /// The steps among the nodes, which must live as long as the runtime.
  std::vector<std::unique_ptr<Step>> take_steps() { return std::move(steps_); }

  /// Where the nodes of the subgraph come from, by their numbers.
  std::vector<NodeOrigin> take_origins() { return std::move(origins_); }

  /// The nodes whose weights are read, by way of a NodePacker, when the runtime is made.
  std::vector<PackedNode> take_packed_nodes() { return std::move(packed_nodes_); }

  /// Whether XNNPACK may make clamps a part of the node before them. It takes the paddings of a window for limits, too:
  /// as floats, the larger of the first and the lower limit, the smaller of the second and the upper one. Paddings
  /// below 2^23, the smallest normal float, stay what they are by limits of at most 0 and above that float.
  bool may_fuse() const { return may_fuse_; }

  /// Whether the payload may have steps.
  bool has_steps() const { return payload_.has_steps(); }

 private:
  friend class NodeReader;

  struct DeleteSubgraph {
    void operator()(xnn_subgraph_t subgraph) const { xnn_delete_subgraph(subgraph); }
  };

  runtime::Error find_packed_constants();
  /// Notes how the weights of the node that was defined last are packed.
  void add_packed_node(const fb_xnnpack::XNode& node);
  std::optional<PackedConstant> packed_constant(uint32_t id, const LayerPacking& how, bool is_shareable) const;
  /// Reads the elements of a constant that is not only packed, and keeps them.
  runtime::Error read_in_place(Value& value, bool by_kernels);
  runtime::Error define_value(const fb_xnnpack::XValue& value, uint32_t index);
  runtime::Error find_data(const fb_xnnpack::XNNTensorValue& tensor, Value& value);
  runtime::Error define_quantized(const fb_xnnpack::XNNQuantizedTensorValue& quantized, uint32_t flags, Value& value);
  template <typename Quant>
  runtime::Result<runtime::Span<const uint8_t>> scales(const Quant& quant, size_t count, size_t element_size);

  Payload& payload_;
  std::unique_ptr<struct xnn_subgraph, DeleteSubgraph> subgraph_;
  /// By id in the payload.
  std::unordered_map<uint32_t, Value> values_;
  /// Ids of filters and biases, which are packed when the runtime is made, and of tables, which are read in place.
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
};

/// Adds a node, see node_reader.cpp. `index` is for messages.
runtime::Error define_node(GraphBuilder& builder, const fb_xnnpack::XNode& node, uint32_t index);

/// What a status of XNNPACK says, in words.
const char* status_text(xnn_status status);

/// The error for a status.
runtime::Error status_error(xnn_status status);

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
