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

/// A block of MobileNets: a 1 x 1 convolution (which may be missing), a depthwise one, and a 1 x 1 one. A band of rows
/// is computed by all of them before the next band: intermediate activations are in a core's cache when they are read,
/// and take the memory of some rows instead of an image. The operators are XNNPACK's, and so are their sums.
///
/// Inputs: the image of the first convolution; others are not read.
class CascadeStep final : public Step {
 public:
  enum Stage : size_t { kExpand, kDepthwise, kProject, kStages };

  /// The nodes as XNNPACK defines them. They must compute in float32: the first and the last as GEMMs, the second with
  /// a unipass kernel, which computes a whole window at once.
  CascadeStep(const std::optional<xnn_node>& expand, const xnn_node& depthwise, const xnn_node& project);
  ~CascadeStep() override;

  /// Creates the operator of a stage from its node, in a runtime of its own. Call it once for each stage.
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
  /// Points the indirection buffer of the depthwise convolution to a ring of rows: row i of its image is row
  /// i % ring_rows_. XNNPACK initialises that buffer again only when the size of the image changes.
  void wrap_rows();
  size_t ring_size() const;
  /// The first row of the image from row `padded` of the padded image on.
  size_t row_of(size_t padded) const;

  std::array<xnn_node, kStages> nodes_{};
  std::array<xnn_operator_data, kStages> made_{};
  // As planned. Bytes of a row: of the image, of the depthwise convolution's input and output, and of the results.
  Shape image_, out_;
  size_t image_row_ = 0, wide_row_ = 0, narrow_row_ = 0, out_row_ = 0;
  size_t band_rows_ = 0;  // rows of results in a band
  size_t ring_rows_ = 0;  // rows of the depthwise convolution's input that are kept
  size_t parts_ = 1;      // of the results of an image; a part is a unit of work
};

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
