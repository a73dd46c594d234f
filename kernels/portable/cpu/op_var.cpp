// SPDX-License-Identifier: BSD-3-Clause
// var.out, var.correction_out, var_mean.correction_out
#include <algorithm>
#include <tuple>

#include "kernels/portable/cpu/pattern/block_reader.h"
#include "kernels/portable/cpu/pattern/checks.h"
#include "kernels/portable/cpu/pattern/complex_number.h"
#include "kernels/portable/cpu/pattern/reduction.h"

namespace torch::executor::native {
namespace {

using executorch::runtime::isFloatingType;

// Mean and sum of squared deviations of the values so far. Blocks are merged by the formula of Chan, Golub and LeVeque
// (1979), in which large sums do not cancel.
struct Moments {
  double count = 0;
  double mean = 0;
  double squares = 0;

  template <typename C>
  void add_block(const C* values, size_t size) {
    double sum = 0;
    for (size_t i = 0; i < size; ++i) {
      sum += values[i];
    }
    const double block_count = static_cast<double>(size);
    const double block_mean = sum / block_count;
    double block_squares = 0;
    for (size_t i = 0; i < size; ++i) {
      const double deviation = values[i] - block_mean;
      block_squares += deviation * deviation;
    }
    const double difference = block_mean - mean;
    const double total = count + block_count;
    mean += difference * block_count / total;
    squares += block_squares + difference * difference * count * block_count / total;
    count = total;
  }
};

// `mean` may be null.
bool variance(KernelRuntimeContext& ctx, const char* name, const Tensor& in, const OptionalArrayRef<int64_t>& dims,
              double correction, bool keepdim, Tensor& out, Tensor* mean) {
  const bool in_complex = is_complex(in.scalar_type());
  ET_KERNEL_CHECK_MSG(ctx, in_complex || (isFloatingType(in.scalar_type()) && is_supported_dtype(in.scalar_type())),
                      InvalidArgument, false, "%s: expected a floating-point input, found %s", name,
                      toString(in.scalar_type()));
  // For complex inputs, eager supports only outputs of the same precision.
  const auto holds = [&](const Tensor& result, ScalarType of_complex) {
    return in_complex ? result.scalar_type() == of_complex
                      : isFloatingType(result.scalar_type()) && is_supported_dtype(result.scalar_type());
  };
  ET_KERNEL_CHECK_MSG(ctx, holds(out, executorch::runtime::toRealValueType(in.scalar_type())), InvalidArgument, false,
                      "%s: the variance of %s cannot be stored in an output of dtype %s", name,
                      toString(in.scalar_type()), toString(out.scalar_type()));
  ET_KERNEL_CHECK_MSG(ctx, mean == nullptr || holds(*mean, in.scalar_type()), InvalidArgument, false,
                      "%s: the mean of %s cannot be stored in an output of dtype %s", name, toString(in.scalar_type()),
                      toString(mean == nullptr ? ScalarType::Undefined : mean->scalar_type()));
  ReducedDims reduced;
  if (!parse_reduced_dims(ctx, name, in, dims, &reduced) || !resize_to_reduced(ctx, name, in, reduced, keepdim, out)) {
    return false;
  }
  if (mean != nullptr && !resize_to_reduced(ctx, name, in, reduced, keepdim, *mean)) {
    return false;
  }
  if (out.numel() == 0) {
    return true;
  }
  ET_KERNEL_CHECK_MSG(ctx, mean == nullptr || tensors_have_same_dim_order(out, *mean), InvalidArgument, false,
                      "%s: both outputs must have the same dim order", name);
  LoopNest<2> kept;
  LoopNest<1> folded;
  reduction_loops(in, reduced, out, &kept, &folded);
  if (in_complex) {
    kept.for_each([&](const int64_t* offsets) {
      double count = 0, squares = 0;
      Complex center = 0.0;
      if (reduced.count > 0) {
        folded.for_each([&](const int64_t* row) {
          const Complex x = read_complex(in.const_data_ptr(), in.scalar_type(), offsets[0] + row[0]);
          const Complex deviation = x - center;
          count += 1;
          center += deviation / count;
          squares += deviation.real() * (x - center).real() + deviation.imag() * (x - center).imag();
        });
      }
      write_complex(out.mutable_data_ptr(), out.scalar_type(), offsets[1], squares / std::max(count - correction, 0.0));
      if (mean != nullptr) {
        write_complex(mean->mutable_data_ptr(), mean->scalar_type(), offsets[1], count > 0 ? center : 0.0 / count);
      }
    });
    return true;
  }
  int64_t stride[1] = {};
  const size_t run = reduced.count == 0 ? 0 : static_cast<size_t>(folded.pop(stride));
  const bool is_wide = in.scalar_type() == ScalarType::Double || out.scalar_type() == ScalarType::Double ||
                       (mean != nullptr && mean->scalar_type() == ScalarType::Double);
  with_floating_type(is_wide ? ComputeType::Double : ComputeType::Float, [&](auto zero) {
    using C = decltype(zero);
    BlockReader reader(in, compute_type_of<C>(), run == 1 ? 1 : stride[0]);
    const auto write = [](const Tensor& tensor, int64_t offset, double value) {
      BlockWriter writer(tensor, compute_type_of<C>(), 1);
      *static_cast<C*>(writer.begin(offset)) = static_cast<C>(value);
      writer.commit(offset, 1);
    };
    kept.for_each([&](const int64_t* offsets) {
      Moments moments;
      if (run > 0) {
        folded.for_each([&](const int64_t* row) {
          for (size_t begin = 0; begin < run; begin += kBlock) {
            const size_t count = std::min(kBlock, run - begin);
            const int64_t from = offsets[0] + row[0] + static_cast<int64_t>(begin) * reader.stride();
            moments.add_block(static_cast<const C*>(reader.read(from, count)), count);
          }
        });
      }
      // With too few values this is 0 / 0 or x / 0, as in PyTorch.
      write(out, offsets[1], moments.squares / std::max(moments.count - correction, 0.0));
      if (mean != nullptr) {
        write(*mean, offsets[1], moments.count > 0 ? moments.mean : 0.0 / moments.count);
      }
    });
  });
  return true;
}

double correction_of(const std::optional<Scalar>& correction) {
  return correction.has_value() ? scalar_to<double>(*correction) : 1.0;
}

}  // namespace

Tensor& var_out(KernelRuntimeContext& ctx, const Tensor& in, OptionalArrayRef<int64_t> dim, bool unbiased, bool keepdim,
                Tensor& out) {
  variance(ctx, "var.out", in, dim, unbiased ? 1.0 : 0.0, keepdim, out, nullptr);
  return out;
}

Tensor& var_correction_out(KernelRuntimeContext& ctx, const Tensor& in, OptionalArrayRef<int64_t> dim,
                           const std::optional<Scalar>& correction, bool keepdim, Tensor& out) {
  variance(ctx, "var.correction_out", in, dim, correction_of(correction), keepdim, out, nullptr);
  return out;
}

std::tuple<Tensor&, Tensor&> var_mean_correction_out(KernelRuntimeContext& ctx, const Tensor& in,
                                                     OptionalArrayRef<int64_t> dim,
                                                     const std::optional<Scalar>& correction, bool keepdim,
                                                     Tensor& out0, Tensor& out1) {
  variance(ctx, "var_mean.correction_out", in, dim, correction_of(correction), keepdim, out0, &out1);
  return {out0, out1};
}

}  // namespace torch::executor::native
