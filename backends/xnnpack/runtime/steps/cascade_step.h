// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "private/xnnpack_runtime.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "steps/step.h"

namespace executorch {
namespace backends {
namespace xnnpack {

/// An inverted residual block of MobileNets: a 1 x 1 convolution (which may be missing), a depthwise convolution, and a
/// 1 x 1 convolution. All three compute a band of rows before the next band: intermediate activations are then still in
/// a core's cache when they are read, and take the memory of some rows instead of a whole image. The operators are
/// XNNPACK's, so that results are bitwise equal to those without a cascade.
///
/// Inputs: the input of the first convolution; further inputs are ignored.
class CascadeStep final : public Step {
 public:
  enum Stage : size_t { kExpand, kDepthwise, kProject, kStages };

  /// Takes copies of the nodes. They must compute in float32: `expand` and `project` as GEMMs, `depthwise` with a
  /// unipass kernel, which computes a whole window at once.
  CascadeStep(const std::optional<xnn_node>& expand, const xnn_node& depthwise, const xnn_node& project);
  ~CascadeStep() override;

  /// Creates the operator of a stage from its node. The operator is not part of the runtime; the step owns it. Call
  /// this once for each stage.
  xnn_status create(Stage stage, const xnn_value* values, size_t num_values, xnn_code_cache* code,
                    xnn_weights_cache_t weights);

  const char* name() const override { return "Convolution (NHWC, F32) cascade"; }
  OptionalShape shape(const std::vector<Shape>& in) const override;
  Plan plan(const std::vector<Shape>& in, size_t threads) override;
  void run(const StepData& data, size_t unit, void* scratch) override;

 private:
  bool expands() const { return nodes_[kExpand].create != nullptr; }
  const xnn_operator& operator_of(Stage stage) const { return *made_[stage].operator_objects[0]; }
  Window window() const;
  /// Rows of the input under a window, dilation included.
  size_t span() const;
  xnn_status reshape(const Shape& image);
  /// Makes the indirection buffer of the depthwise convolution point to a ring buffer: row i of its input is row
  /// i % ring_rows_ of the ring. XNNPACK initialises the indirection buffer again only if the size of the input
  /// changes.
  void wrap_rows();
  size_t ring_size() const;
  /// The row of the image at or after row `padded` of the padded image; the number of rows if there is no such row.
  size_t row_of(size_t padded) const;

  std::array<xnn_node, kStages> nodes_{};
  std::array<xnn_operator_data, kStages> made_{};
  // Set by plan(). The sizes of a row are in bytes: of the image, of the depthwise convolution's input and output, and
  // of the cascade's output.
  Shape image_, out_;
  size_t image_row_ = 0, wide_row_ = 0, narrow_row_ = 0, out_row_ = 0;
  size_t band_rows_ = 0;  // output rows of a band
  size_t ring_rows_ = 0;  // rows of the depthwise convolution's input in the ring buffer
  size_t parts_ = 1;      // units of work for each image
};

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
