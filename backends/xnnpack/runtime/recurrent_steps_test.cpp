// SPDX-License-Identifier: BSD-3-Clause
// Cells of recurrent layers against the sums and functions that they are defined by.
#include <gtest/gtest.h>

#include <cmath>

#include "steps/recurrent_steps.h"

namespace executorch {
namespace backends {
namespace xnnpack {
namespace {

/// Numbers from -6 to 6, far enough for gates to be shut and states to be at their limits.
std::vector<float> numbers(size_t count, float phase) {
  std::vector<float> made(count);
  for (size_t i = 0; i < count; ++i) {
    made[i] = 6 * std::sin(phase + 0.7f * static_cast<float>(i));
  }
  return made;
}

double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

void run_all(Step& step, const std::vector<Shape>& in, const StepData& data, size_t threads) {
  const Step::Plan plan = step.plan(in, threads);
  for (size_t unit = 0; unit < plan.units; ++unit) {
    step.run(data, unit, nullptr);
  }
}

/// Runs a cell of `batch` rows on the second of three parts of its gates, and the last of two of what is added.
void expect_lstm_cell(size_t batch, size_t width, bool has_two, bool has_state, size_t threads) {
  SCOPED_TRACE(testing::Message() << batch << " by " << width << ", " << threads << " threads");
  const size_t part = 4 * batch * width;
  const std::vector<float> gates = numbers(3 * part, 1);
  const std::vector<float> added = numbers(2 * part, 2);
  const std::vector<float> state = numbers(batch * width, 3);
  LstmCellStep step(has_two, 1, 1);
  std::vector<Shape> in = {{3, batch, 4 * width}, {1, batch, width}};
  StepData data;
  data.in[0] = gates.data();
  data.in[1] = state.data();
  if (has_two) {
    in.insert(in.begin() + 1, Shape{2 * batch, 4 * width});
    data.in[1] = added.data();
    data.in[2] = state.data();
  }
  ASSERT_EQ(step.shape(in), (Shape{1, batch, width}));
  constexpr float kUntouched = 77;
  std::vector<float> hidden(batch * width + 1, kUntouched);
  std::vector<float> next(batch * width + 1, kUntouched);
  data.out = hidden.data();
  data.second_out = has_state ? next.data() : nullptr;
  run_all(step, in, data, threads);
  for (size_t row = 0; row < batch; ++row) {
    for (size_t i = 0; i < width; ++i) {
      const auto gate = [&](size_t number) {
        const size_t at = part + (4 * row + number) * width + i;
        return static_cast<double>(gates[at]) + (has_two ? static_cast<double>(added[at]) : 0.0);
      };
      const size_t at = row * width + i;
      const double expected = sigmoid(gate(1)) * static_cast<double>(state[at]) + sigmoid(gate(0)) * std::tanh(gate(2));
      EXPECT_NEAR(hidden[at], sigmoid(gate(3)) * std::tanh(expected), 1e-6);
      if (has_state) {
        EXPECT_NEAR(next[at], expected, 3e-6);
      }
    }
  }
  EXPECT_EQ(hidden.back(), kUntouched);
  EXPECT_EQ(next.back(), kUntouched);
}

TEST(LstmCellStep, ComputesAnyWidth) {
  for (const size_t width : {1, 3, 4, 5, 8, 15, 16, 17, 31, 33, 64, 100}) {
    expect_lstm_cell(1, width, true, true, 1);
    expect_lstm_cell(3, width, true, true, 1);
    expect_lstm_cell(2, width, false, true, 1);
    expect_lstm_cell(2, width, true, false, 1);
  }
  expect_lstm_cell(37, 129, true, true, 3);
}

TEST(LstmCellStep, RefusesGatesOfAnotherSize) {
  const Shape state = {2, 8};
  EXPECT_EQ(LstmCellStep(false, 0, 0).shape({{2, 32}, state}), state);
  EXPECT_EQ(LstmCellStep(true, 0, 4).shape({{2, 32}, {10, 32}, state}), state);
  EXPECT_FALSE(LstmCellStep(false, 0, 0).shape({{2, 31}, state}).has_value());
  EXPECT_FALSE(LstmCellStep(false, 0, 0).shape({{1, 32}, state}).has_value());
  EXPECT_FALSE(LstmCellStep(false, 1, 0).shape({{2, 32}, state}).has_value());
  EXPECT_FALSE(LstmCellStep(false, SIZE_MAX, 0).shape({{2, 32}, state}).has_value());
  EXPECT_FALSE(LstmCellStep(true, 0, 5).shape({{2, 32}, {10, 32}, state}).has_value());
  EXPECT_FALSE(LstmCellStep(true, 0, 0).shape({{2, 32}, {3, 32}, state}).has_value());
  EXPECT_FALSE(LstmCellStep(false, 0, 0).shape({{2, 32}, {2, 32}, state}).has_value());
  EXPECT_FALSE(LstmCellStep(true, 0, 0).shape({{2, 32}, state}).has_value());
  EXPECT_FALSE(LstmCellStep(false, 0, 0).shape({state}).has_value());
  EXPECT_FALSE(LstmCellStep(false, 0, 0).shape({{4}, {}}).has_value());
}

TEST(LstmCellStep, HasNothingToDoForNoRows) {
  LstmCellStep step(false, 0, 0);
  ASSERT_EQ(step.shape({{0, 32}, {0, 8}}), (Shape{0, 8}));
  EXPECT_EQ(step.plan({{0, 32}, {0, 8}}, 2).units, 0u);
}

}  // namespace
}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
