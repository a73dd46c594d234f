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

/// A depthwise convolution, one of 1 by 1 behind it, and one of 1 by 1 before it if there is one, as the blocks of
/// MobileNets have them. A band of rows passes through all of them before the next one does: what lies between is in a
/// core's cache when it is read, and takes the memory of some rows, not of an image. Operators and sums are XNNPACK's.
///
/// Inputs: the image of the first convolution; others are not read.
class CascadeStep final : public Step {
 public:
  enum Stage : size_t { kExpand, kDepthwise, kProject, kStages };

  /// The nodes as XNNPACK defines them. They must compute in float32, the first and the last what a product of matrices
  /// does, the second with a kernel that takes all of a window at once.
  CascadeStep(const std::optional<xnn_node>& expand, const xnn_node& depthwise, const xnn_node& project);
  ~CascadeStep() override;

  /// Makes the operator of a stage from its node, as this does in a runtime of its own. To be called once for each.
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
  /// Rows that a window covers, from the first to the last.
  size_t span() const;
  xnn_status reshape(const Shape& image);
  /// Lets the windows of the depthwise convolution find row i of its image in row i % ring_rows_. XNNPACK makes the
  /// table of these anew for images of other sizes; one of before stays as it is.
  void wrap_rows();
  size_t ring_size() const;
  /// The first row of the image, which begins below its padding, from row `padded` of the padded one on.
  size_t row_of(size_t padded) const;

  std::array<xnn_node, kStages> nodes_{};
  std::array<xnn_operator_data, kStages> made_{};
  // As planned. Sizes of rows, in bytes: of the first image, of those before and behind the windows, of the results.
  Shape image_, out_;
  size_t image_row_ = 0, wide_row_ = 0, narrow_row_ = 0, out_row_ = 0;
  size_t band_rows_ = 0;  // of results at a time
  size_t ring_rows_ = 0;  // before the windows; of these the last ones are kept
  size_t parts_ = 1;      // of an image's results, which units are
};

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
