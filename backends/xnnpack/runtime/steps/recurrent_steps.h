// SPDX-License-Identifier: BSD-3-Clause
// Cells of recurrent layers.
#pragma once

#include "row_steps.h"

namespace executorch {
namespace backends {
namespace xnnpack {

/// An LSTM's cell of H numbers: gates and its state to the next state and the hidden state. Inputs: gates, more of them
/// where they are the sum of two, the state [..., H]. Results: the hidden state, and the next state where it is read,
/// both in the state's shape.
///
/// A row of gates is 4 H numbers: input, forget, cell and output gate. Gates of many steps may lie in one tensor, so
/// that what splits it moves nothing: as parts of as many rows as the state has, of which one is read.
class LstmCellStep final : public RowStep {
 public:
  /// @param part, second_part Which parts of the gates and of what is added to them are read.
  LstmCellStep(bool has_two, size_t part, size_t second_part) : has_two_(has_two), parts_{part, second_part} {}
  size_t most_outputs() const override { return 2; }
  OptionalShape shape(const std::vector<Shape>& in) const override;

 protected:
  void measure(const std::vector<Shape>& in) override;
  void run_rows(const StepData& data, size_t first, size_t count) override;

 private:
  const bool has_two_;
  const size_t parts_[2];
};

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
