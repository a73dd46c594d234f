// SPDX-License-Identifier: BSD-3-Clause
// cortex_m::softmax
#include "kernels/cortex_m/cpu/cmsis_nn.h"
#include "kernels/portable/cpu/pattern/lines.h"

namespace torch::executor::native {
namespace {

using namespace cortex_m;

// The integer bits of fixed-point numbers: 5 for differences to the largest element, 0 for their exponentials, and 12
// for sums of exponentials.
constexpr int32_t kIntegerBits = 5;
constexpr int32_t kSumBits = 12;

int32_t shift_left_saturating(int32_t value, int32_t exponent) {
  const int32_t limit = INT32_MAX >> exponent;
  return value > limit ? INT32_MAX : value < -limit - 1 ? INT32_MIN : value * (1 << exponent);
}

// Computes e^x for x <= 0 with 31 fractional bits: e^(x modulo 1/4) by the Taylor series around -1/8, times e^-(2^k)
// for the other bits of -x.
int32_t exponential(int32_t value) {
  constexpr int32_t kQuarter = 1 << (31 - kIntegerBits - 2);
  constexpr int32_t kAtEighth = 1895147668;  // e^(-1/8)
  constexpr int32_t kThird = 715827883;
  constexpr int32_t kFactors[] = {1672461947, 1302514674, 790015084, 290630308,
                                  39332535,   720401,     242};  // e^(-1/4) to e^-16
  if (value == 0) {
    return INT32_MAX;
  }
  const int32_t part = (value & (kQuarter - 1)) - kQuarter;
  const int32_t x = part * (1 << kIntegerBits) + (1 << 28);
  const int32_t square = saturating_high_product(x, x);
  const int32_t fourth = divide_by_power_of_two(saturating_high_product(square, square), 2);
  const int32_t higher = saturating_high_product(fourth + saturating_high_product(square, x), kThird) + square;
  int32_t result = kAtEighth + saturating_high_product(kAtEighth, x + divide_by_power_of_two(higher, 1));
  const int32_t rest = part - value;
  for (size_t bit = 0; bit < 7; ++bit) {
    if ((rest & (kQuarter << bit)) != 0) {
      result = saturating_high_product(result, kFactors[bit]);
    }
  }
  return result;
}

// Computes 1 / (1 + x) for 0 <= x <= 1 with 31 fractional bits, in three steps of Newton's method.
int32_t reciprocal_of_one_plus(int32_t x) {
  constexpr int32_t k48Over17 = 1515870810;
  constexpr int32_t kMinus32Over17 = -1010580540;
  const int64_t sum = static_cast<int64_t>(x) + INT32_MAX;
  const int32_t half = static_cast<int32_t>((sum + (sum >= 0 ? 1 : -1)) / 2);
  int32_t guess = k48Over17 + saturating_high_product(half, kMinus32Over17);
  for (int step = 0; step < 3; ++step) {
    const int32_t error = (1 << 29) - saturating_high_product(half, guess);
    guess += shift_left_saturating(saturating_high_product(guess, error), 2);
  }
  return shift_left_saturating(guess, 1);
}

int32_t leading_zeros(uint32_t value) {
  int32_t count = 0;
  for (uint32_t bit = uint32_t{1} << 31; bit != 0 && (value & bit) == 0; bit >>= 1) {
    ++count;
  }
  return count;
}

// Elements of a line, which differ from one to the next by a stride.
struct Line {
  const int8_t* in;
  int64_t in_stride;
  int8_t* out;
  int64_t out_stride;
  int64_t count;
};

void softmax_line(const Line& line, int32_t multiplier, int32_t shift, int32_t least) {
  int32_t largest = INT8_MIN;
  for (int64_t i = 0; i < line.count; ++i) {
    largest = line.in[i * line.in_stride] > largest ? line.in[i * line.in_stride] : largest;
  }
  const auto exponential_of = [&](int32_t difference) {
    const int32_t moved = static_cast<int32_t>(static_cast<uint32_t>(difference) << shift);
    return exponential(saturating_high_product(moved, multiplier));
  };
  uint32_t sum = 0;
  for (int64_t i = 0; i < line.count; ++i) {
    const int32_t difference = line.in[i * line.in_stride] - largest;
    if (difference >= least) {
      const auto added = static_cast<uint32_t>(divide_by_power_of_two(exponential_of(difference), kSumBits));
      sum = sum > UINT32_MAX - added ? UINT32_MAX : sum + added;
    }
  }
  const int32_t headroom = leading_zeros(sum);
  const int32_t scale = reciprocal_of_one_plus(static_cast<int32_t>((sum << headroom) - (uint32_t{1} << 31)));
  // The results have 8 fractional bits, the products 31. A shift by more than 31 bits gives 0.
  const int32_t bits = kSumBits - headroom + 31 - 8;
  for (int64_t i = 0; i < line.count; ++i) {
    const int32_t difference = line.in[i * line.in_stride] - largest;
    int32_t result = INT8_MIN;
    if (difference >= least && bits <= 31) {
      result += divide_by_power_of_two(saturating_high_product(scale, exponential_of(difference)), bits);
    }
    line.out[i * line.out_stride] = static_cast<int8_t>(clamp(result, INT8_MIN, INT8_MAX));
  }
}

}  // namespace

/// Probabilities with the scale 1/256 and the zero point -128. Elements that are below the largest by more than
/// -diff_min count as probabilities of 0.
Tensor& cortex_m_softmax_out(KernelRuntimeContext& ctx, const Tensor& input, int64_t dim, int64_t input_zero_point,
                             int64_t output_zero_point, int64_t input_multiplier, int64_t input_shift, int64_t diff_min,
                             Tensor& out) {
  constexpr const char* op = "cortex_m::softmax";
  size_t along = 0;
  if (!check_dtype(ctx, op, "an input", input, ScalarType::Char) ||
      !check_dtype(ctx, op, "an output", out, ScalarType::Char) || !check_dim(ctx, op, dim, input.dim(), &along) ||
      !check_offset(ctx, op, "an input zero point", input_zero_point) ||
      !check_multiplier(ctx, op, input_multiplier, input_shift) || !check_resize_like(ctx, op, out, input)) {
    return out;
  }
  ET_KERNEL_CHECK_MSG(ctx, output_zero_point == INT8_MIN, InvalidArgument, out,
                      "%s: expected the output zero point -128, found %lld", op,
                      static_cast<long long>(output_zero_point));
  ET_KERNEL_CHECK_MSG(ctx, input_multiplier >= 0 && input_shift >= 0, InvalidArgument, out,
                      "%s: expected a multiplier and a shift of at least 0, found %lld and %lld", op,
                      static_cast<long long>(input_multiplier), static_cast<long long>(input_shift));
  ET_KERNEL_CHECK_MSG(ctx, diff_min >= INT32_MIN && diff_min <= 0, InvalidArgument, out,
                      "%s: expected a diff_min from -2^31 to 0, found %lld", op, static_cast<long long>(diff_min));
  if (cmsis_nn::softmax(input, along, static_cast<int32_t>(input_multiplier), static_cast<int32_t>(input_shift),
                        static_cast<int32_t>(diff_min), out)) {
    return out;
  }
  const StridedView views[] = {at_least_1d(input), at_least_1d(out)};
  for_each_line(views, along, [&](const int64_t* offsets) {
    softmax_line(
        {reinterpret_cast<const int8_t*>(views[0].data) + offsets[0], views[0].strides[along],
         reinterpret_cast<int8_t*>(views[1].data) + offsets[1], views[1].strides[along], views[0].sizes[along]},
        static_cast<int32_t>(input_multiplier), static_cast<int32_t>(input_shift), static_cast<int32_t>(diff_min));
  });
  return out;
}

}  // namespace torch::executor::native
