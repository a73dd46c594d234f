// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * Runs a step in a test, without XNNPACK.
 */
#pragma once

#include <gtest/gtest.h>
#include <xnnpack.h>

#include <algorithm>
#include <cstdint>
#include <new>
#include <random>
#include <vector>

#include "steps/step.h"

namespace executorch {
namespace backends {
namespace xnnpack {

/// Numbers in [-1, 1), followed by padding that kernels may read.
inline std::vector<float> random_numbers(size_t count, unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
  std::vector<float> numbers(count + XNN_EXTRA_BYTES / sizeof(float));
  std::generate(numbers.begin(), numbers.end(), [&] { return uniform(engine); });
  return numbers;
}

/// The outputs of a step for an image, planned for `threads`. Expects no write past the outputs. Scratch memory starts
/// as NaN.
template <typename T>
std::vector<T> run_step(Step& step, const std::vector<T>& image, const Shape& shape, size_t threads) {
  const OptionalShape out = step.shape({shape});
  EXPECT_TRUE(out.has_value());
  const Step::Plan plan = step.plan({shape}, threads);
  const auto guard = static_cast<T>(123);
  std::vector<T> results(element_count(*out) + 1, guard);
  StepData data;
  data.in[0] = image.data();
  data.out = results.data();
  auto* scratch = static_cast<uint8_t*>(::operator new(plan.scratch, std::align_val_t{64}));
  for (size_t unit = 0; unit < plan.units; ++unit) {
    std::fill_n(scratch, plan.scratch, uint8_t{0xFF});  // NaN
    step.run(data, unit, scratch);
  }
  ::operator delete(scratch, std::align_val_t{64});
  EXPECT_EQ(results.back(), guard);
  results.pop_back();
  return results;
}

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
