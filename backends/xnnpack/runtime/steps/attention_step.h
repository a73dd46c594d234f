// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <utility>

#include "steps/step.h"

namespace executorch {
namespace backends {
namespace xnnpack {

/// The offset and strides, in elements, of the rows of each head in a tensor. The elements of a row are contiguous.
struct HeadStrides {
  size_t offset = 0;
  size_t batch = 0;
  size_t head = 0;
  size_t row = 0;
};

/// Scaled dot-product attention. Inputs: q, k, v, and a mask if there is one. If k and v have fewer heads than q,
/// several heads of q share one (grouped-query attention).
class AttentionStep final : public Step {
 public:
  struct Sizes {
    size_t batch = 1, heads = 1, key_heads = 1, rows = 0, keys = 0, width = 0, value_width = 0;
  };
  /// The layout of tensors whose shapes do not show heads: each head is a part of the rows of a larger tensor.
  struct Layout {
    Sizes sizes;
    HeadStrides q, k, v, out;
    Shape out_shape;
  };
  enum class Mask { None, Added, Truth };

  /// @param layout Null if q, k and v have the shape [..., heads, rows, width], with at most four dimensions.
  AttentionStep(float scale, bool is_causal, Mask mask, std::unique_ptr<Layout> layout)
      : scale_(scale), is_causal_(is_causal), mask_(mask), fixed_(std::move(layout)) {}

  OptionalShape shape(const std::vector<Shape>& in) const override;
  Plan plan(const std::vector<Shape>& in, size_t threads) override;
  void run(const StepData& data, size_t unit, void* scratch) override;

 private:
  const float scale_;
  const bool is_causal_;
  const Mask mask_;
  const std::unique_ptr<Layout> fixed_;
  Layout layout_;
  HeadStrides mask_strides_;
  size_t mask_key_stride_ = 0;
  size_t parts_ = 1;  // of the rows of a head
  size_t rows_of_part_ = 0;
};

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
