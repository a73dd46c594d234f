// SPDX-License-Identifier: BSD-3-Clause
// Compares recurrent cells with their definitions.
#include <gtest/gtest.h>

#include <cmath>

#include "steps/recurrent_steps.h"

namespace executorch {
namespace backends {
namespace xnnpack {
namespace {

/// Numbers from -6 to 6, a range in which gates close and states saturate.
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

/// Runs a cell of `batch` rows on the second of three parts of its gates, and on the last of two parts of the addend.
void expect_lstm_cell(size_t batch, size_t width, bool has_two, bool has_hidden, bool has_state, size_t threads) {
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
  data.out = has_hidden ? hidden.data() : nullptr;
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
      if (has_hidden) {
        EXPECT_NEAR(hidden[at], sigmoid(gate(3)) * std::tanh(expected), 1e-6);
      }
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
    expect_lstm_cell(1, width, true, true, true, 1);
    expect_lstm_cell(3, width, true, true, true, 1);
    expect_lstm_cell(2, width, false, true, true, 1);
    expect_lstm_cell(2, width, true, true, false, 1);
    expect_lstm_cell(2, width, true, false, true, 1);
  }
  expect_lstm_cell(37, 129, true, true, true, 3);
}

void expect_gru_cell(size_t batch, size_t width, size_t threads) {
  SCOPED_TRACE(testing::Message() << batch << " by " << width << ", " << threads << " threads");
  const size_t part = 3 * batch * width;
  const std::vector<float> of_hidden = numbers(2 * part, 1);
  const std::vector<float> of_input = numbers(3 * part, 2);
  const std::vector<float> hidden = numbers(batch * width, 3);
  GruCellStep step(1, 1);
  const std::vector<Shape> in = {{2, batch, 3 * width}, {3 * batch, 3 * width}, {1, batch, width}};
  ASSERT_EQ(step.shape(in), (Shape{1, batch, width}));
  constexpr float kUntouched = 77;
  std::vector<float> next(batch * width + 1, kUntouched);
  StepData data;
  data.in[0] = of_hidden.data();
  data.in[1] = of_input.data();
  data.in[2] = hidden.data();
  data.out = next.data();
  run_all(step, in, data, threads);
  for (size_t row = 0; row < batch; ++row) {
    for (size_t i = 0; i < width; ++i) {
      const auto h = [&](size_t number) {
        return static_cast<double>(of_hidden[part + (3 * row + number) * width + i]);
      };
      const auto x = [&](size_t number) {
        return static_cast<double>(of_input[part + (3 * row + number) * width + i]);
      };
      const double z = sigmoid(h(1) + x(1));
      const double n = std::tanh(x(2) + sigmoid(h(0) + x(0)) * h(2));
      EXPECT_NEAR(next[row * width + i], (1 - z) * n + z * static_cast<double>(hidden[row * width + i]), 3e-6);
    }
  }
  EXPECT_EQ(next.back(), kUntouched);
}

TEST(GruCellStep, ComputesAnyWidth) {
  for (const size_t width : {1, 3, 4, 5, 8, 15, 16, 17, 31, 33, 64, 100}) {
    expect_gru_cell(1, width, 1);
    expect_gru_cell(3, width, 1);
  }
  expect_gru_cell(37, 129, 3);
}

TEST(GruCellStep, RefusesGatesOfAnotherSize) {
  const Shape hidden = {2, 8};
  EXPECT_EQ(GruCellStep(0, 4).shape({{2, 24}, {10, 24}, hidden}), hidden);
  EXPECT_FALSE(GruCellStep(0, 5).shape({{2, 24}, {10, 24}, hidden}).has_value());
  EXPECT_FALSE(GruCellStep(1, 4).shape({{2, 24}, {10, 24}, hidden}).has_value());
  EXPECT_FALSE(GruCellStep(0, 0).shape({{2, 24}, {2, 32}, hidden}).has_value());
  EXPECT_FALSE(GruCellStep(0, 0).shape({{2, 24}, hidden}).has_value());
  EXPECT_EQ(GruCellStep(0, 0).most_outputs(), 1u);
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

TEST(LstmCellStep, SaysHowMuchItDoes) {
  LstmCellStep step(false, 0, 0);
  EXPECT_EQ(step.plan({{2, 32}, {2, 8}}, 2).work, 8 * 64.0);
}

}  // namespace
}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
