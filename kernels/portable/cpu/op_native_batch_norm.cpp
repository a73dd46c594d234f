// SPDX-License-Identifier: BSD-3-Clause
// _native_batch_norm_legit.out, .no_stats_out, _native_batch_norm_legit_no_training.out
#include <cmath>
#include <tuple>

#include "kernels/portable/cpu/math/accumulate_type.h"
#include "kernels/portable/cpu/math/normalization.h"
#include "kernels/portable/cpu/math/visit_dtype.h"

namespace torch::executor::native {
namespace {

using Outputs = std::tuple<Tensor&, Tensor&, Tensor&>;

template <typename T, typename Sum>
void normalize_channel(const NormLayout& layout, const T* in, T* out, Sum scale, Sum shift) {
  for (int64_t n = 0; n < layout.batch; ++n) {
    const T* x = in + n * layout.batch_stride;
    T* y = out + n * layout.batch_stride;
    if (layout.pixel_stride == 1) {
      for (int64_t p = 0; p < layout.pixels; ++p) {
        y[p] = static_cast<T>(static_cast<Sum>(x[p]) * scale + shift);
      }
    } else {
      for (int64_t p = 0; p < layout.pixels; ++p) {
        y[p * layout.pixel_stride] = static_cast<T>(static_cast<Sum>(x[p * layout.pixel_stride]) * scale + shift);
      }
    }
  }
}

template <typename T, typename Sum>
void channel_moments(const NormLayout& layout, const T* in, Sum* mean, Sum* squares) {
  const Sum count = static_cast<Sum>(layout.batch * layout.pixels);
  const auto sum_of = [&](auto&& term) {
    Sum sum = 0;
    for (int64_t n = 0; n < layout.batch; ++n) {
      for (int64_t p = 0; p < layout.pixels; ++p) {
        sum += term(static_cast<Sum>(in[n * layout.batch_stride + p * layout.pixel_stride]));
      }
    }
    return sum;
  };
  *mean = sum_of([](Sum x) { return x; }) / count;
  *squares = sum_of([&](Sum x) { return (x - *mean) * (x - *mean); });
}

// Moves a running statistic towards that of the batch: running = (1 - momentum) * running + momentum * batch.
template <typename T, typename Sum>
void move_towards(T& running, Sum batch, double momentum) {
  running = static_cast<T>(static_cast<Sum>((1.0 - momentum) * static_cast<double>(static_cast<Sum>(running)) +
                                            momentum * static_cast<double>(batch)));
}

// running_mean and running_var are nullptr if no running statistics are kept; training updates them.
Outputs batch_norm(KernelRuntimeContext& ctx, const char* op, const Tensor& in, const std::optional<Tensor>& weight,
                   const std::optional<Tensor>& bias, const Tensor* running_mean, const Tensor* running_var,
                   bool training, double momentum, double eps, Tensor& out, Tensor& save_mean, Tensor& save_invstd) {
  Outputs outputs(out, save_mean, save_invstd);
  NormLayout layout;
  if (!plan_batch_norm(ctx, op, in, weight, bias, running_mean, running_var, training, out, save_mean, save_invstd,
                       &layout)) {
    return outputs;
  }
  visit_floating(ctx, op, in.scalar_type(), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    using Sum = AccumulateType<T>;
    const Sum count = static_cast<Sum>(layout.batch * layout.pixels);
    for (int64_t c = 0; c < layout.channels; ++c) {
      const T* x = in.const_data_ptr<T>() + c * layout.channel_stride;
      Sum mean, variance;
      if (training) {
        Sum squares;
        channel_moments(layout, x, &mean, &squares);
        variance = squares / count;
        if (running_mean != nullptr) {
          move_towards(running_mean->mutable_data_ptr<T>()[c], mean, momentum);
          move_towards(running_var->mutable_data_ptr<T>()[c], squares / (count - 1), momentum);
        }
      } else {
        mean = static_cast<Sum>(running_mean->const_data_ptr<T>()[c]);
        variance = static_cast<Sum>(running_var->const_data_ptr<T>()[c]);
      }
      const Sum invstd = Sum(1) / std::sqrt(variance + static_cast<Sum>(eps));
      if (training) {
        save_mean.mutable_data_ptr<T>()[c] = static_cast<T>(mean);
        save_invstd.mutable_data_ptr<T>()[c] = static_cast<T>(invstd);
      }
      const Sum scale = weight ? invstd * static_cast<Sum>(weight->const_data_ptr<T>()[c]) : invstd;
      const Sum shift = (bias ? static_cast<Sum>(bias->const_data_ptr<T>()[c]) : Sum(0)) - mean * scale;
      normalize_channel(layout, x, out.mutable_data_ptr<T>() + c * layout.channel_stride, scale, shift);
    }
  });
  return outputs;
}

}  // namespace

/// Normalises by the running statistics; save_mean and save_invstd are empty.
Outputs _native_batch_norm_legit_no_training_out(KernelRuntimeContext& ctx, const Tensor& in,
                                                 const std::optional<Tensor>& weight, const std::optional<Tensor>& bias,
                                                 const Tensor& running_mean, const Tensor& running_var, double momentum,
                                                 double eps, Tensor& out, Tensor& save_mean, Tensor& save_invstd) {
  return batch_norm(ctx, "_native_batch_norm_legit_no_training.out", in, weight, bias, &running_mean, &running_var,
                    /*training=*/false, momentum, eps, out, save_mean, save_invstd);
}

/// In training it normalises by the statistics of the batch, saves them, and updates the running statistics in place;
/// otherwise it normalises by the running statistics. A program in which those are constants is refused when it is
/// loaded.
Outputs _native_batch_norm_legit_out(KernelRuntimeContext& ctx, const Tensor& in, const std::optional<Tensor>& weight,
                                     const std::optional<Tensor>& bias, Tensor& running_mean, Tensor& running_var,
                                     bool training, double momentum, double eps, Tensor& out, Tensor& save_mean,
                                     Tensor& save_invstd) {
  return batch_norm(ctx, "_native_batch_norm_legit.out", in, weight, bias, &running_mean, &running_var, training,
                    momentum, eps, out, save_mean, save_invstd);
}

/// Normalises by the batch's statistics and saves them.
Outputs _native_batch_norm_legit_no_stats_out(KernelRuntimeContext& ctx, const Tensor& in,
                                              const std::optional<Tensor>& weight, const std::optional<Tensor>& bias,
                                              bool training, double momentum, double eps, Tensor& out,
                                              Tensor& save_mean, Tensor& save_invstd) {
  Outputs outputs(out, save_mean, save_invstd);
  ET_KERNEL_CHECK_MSG(
      ctx, training, InvalidArgument, outputs,
      "_native_batch_norm_legit.no_stats_out: there are no running statistics, so training must be true");
  return batch_norm(ctx, "_native_batch_norm_legit.no_stats_out", in, weight, bias, nullptr, nullptr, training,
                    momentum, eps, out, save_mean, save_invstd);
}

}  // namespace torch::executor::native
