// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "steps/row_steps.h"

namespace executorch {
namespace backends {
namespace xnnpack {

/// Gathers the slices of a volume under each position of a window along depth, as channels of one image. It turns a 3D
/// convolution into a 2D one. The input [volumes * depth, height, width, channels] becomes
/// [volumes * places, height, width, slices * channels], where slice i of place p comes from depth
/// p * stride + i * dilation - padding, and is zero outside the volume.
class UnfoldStep final : public RowStep {
 public:
  struct Slices {
    size_t depth = 0, count = 0, stride = 0, padding = 0, dilation = 0;
  };

  explicit UnfoldStep(const Slices& slices) : slices_(slices) {}
  OptionalShape shape(const std::vector<Shape>& in) const override;

 protected:
  void measure(const std::vector<Shape>& in) override;
  void run_rows(const StepData& data, size_t first, size_t count) override;

 private:
  const Slices slices_;
  size_t places_ = 0, height_ = 0, columns_ = 0, channels_ = 0;
};

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
