// SPDX-License-Identifier: BSD-3-Clause
#include "steps/recurrent_steps.h"

#include <utility>

#include "steps/cells.h"

namespace executorch {
namespace backends {
namespace xnnpack {

CellStep::CellStep(size_t gates, std::vector<size_t> parts) : gates_(gates), parts_(std::move(parts)) {
  work_of_number_ = 8;  // each gate needs a sigmoid or tanh
}

OptionalShape CellStep::shape(const std::vector<Shape>& in) const {
  if (in.size() != parts_.size() + 1 || in.back().empty()) {
    return {};
  }
  const Shape& state = in.back();
  const size_t part = gates_ * element_count(state);
  for (size_t i = 0; i < parts_.size(); ++i) {
    const size_t count = element_count(in[i]);
    if (part == 0 ? count != 0 : count % part != 0 || count / part <= parts_[i]) {
      return {};
    }
  }
  return state;
}

void CellStep::measure(const std::vector<Shape>& in) {
  const size_t width = in.back().back();
  width_ = gates_ * width;
  rows_ = width == 0 ? 0 : element_count(in.back()) / width;
}

const float* CellStep::gates_of(const StepData& data, size_t input, size_t row) const {
  return static_cast<const float*>(data.in[input]) + (parts_[input] * rows_ + row) * width_;
}

const float* CellStep::state_of(const StepData& data, size_t row) const {
  return static_cast<const float*>(data.in[parts_.size()]) + row * state_width();
}

float* CellStep::result_of(void* out, size_t row) const {
  return out == nullptr ? nullptr : static_cast<float*>(out) + row * state_width();
}

void LstmCellStep::run_rows(const StepData& data, size_t first, size_t count) {
  LstmCellRows rows;
  rows.rows = count;
  rows.width = state_width();
  rows.gates = gates_of(data, 0, first);
  rows.added = has_two() ? gates_of(data, 1, first) : nullptr;
  rows.state = state_of(data, first);
  rows.hidden = result_of(data.out, first);
  rows.next_state = result_of(data.second_out, first);
  lstm_cell(rows);
}

void GruCellStep::run_rows(const StepData& data, size_t first, size_t count) {
  GruCellRows rows;
  rows.rows = count;
  rows.width = state_width();
  rows.hidden_gates = gates_of(data, 0, first);
  rows.input_gates = gates_of(data, 1, first);
  rows.hidden = state_of(data, first);
  rows.next_hidden = result_of(data.out, first);
  gru_cell(rows);
}

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
