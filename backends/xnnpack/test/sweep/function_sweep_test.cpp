// SPDX-License-Identifier: BSD-3-Clause
// Runs functions of one and of two numbers on NaN, infinity, zeros and numbers of all magnitudes, in rows that begin
// and end at different places of a vector, and compares them with the standard library in double precision.
#include <gtest/gtest.h>
#include <xnnpack.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "executorch/runtime/core/exec_aten/exec_aten.h"
#include "layers.h"
#include "processors.h"

namespace executorch {
namespace backends {
namespace xnnpack {
namespace {

using Half = runtime::etensor::Half;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// A floating-point type: its largest number, and how far results may be from exact ones.
template <typename T>
struct Of;
template <>
struct Of<float> {
  static constexpr xnn_datatype kType = xnn_datatype_fp32;
  static constexpr double kMost = 3.4e38, kLeast = 1.2e-38, kRelative = 2e-5, kAbsolute = 1e-6;
};
template <>
struct Of<Half> {
  static constexpr xnn_datatype kType = xnn_datatype_fp16;
  static constexpr double kMost = 65504, kLeast = 6.2e-5, kRelative = 4e-3, kAbsolute = 2e-3;
};

/// NaN, infinity, zeros and numbers of both signs from the least normal one up to `most`.
template <typename T>
std::vector<T> numbers(double most) {
  std::vector<double> all(std::begin(kSpecialNumbers), std::end(kSpecialNumbers));
  all.insert(all.end(), {0.0, -0.0, 1.0, -1.0, 0.5, 3.0, -3.0, most, -most});
  for (double x = Of<T>::kLeast; x < most; x *= 2.718) {
    all.insert(all.end(), {x, -x});
  }
  return std::vector<T>(all.begin(), all.end());
}

template <typename T>
void expect_close(T found, double exact, const std::string& what) {
  const double rounded = static_cast<float>(static_cast<T>(static_cast<float>(exact)));
  const double number = static_cast<float>(found);
  const double off = std::abs(number - exact);
  const bool is_right = std::isnan(rounded)   ? std::isnan(number)
                        : std::isinf(rounded) ? number == rounded
                                              : off <= Of<T>::kAbsolute + Of<T>::kRelative * std::abs(exact);
  EXPECT_TRUE(is_right) << what << " is " << number << " instead of " << exact;
}

struct Function {
  const char* name;
  xnn_unary_operator op;
  double (*exact)(double);
  double most;  // the largest number for which the result is not only a rounding error
  xnn_unary_params params{};
};

xnn_unary_params limits(float least, float most) {
  xnn_unary_params params{};
  params.clamp.min = least;
  params.clamp.max = most;
  return params;
}

xnn_unary_params elu_alpha() {
  xnn_unary_params params{};
  params.elu.alpha = 1.0f;
  return params;
}

xnn_unary_params negative_slope() {
  xnn_unary_params params{};
  params.leaky_relu.negative_slope = 0.125f;
  return params;
}

const std::vector<Function>& functions() {
  static const std::vector<Function> all = {
      {"abs", xnn_unary_abs, [](double x) { return std::abs(x); }, kInfinity},
      {"ceil", xnn_unary_ceiling, [](double x) { return std::ceil(x); }, kInfinity},
      {"clamp", xnn_unary_clamp, [](double x) { return std::isnan(x) ? x : std::min(std::max(x, -1.0), 1.0); },
       kInfinity, limits(-1, 1)},
      {"cos", xnn_unary_cosine, [](double x) { return std::cos(x); }, 1e3},
      {"elu", xnn_unary_elu, [](double x) { return x < 0 ? std::expm1(x) : x; }, kInfinity, elu_alpha()},
      {"exp", xnn_unary_exp, [](double x) { return std::exp(x); }, kInfinity},
      {"floor", xnn_unary_floor, [](double x) { return std::floor(x); }, kInfinity},
      {"leaky_relu", xnn_unary_leaky_relu, [](double x) { return x < 0 ? 0.125 * x : x; }, kInfinity, negative_slope()},
      {"log", xnn_unary_log, [](double x) { return std::log(x); }, kInfinity},
      {"neg", xnn_unary_negate, [](double x) { return -x; }, kInfinity},
      {"rsqrt", xnn_unary_reciprocal_square_root, [](double x) { return 1 / std::sqrt(x); }, kInfinity},
      {"sigmoid", xnn_unary_sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }, kInfinity},
      {"sin", xnn_unary_sine, [](double x) { return std::sin(x); }, 1e3},
      {"sqrt", xnn_unary_square_root, [](double x) { return std::sqrt(x); }, kInfinity},
      {"square", xnn_unary_square, [](double x) { return x * x; }, kInfinity},
      {"tanh", xnn_unary_tanh, [](double x) { return std::tanh(x); }, kInfinity},
  };
  return all;
}

template <typename T>
void sweep_function(const Function& function) {
  const std::vector<T> in = numbers<T>(std::min(function.most, Of<T>::kMost));
  for (size_t row = 1; row < 70; ++row) {
    for (size_t from = 0; from < in.size(); from += row) {
      const size_t count = std::min(row, in.size() - from);
      std::vector<T> x(in.begin() + from, in.begin() + from + count), y(count + XNN_EXTRA_BYTES);
      x.resize(count + XNN_EXTRA_BYTES, T(std::nanf("")));
      const xnn_status status =
          xnn_run_unary_elementwise_nc(function.op, Of<T>::kType, Of<T>::kType, &function.params, nullptr, nullptr, 0,
                                       1, count, count, count, nullptr, x.data(), y.data());
      if (status == xnn_status_unsupported_hardware || status == xnn_status_unsupported_parameter) {
        return;
      }
      ASSERT_EQ(status, xnn_status_success) << function.name;
      for (size_t i = 0; i < count; ++i) {
        expect_close(y[i], function.exact(static_cast<float>(x[i])),
                     std::string(function.name) + "(" + std::to_string(static_cast<float>(x[i])) + ")");
      }
    }
  }
}

struct FunctionOfTwo {
  const char* name;
  xnn_binary_operator op;
  double (*exact)(double, double);
};

double with_nan(double x, double y, double value) {
  return std::isnan(x) || std::isnan(y) ? std::numeric_limits<double>::quiet_NaN() : value;
}

const std::vector<FunctionOfTwo>& functions_of_two() {
  static const std::vector<FunctionOfTwo> all = {
      {"add", xnn_binary_add, [](double x, double y) { return x + y; }},
      {"subtract", xnn_binary_subtract, [](double x, double y) { return x - y; }},
      {"multiply", xnn_binary_multiply, [](double x, double y) { return x * y; }},
      {"divide", xnn_binary_divide, [](double x, double y) { return x / y; }},
      {"maximum", xnn_binary_maximum, [](double x, double y) { return with_nan(x, y, std::max(x, y)); }},
      {"minimum", xnn_binary_minimum, [](double x, double y) { return with_nan(x, y, std::min(x, y)); }},
  };
  return all;
}

/// Calls the function for each pair of numbers, and for each number and a scalar on either side.
template <typename T>
void sweep_function_of_two(const FunctionOfTwo& function) {
  const std::vector<T> in = numbers<T>(std::min(1e4, Of<T>::kMost));
  const size_t count = in.size();
  const auto run = [&](const Dims& x_dims, const std::vector<T>& x, const Dims& y_dims, const std::vector<T>& y) {
    std::vector<T> out(count + XNN_EXTRA_BYTES);
    const xnn_status status = xnn_run_binary_elementwise_nd(function.op, Of<T>::kType, nullptr, nullptr, nullptr, 0,
                                                            x_dims.size(), x_dims.data(), y_dims.size(), y_dims.data(),
                                                            x.data(), y.data(), out.data(), nullptr);
    if (status == xnn_status_unsupported_hardware || status == xnn_status_unsupported_parameter) {
      return;
    }
    ASSERT_EQ(status, xnn_status_success) << function.name;
    for (size_t i = 0; i < count; ++i) {
      const double a = static_cast<float>(x[x_dims.empty() ? 0 : i]), b = static_cast<float>(y[y_dims.empty() ? 0 : i]);
      expect_close(out[i], function.exact(a, b),
                   std::string(function.name) + "(" + std::to_string(a) + ", " + std::to_string(b) + ")");
    }
  };
  std::vector<T> x = in, y(count + XNN_EXTRA_BYTES);
  x.resize(count + XNN_EXTRA_BYTES);
  for (size_t by = 0; by < count; ++by) {
    for (size_t i = 0; i < count; ++i) {
      y[i] = in[(i + by) % count];
    }
    run({count}, x, {count}, y);
    run({count}, x, {}, {in[by]});
    run({}, {in[by]}, {count}, x);
  }
}

TEST(FunctionSweepTest, OfOneNumberWithNaNAndInfinity) {
  expect_on_each_processor(
      [] {
        for (const Function& function : functions()) {
          sweep_function<float>(function);
          sweep_function<Half>(function);
        }
      },
      /*only_with_our_kernels=*/true);
}

TEST(FunctionSweepTest, OfTwoNumbersWithNaNAndInfinity) {
  expect_on_each_processor(
      [] {
        for (const FunctionOfTwo& function : functions_of_two()) {
          sweep_function_of_two<float>(function);
          sweep_function_of_two<Half>(function);
        }
      },
      /*only_with_our_kernels=*/true);
}

}  // namespace
}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
