// SPDX-License-Identifier: BSD-3-Clause
// Cells of recurrent layers.
#pragma once

#include "steps/row_steps.h"

namespace executorch {
namespace backends {
namespace xnnpack {

/// A cell of H numbers, with some gates of H numbers each. Inputs: one or two tensors of gates, the state [..., H].
/// Results have the state's shape.
///
/// The gates of many time steps may be in one tensor, so that splitting it copies nothing: each part has as many rows
/// as the state, and one part is read. The gates of a row are contiguous.
class CellStep : public RowStep {
 public:
  OptionalShape shape(const std::vector<Shape>& in) const final;

 protected:
  /// @param parts Which part of each tensor of gates is read.
  CellStep(size_t gates, std::vector<size_t> parts);

  void measure(const std::vector<Shape>& in) final;

  /// The gates of an input, the state, and a result, from a row on.
  const float* gates_of(const StepData& data, size_t input, size_t row) const;
  const float* state_of(const StepData& data, size_t row) const;
  float* result_of(void* out, size_t row) const;

  size_t state_width() const { return width_ / gates_; }
  bool has_two() const { return parts_.size() > 1; }

 private:
  const size_t gates_;
  const std::vector<size_t> parts_;
};

/// An LSTM's cell. Gates: i, f, g and o, which are the sum of the inputs where there are two. Results: the hidden
/// state and the next state, of which one may be missing.
class LstmCellStep final : public CellStep {
 public:
  LstmCellStep(bool has_two, size_t part, size_t second_part)
      : CellStep(4, has_two ? std::vector<size_t>{part, second_part} : std::vector<size_t>{part}) {}
  size_t most_outputs() const override { return 2; }

 protected:
  void run_rows(const StepData& data, size_t first, size_t count) override;
};

/// A GRU's cell. Gates: r, z and n of the hidden state, and of the input. Result: the next hidden state.
class GruCellStep final : public CellStep {
 public:
  GruCellStep(size_t hidden_part, size_t input_part) : CellStep(3, {hidden_part, input_part}) {}

 protected:
  void run_rows(const StepData& data, size_t first, size_t count) override;
};

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
