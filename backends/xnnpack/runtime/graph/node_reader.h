// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cinttypes>
#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>

#include <executorch/runtime/core/checked_size.h>
#include <executorch/runtime/platform/log.h>

#include "graph/graph.h"

namespace executorch {
namespace backends {
namespace xnnpack {

/// Reads one node of a payload: checks it, defines it in the builder's subgraph, and adds the rule for its output
/// shape. Every member function that takes an id of the payload checks the id.
class NodeReader final {
 public:
  using Error = runtime::Error;
  using XNodeUnion = fb_xnnpack::XNodeUnion;
  using CheckedSize = runtime::internal::CheckedSize;

  NodeReader(GraphBuilder& builder, const fb_xnnpack::XNode& node, uint32_t index)
      : builder_(builder), subgraph_(builder.subgraph()), node_(node), index_(index) {
    if (const auto* limits = node.output_min_max()) {
      min_ = limits->output_min();
      max_ = limits->output_max();
    }
  }

  Error read();

 private:
  const char* name() const { return fb_xnnpack::EnumNameXNodeUnion(node_.xnode_union_type()); }

  Error malformed(const char* why) const;
  /// How the node uses a value: an operator of XNNPACK reads it in each execution, or packs it once as a filter or
  /// bias, or a step reads it.
  enum class Use { Computes, Packs, Step };
  /// A value that the node reads. Returns null and sets error_ if it does not exist, is not computed yet, or has
  /// another type than `raw`.
  const Value* input(uint32_t id, Use use = Use::Computes, RawType raw = RawType::None);
  const Value* output(uint32_t id, RawType raw = RawType::None);

  /// The input and the output of a node with one input.
  struct Operands {
    const Value* in;
    const Value* out;
  };
  /// Returns nullopt and sets error_ unless both have the same type or the node `converts`. Some operators of XNNPACK
  /// write elements of the input's type whatever the type of the output is, which may be smaller.
  std::optional<Operands> operands(uint32_t input_id, uint32_t output_id, bool converts = false);

  template <typename Infer>
  Error finish(xnn_status status, const Value* output, Infer infer) {
    if (status != xnn_status_success) {
      ET_LOG(Error, "XNNPACK refuses node %" PRIu32 " of the payload (%s): %s", index_, name(), status_text(status));
      return status_error(status);
    }
    builder_.rules_.push_back({index_, output->id, name(), output->index, infer});
    return Error::Ok;
  }

  Error check_flags(uint32_t flags);

  /// Checks that int8 kernels can requantise from `scale` to the scale of `output`, because XNNPACK does not: the ratio
  /// must be from 2^lowest to 2^highest. Outputs of other types pass.
  Error check_scales(double scale, const Value& output, int lowest, int highest) const;

  template <typename Table>
  const Table& content() const {
    return *static_cast<const Table*>(node_.xnode_union());
  }

  /// Reads a node whose output has the shape of its input. `factors` are those by which the integer kernel multiplies
  /// its input, for check_scales(); empty if the kernel uses a lookup table.
  template <typename Table, typename Define>
  Error read_elementwise(const Table& table, Define define, std::initializer_list<double> factors = {},
                         bool converts = false) {
    const auto found = operands(table.input_id(), table.output_id(), converts);
    if (!found) {
      return error_;
    }
    const auto [in, out] = *found;
    ET_CHECK_OK_OR_RETURN_ERROR(check_flags(table.flags()));
    for (const double factor : factors) {
      if (in->datatype == out->datatype) {
        ET_CHECK_OK_OR_RETURN_ERROR(check_scales(factor * static_cast<double>(in->scale), *out, -126, 7));
      }
    }
    const size_t from = in->index;
    return finish(define(in->id, out->id), out, [from](const auto& shapes) { return OptionalShape(shapes[from]); });
  }

  Error read_unary(xnn_unary_operator op);
  Error read_simple(XNodeUnion type);
  Error read_elu();
  Error read_leaky_relu();
  Error read_binary(xnn_binary_operator op);
  Error read_matmul();
  /// Sets `bias` to the id of an optional bias with `channels` elements, or to XNN_INVALID_VALUE_ID.
  Error read_bias(uint32_t id, CheckedSize channels, Use use, uint32_t* bias);
  Error read_linear();
  Error read_convolution(XNodeUnion type);
  /// See GraphBuilder::may_fuse().
  void note_paddings(const Window& window);
  /// A step that is faster than XNNPACK for a convolution that has one group or is `depthwise`, or null.
  std::unique_ptr<Step> convolution_step(const Convolution& convolution, const Value& in, const Value& filter,
                                         uint32_t bias, const Value& out, bool depthwise) const;
  Error read_pool(XNodeUnion type);
  Error read_mean();
  Error read_concatenate(XNodeUnion type);

  /// Reads a node with one input and lists of numbers. Each list in `per_dimension` must have a number for each
  /// dimension of the input.
  template <typename Table, typename Define, typename Infer>
  Error read_with_lists(const Table& table, std::initializer_list<const Shape*> per_dimension, Define define,
                        Infer infer) {
    const auto found = operands(table.input_id(), table.output_id());
    if (!found) {
      return error_;
    }
    const auto [in, out] = *found;
    ET_CHECK_OK_OR_RETURN_ERROR(check_flags(table.flags()));
    for (const Shape* list : per_dimension) {
      if (list->size() != in->dims.size()) {
        return malformed("it needs a number for each dimension of its input");
      }
    }
    const size_t from = in->index;
    return finish(define(in->id, out->id), out, [from, infer](const auto& shapes) { return infer(shapes[from]); });
  }

  Error read_transpose();
  Error read_reshape();
  Error read_slice();
  Error read_pad();
  Error read_resize();

  Error read_step();
  Error read_reduce();
  Error add_step(std::unique_ptr<Step> step, const std::array<RawType, kMaxStepInputs>& raw, RawType raw_output);

  GraphBuilder& builder_;
  xnn_subgraph_t subgraph_;
  const fb_xnnpack::XNode& node_;
  const uint32_t index_;
  float min_ = -std::numeric_limits<float>::infinity();
  float max_ = std::numeric_limits<float>::infinity();
  Error error_ = Error::Ok;
};

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
