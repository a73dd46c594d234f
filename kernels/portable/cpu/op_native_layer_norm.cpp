// SPDX-License-Identifier: BSD-3-Clause
// native_layer_norm.out, native_group_norm.out
#include <cmath>
#include <tuple>

#include "kernels/portable/cpu/math/normalization.h"
#include "kernels/portable/cpu/math/statistics.h"
#include "kernels/portable/cpu/math/visit_dtype.h"
#include "kernels/portable/cpu/pattern/loop_nest.h"
#include "kernels/portable/cpu/pattern/strided_view.h"

namespace torch::executor::native {
namespace {

using Outputs = std::tuple<Tensor&, Tensor&, Tensor&>;

// mean and 1 / standard deviation may have a wider type than a Half input.
template <typename T, typename Sum>
void store_statistic(Tensor& tensor, int64_t i, Sum value) {
  if (tensor.scalar_type() == ScalarType::Float) {
    tensor.mutable_data_ptr<float>()[i] = static_cast<float>(value);
  } else {
    tensor.mutable_data_ptr<T>()[i] = static_cast<T>(value);
  }
}

template <typename T>
const T* data_or_null(const std::optional<Tensor>& tensor) {
  return tensor ? tensor->const_data_ptr<T>() : nullptr;
}

// The parameters that layer norm (by row) and group norm (by group) share: the affine parameters, and eps.
template <typename T>
struct Affine {
  const T* scale;  // or null
  const T* shift;  // or null
  AccumulateType<T> eps;

  AccumulateType<T> rstd(AccumulateType<T> variance) const { return AccumulateType<T>(1) / std::sqrt(variance + eps); }
};

template <typename T>
Moments<AccumulateType<T>> normalize_row(const T* x, T* y, int64_t width, const Affine<T>& affine) {
  using Sum = AccumulateType<T>;
  const Moments<Sum> moment = moments(x, width);
  const Sum rstd = affine.rstd(moment.variance);
  for (int64_t i = 0; i < width; ++i) {
    const Sum normal = (static_cast<Sum>(x[i]) - moment.mean) * rstd;
    const Sum scaled = affine.scale == nullptr ? normal : normal * static_cast<Sum>(affine.scale[i]);
    y[i] = static_cast<T>(affine.shift == nullptr ? scaled : scaled + static_cast<Sum>(affine.shift[i]));
  }
  return moment;
}

// A group of `channels` rows of `width` elements; the affine parameters begin with those of its first channel.
template <typename T>
Moments<AccumulateType<T>> normalize_group(const T* x, T* y, int64_t channels, int64_t width, const Affine<T>& affine) {
  using Sum = AccumulateType<T>;
  const Moments<Sum> moment = moments(x, channels * width);
  const Sum rstd = affine.rstd(moment.variance);
  for (int64_t j = 0; j < channels; ++j) {
    const Sum scale = affine.scale == nullptr ? rstd : rstd * static_cast<Sum>(affine.scale[j]);
    const Sum shift = affine.shift == nullptr ? Sum(0) : static_cast<Sum>(affine.shift[j]);
    for (int64_t p = 0; p < width; ++p) {
      // The mean is subtracted first. In x * scale - mean * scale, the products could cancel and leave only their
      // rounding errors.
      y[j * width + p] = static_cast<T>((static_cast<Sum>(x[j * width + p]) - moment.mean) * scale + shift);
    }
  }
  return moment;
}

// The same for other dim orders, in which the elements of a row are not contiguous. Calls body(element of `in`, element
// of `out`) for all elements of two views of the same sizes, in row-major order.
template <typename T, typename Body>
void for_each_element(const StridedView& in, const StridedView& out, const Body& body) {
  LoopNest<2> nest;
  for (size_t d = 0; d < in.dims; ++d) {
    if (in.sizes[d] == 0) {
      return;
    }
    const int64_t strides[2] = {in.strides[d], out.strides[d]};
    nest.push(in.sizes[d], strides);
  }
  const T* from = reinterpret_cast<const T*>(in.data);
  T* to = reinterpret_cast<T*>(out.data);
  nest.for_each([&](const int64_t* offsets) { body(from[offsets[0]], to[offsets[1]]); });
}

// Affine parameter i applies to the elements [i * repeat, (i + 1) * repeat) of the view, in row-major order.
template <typename T>
Moments<AccumulateType<T>> normalize_view(const StridedView& in, const StridedView& out, int64_t repeat,
                                          const Affine<T>& affine) {
  using Sum = AccumulateType<T>;
  const Moments<Sum> moment = moments_of<Sum>(in.numel(), [&](const auto& add) {
    for_each_element<T>(in, out, [&](const T& x, T&) { add(static_cast<Sum>(x)); });
  });
  const Sum rstd = affine.rstd(moment.variance);
  int64_t i = 0;
  for_each_element<T>(in, out, [&](const T& x, T& y) {
    const Sum normal = (static_cast<Sum>(x) - moment.mean) * rstd;
    const Sum scaled = affine.scale == nullptr ? normal : normal * static_cast<Sum>(affine.scale[i / repeat]);
    y = static_cast<T>(affine.shift == nullptr ? scaled : scaled + static_cast<Sum>(affine.shift[i / repeat]));
    ++i;
  });
  return moment;
}

// Selects element `index`, in row-major order, of all dimensions but the last `kept` ones, which remain.
StridedView select_row(StridedView view, size_t kept, int64_t index) {
  while (view.dims > kept) {
    const size_t d = view.dims - kept - 1;
    const int64_t size = view.sizes[d];
    view.select(d, index % size);
    index /= size;
  }
  return view;
}

}  // namespace

/// Normalises over the last dimensions, whose sizes are normalized_shape: out = (x - mean) * rstd * weight + bias. mean
/// and rstd have the sizes of the input with 1 for those dimensions.
Outputs native_layer_norm_out(KernelRuntimeContext& ctx, const Tensor& in, IntArrayRef normalized_shape,
                              const std::optional<Tensor>& weight, const std::optional<Tensor>& bias, double eps,
                              Tensor& out, Tensor& mean_out, Tensor& rstd_out) {
  const char* op = "native_layer_norm.out";
  Outputs outputs(out, mean_out, rstd_out);
  int64_t rows = 0;
  int64_t width = 0;
  if (!plan_layer_norm(ctx, in, normalized_shape, weight, bias, out, mean_out, rstd_out, &rows, &width)) {
    return outputs;
  }
  const size_t kept = normalized_shape.size();
  visit_floating(ctx, op, in.scalar_type(), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    using Sum = AccumulateType<T>;
    const Affine<T> affine{data_or_null<T>(weight), data_or_null<T>(bias), static_cast<Sum>(eps)};
    for (int64_t row = 0; row < rows; ++row) {
      const Moments<Sum> moment =
          are_contiguous(in, out)
              ? normalize_row(in.const_data_ptr<T>() + row * width, out.mutable_data_ptr<T>() + row * width, width,
                              affine)
              : normalize_view(select_row(StridedView::of(in), kept, row), select_row(StridedView::of(out), kept, row),
                               /*repeat=*/1, affine);
      store_statistic<T>(mean_out, row, moment.mean);
      store_statistic<T>(rstd_out, row, affine.rstd(moment.variance));
    }
  });
  return outputs;
}

/// Normalises each of `group` groups of channels of an input (n, c, spatial...) of n * c * hxw elements; weight and
/// bias are by channel, mean and rstd (n, group).
Outputs native_group_norm_out(KernelRuntimeContext& ctx, const Tensor& in, const std::optional<Tensor>& weight,
                              const std::optional<Tensor>& bias, int64_t n, int64_t c, int64_t hxw, int64_t group,
                              double eps, Tensor& out, Tensor& mean_out, Tensor& rstd_out) {
  const char* op = "native_group_norm.out";
  Outputs outputs(out, mean_out, rstd_out);
  if (!plan_group_norm(ctx, in, weight, bias, n, c, hxw, group, out, mean_out, rstd_out)) {
    return outputs;
  }
  const int64_t channels = c / group;
  visit_floating(ctx, op, in.scalar_type(), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    using Sum = AccumulateType<T>;
    for (int64_t i = 0; i < n * group; ++i) {
      const int64_t first = i % group * channels;
      const T* weights = data_or_null<T>(weight);
      const T* biases = data_or_null<T>(bias);
      const Affine<T> affine{weights == nullptr ? nullptr : weights + first,
                             biases == nullptr ? nullptr : biases + first, static_cast<Sum>(eps)};
      const auto group_of = [&](const Tensor& tensor) {
        return StridedView::of(tensor).select(0, i / group).slice(0, first, channels);
      };
      const int64_t offset = i * channels * hxw;
      const Moments<Sum> moment = are_contiguous(in, out)
                                      ? normalize_group(in.const_data_ptr<T>() + offset,
                                                        out.mutable_data_ptr<T>() + offset, channels, hxw, affine)
                                      : normalize_view(group_of(in), group_of(out), /*repeat=*/hxw, affine);
      store_statistic<T>(mean_out, i, moment.mean);
      store_statistic<T>(rstd_out, i, affine.rstd(moment.variance));
    }
  });
  return outputs;
}

}  // namespace torch::executor::native
