// SPDX-License-Identifier: BSD-3-Clause
// Cells of recurrent layers.
#pragma once

#include "steps/row_steps.h"

namespace executorch {
namespace backends {
namespace xnnpack {

/// A recurrent cell with H hidden units and some gates for each. Inputs: one or two tensors of gates, and the state
/// [..., H]. Outputs have the state's shape.
///
/// A tensor may hold the gates of many time steps, so that no copy is needed to split it: each time step is a part with
/// as many rows as the state, and the cell reads one part. The gates of a row are contiguous.
class CellStep : public RowStep {
 public:
  OptionalShape shape(const std::vector<Shape>& in) const final;

 protected:
  /// @param gates The number of gates for each hidden unit.
  /// @param parts The number of the part to read, for each tensor of gates.
  CellStep(size_t gates, std::vector<size_t> parts);

  void measure(const std::vector<Shape>& in) final;

  // Pointers to a row of gates in an input, of the state, and of an output (null if `out` is null).
  const float* gates_of(const StepData& data, size_t input, size_t row) const;
  const float* state_of(const StepData& data, size_t row) const;
  float* result_of(void* out, size_t row) const;

  size_t state_width() const { return width_ / gates_; }
  bool has_two() const { return parts_.size() > 1; }

 private:
  const size_t gates_;
  const std::vector<size_t> parts_;
};

/// An LSTM cell. The gates i, f, g and o are the sum of both tensors of gates if there are two. Outputs: the hidden
/// state and the next cell state, one of which may be missing.
class LstmCellStep final : public CellStep {
 public:
  LstmCellStep(bool has_two, size_t part, size_t second_part)
      : CellStep(4, has_two ? std::vector<size_t>{part, second_part} : std::vector<size_t>{part}) {}
  size_t most_outputs() const override { return 2; }

 protected:
  void run_rows(const StepData& data, size_t first, size_t count) override;
};

/// A GRU cell. Both tensors have the gates r, z and n: the first of the hidden state, the second of the input. Output:
/// the next hidden state.
class GruCellStep final : public CellStep {
 public:
  GruCellStep(size_t hidden_part, size_t input_part) : CellStep(3, {hidden_part, input_part}) {}

 protected:
  void run_rows(const StepData& data, size_t first, size_t count) override;
};

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
