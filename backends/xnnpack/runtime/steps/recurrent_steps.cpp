// SPDX-License-Identifier: BSD-3-Clause
#include "recurrent_steps.h"

#include "rows.h"

namespace executorch {
namespace backends {
namespace xnnpack {

namespace {

constexpr size_t kGates = 4;

}  // namespace

OptionalShape LstmCellStep::shape(const std::vector<Shape>& in) const {
  if (in.size() != 2u + has_two_ || in.back().empty()) {
    return {};
  }
  const Shape& state = in.back();
  const size_t part = kGates * element_count(state);
  for (size_t i = 0; i + 1 < in.size(); ++i) {
    const size_t count = element_count(in[i]);
    if (part == 0 ? count != 0 : count % part != 0 || count / part <= parts_[i]) {
      return {};
    }
  }
  return state;
}

void LstmCellStep::measure(const std::vector<Shape>& in) {
  width_ = kGates * in.back().back();
  rows_ = width_ == 0 ? 0 : kGates * element_count(in.back()) / width_;
}

void LstmCellStep::run_rows(const StepData& data, size_t first, size_t count) {
  LstmCellRows rows;
  rows.rows = count;
  rows.width = width_ / kGates;
  const size_t start = first * rows.width;
  rows.gates = static_cast<const float*>(data.in[0]) + (parts_[0] * rows_ + first) * width_;
  if (has_two_) {
    rows.added = static_cast<const float*>(data.in[1]) + (parts_[1] * rows_ + first) * width_;
  }
  rows.state = static_cast<const float*>(data.in[1 + has_two_]) + start;
  rows.hidden = static_cast<float*>(data.out) + start;
  rows.next_state = data.second_out == nullptr ? nullptr : static_cast<float*>(data.second_out) + start;
  lstm_cell(rows);
}

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
