// SPDX-License-Identifier: BSD-3-Clause
#include <kernels/optimized_native_cpu/NativeFunctions.h>

#include "kernels/portable/test/kernel_test.h"

namespace torch::executor::native {
namespace {

using UnaryKernel = Tensor& (*)(KernelRuntimeContext&, const Tensor&, Tensor&);

double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}
double rsqrt(double x) {
  return 1 / std::sqrt(x);
}
double gelu(double x) {
  return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
}
double gelu_tanh(double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x)));
}
Tensor& opt_gelu(KernelRuntimeContext& ctx, const Tensor& in, Tensor& out) {
  return opt_gelu_out(ctx, in, "none", out);
}
Tensor& opt_gelu_tanh(KernelRuntimeContext& ctx, const Tensor& in, Tensor& out) {
  return opt_gelu_out(ctx, in, "tanh", out);
}

struct Function {
  UnaryKernel kernel;
  double (*expected)(double);
};

const Function kFunctions[] = {{opt_exp_out, std::exp},   {opt_sigmoid_out, sigmoid}, {opt_tanh_out, std::tanh},
                               {opt_sqrt_out, std::sqrt}, {opt_rsqrt_out, rsqrt},     {opt_gelu, gelu},
                               {opt_gelu_tanh, gelu_tanh}};

class OptimizedActivationTest : public KernelTest {
 protected:
  TensorFactory<ScalarType::Float> tf;
};

// Inputs from -12 to 12 and special values, compared with the definition in double, with PyTorch's tolerances for
// float32.
TEST_F(OptimizedActivationTest, MatchesDefinition) {
  for (const int32_t count : {0, 1, 7, 8, 17, 1001, 70001}) {
    std::vector<float> x = {kNaN, kInfinity, 0, 100, -kInfinity};
    x.resize(static_cast<size_t>(count));
    for (size_t i = 5; i < x.size(); ++i) {
      x[i] = static_cast<float>(-12 + 24 * static_cast<double>(i) / static_cast<double>(count));
    }
    for (const Function& function : kFunctions) {
      SCOPED_TRACE(::testing::Message() << count << ", function " << (&function - kFunctions));
      std::vector<float> want;
      for (size_t i = 0; i < x.size(); ++i) {
        want.push_back(static_cast<float>(function.expected(static_cast<double>(x[i]))));
      }
      Tensor out = tf.zeros({count});
      function.kernel(ctx, tf.make({count}, x), out);
      ASSERT_TENSOR_CLOSE_WITH_TOL(out, tf.make({count}, want), 1.3e-6, 1e-5);
    }
  }
}

TEST_F(OptimizedActivationTest, OtherArgumentsAreThePortableKernels) {
  TensorFactory<ScalarType::Double> td;
  TensorFactory<ScalarType::Int> ti;
  Tensor wide = td.zeros({2});
  EXPECT_TENSOR_CLOSE(opt_exp_out(ctx, td.make({2}, {0, 1}), wide), td.make({2}, {1, 2.718281828459045}));
  Tensor out = tf.zeros({2});
  EXPECT_TENSOR_CLOSE(opt_sqrt_out(ctx, ti.make({2}, {4, 9}), out), tf.make({2}, {2, 3}));
  opt_gelu_out(ctx, tf.zeros({2}), "quick", out);
  expect_failure();
}

}  // namespace
}  // namespace torch::executor::native
