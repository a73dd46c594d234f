// SPDX-License-Identifier: BSD-3-Clause
// The functions that models spend time in, vectorised for float32 (and for float16 and bfloat16, which are computed in
// it): exp, sigmoid, tanh, erf, gelu, elu, leaky_relu.
#include <cmath>
#include <string_view>

#include "kernels/portable/cpu/math/vector_activation.h"
#include "kernels/portable/cpu/pattern/complex_elementwise.h"

namespace torch::executor::native {
namespace {

// Defines name_block(in, out, count, p): out[i] = value, an expression in `x` and the parameters `p`, for the best
// instruction set of the machine. `value` may use the vector_ functions only.
#define DEFINE_BLOCK(name, value)                                                                           \
  ET_ALWAYS_INLINE void name##_block_body(const float* in, float* out, size_t count, const Parameters& p) { \
    (void)p;                                                                                                \
    ET_INDEPENDENT_LOOP                                                                                     \
    for (size_t i = 0; i < count; ++i) {                                                                    \
      const float x = in[i];                                                                                \
      out[i] = (value);                                                                                     \
    }                                                                                                       \
  }                                                                                                         \
  ET_MULTIVERSION(static, name##_block, (const float* in, float* out, size_t count, const Parameters& p),   \
                  (in, out, count, p))

struct Parameters {
  float negative = 0;  // the slope or factor left of zero
  float positive = 1;  // the factor right of zero
  float input = 1;     // the factor of the exponent
};

// e^x - 1 without cancellation near zero, from tanh: e^x - 1 = 2 t / (1 - t) with t = tanh(x / 2).
ET_ALWAYS_INLINE float vector_expm1(float x) {
  const float t = vector_tanh(0.5f * x);
  return 2.0f * t / (1.0f - t);
}

DEFINE_BLOCK(exp, vector_exp(x))
DEFINE_BLOCK(sigmoid, vector_sigmoid(x))
DEFINE_BLOCK(tanh, vector_tanh(x))
DEFINE_BLOCK(erf, vector_erf(x))
DEFINE_BLOCK(gelu, vector_gelu(x))
DEFINE_BLOCK(gelu_tanh, vector_gelu_tanh(x))
DEFINE_BLOCK(elu, x < 0 ? p.negative * vector_expm1(p.input * x) : p.positive * x)
DEFINE_BLOCK(leaky_relu, x < 0 ? p.negative * x : x)

using Block = void (*)(const float*, float*, size_t, const Parameters&);

// `in_double` computes the function for double tensors.
template <typename InDouble>
Tensor& run(KernelRuntimeContext& ctx, const char* name, const Tensor& in, Promotion promotion, Block block,
            const Parameters& parameters, const InDouble& in_double, Tensor& out) {
  ComputeType type;
  if (!plan_elementwise(ctx, name, {in}, promotion, out, &type)) {
    return out;
  }
  ET_KERNEL_CHECK_MSG(ctx, promotion == Promotion::IntToFloat || type != ComputeType::Int, InvalidArgument, out,
                      "%s: expected a floating-point input, found %s", name, toString(in.scalar_type()));
  if (type == ComputeType::Double) {
    elementwise<double, double>(in_double, out, in);
  } else {
    elementwise_blocks<float>([&](const float* from, float* to, size_t count) { block(from, to, count, parameters); },
                              out, in);
  }
  return out;
}

double gelu_erf(double x) {
  return 0.5 * x * (1.0 + std::erf(x * 0.70710678118654752440));
}
double gelu_tanh(double x) {
  return 0.5 * x * (1.0 + std::tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x)));
}

}  // namespace

#define DEFINE_FUNCTION(kernel, name, block, in_double)                                                   \
  Tensor& kernel(KernelRuntimeContext& ctx, const Tensor& in, Tensor& out) {                              \
    return run(ctx, name, in, Promotion::IntToFloat, block, {}, [](double x) { return in_double; }, out); \
  }

// Functions that are defined for complex numbers too.
#define DEFINE_ANALYTIC_FUNCTION(kernel, name, block, in_double)                                              \
  Tensor& kernel(KernelRuntimeContext& ctx, const Tensor& in, Tensor& out) {                                  \
    const auto function = [](auto x) { return in_double; };                                                   \
    return has_complex({in}) ? complex_unary(ctx, name, in, out, function)                                    \
                             : run(ctx, name, in, Promotion::IntToFloat, block, Parameters(), function, out); \
  }

DEFINE_ANALYTIC_FUNCTION(exp_out, "exp.out", exp_block, std::exp(x))
DEFINE_ANALYTIC_FUNCTION(sigmoid_out, "sigmoid.out", sigmoid_block, 1.0 / (1.0 + std::exp(-x)))
DEFINE_ANALYTIC_FUNCTION(tanh_out, "tanh.out", tanh_block, std::tanh(x))
DEFINE_FUNCTION(erf_out, "erf.out", erf_block, std::erf(x))

Tensor& gelu_out(KernelRuntimeContext& ctx, const Tensor& in, std::string_view approximate, Tensor& out) {
  const bool is_tanh = approximate == "tanh";
  ET_KERNEL_CHECK_MSG(ctx, is_tanh || approximate == "none", InvalidArgument, out,
                      "gelu.out: approximate is '%.*s'; expected 'none' or 'tanh'",
                      static_cast<int>(approximate.size()), approximate.data());
  return run(
      ctx, "gelu.out", in, Promotion::Same, is_tanh ? gelu_tanh_block : gelu_block, {},
      [is_tanh](double x) { return is_tanh ? gelu_tanh(x) : gelu_erf(x); }, out);
}

Tensor& elu_out(KernelRuntimeContext& ctx, const Tensor& in, const Scalar& alpha, const Scalar& scale,
                const Scalar& input_scale, Tensor& out) {
  const double positive = scalar_to<double>(scale);
  const double negative = scalar_to<double>(alpha) * positive;
  const double input = scalar_to<double>(input_scale);
  return run(
      ctx, "elu.out", in, Promotion::Same, elu_block,
      {static_cast<float>(negative), static_cast<float>(positive), static_cast<float>(input)},
      [=](double x) { return x < 0 ? negative * std::expm1(input * x) : positive * x; }, out);
}

Tensor& leaky_relu_out(KernelRuntimeContext& ctx, const Tensor& in, const Scalar& negative_slope, Tensor& out) {
  const double slope = scalar_to<double>(negative_slope);
  return run(
      ctx, "leaky_relu.out", in, Promotion::Same, leaky_relu_block, {static_cast<float>(slope), 1, 1},
      [slope](double x) { return x < 0 ? slope * x : x; }, out);
}

}  // namespace torch::executor::native
