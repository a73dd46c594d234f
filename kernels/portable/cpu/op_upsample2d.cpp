// SPDX-License-Identifier: BSD-3-Clause
// upsample_bilinear2d.vec_out, upsample_nearest2d.vec_out
#include <cmath>

#include "kernels/portable/cpu/math/accumulate_type.h"
#include "kernels/portable/cpu/math/planes.h"
#include "kernels/portable/cpu/math/resample.h"
#include "kernels/portable/cpu/math/visit_dtype.h"

namespace torch::executor::native {
namespace {

// The output's size follows from either output_size or scale_factors.
bool check_and_resize(KernelRuntimeContext& ctx, const char* op, const Tensor& in,
                      const OptionalArrayRef<int64_t>& output_size,
                      const std::optional<ArrayRef<double>>& scale_factors, Tensor& out) {
  const auto fail = [&](const char* what) {
    ET_LOG(Error, "%s: %s", op, what);
    ctx.fail(Error::InvalidArgument);
    return false;
  };
  if (in.dim() != 4) {
    return fail("the input must have 4 dimensions");
  }
  if (in.size(2) == 0 || in.size(3) == 0) {
    return fail("the planes of the input are empty");
  }
  if (output_size.has_value() == scale_factors.has_value()) {
    return fail("exactly one of output_size and scale_factors must be given");
  }
  int64_t sizes[2];
  for (size_t i = 0; i < 2; ++i) {
    if (output_size.has_value()) {
      if (output_size->size() != 2 || (*output_size)[i] <= 0) {
        return fail("output_size must be two positive sizes");
      }
      sizes[i] = (*output_size)[i];
    } else {
      const double size = scale_factors->size() == 2 ? static_cast<double>(in.size(2 + i)) * (*scale_factors)[i] : 0.0;
      if (!(size >= 1.0 && size < 2147483648.0)) {
        return fail("scale_factors must be two factors that leave at least one pixel");
      }
      sizes[i] = static_cast<int64_t>(size);
    }
  }
  return check_same_dtype(ctx, op, in, out) && check_resize_planes(ctx, op, out, in, sizes[0], sizes[1]);
}

// Input pixels for each output pixel.
template <typename Real>
Real scale_of(int64_t in, int64_t out, const std::optional<ArrayRef<double>>& scale_factors, size_t i,
              bool align_corners) {
  return input_step<Real>(in, out, align_corners,
                          scale_factors ? std::optional<double>((*scale_factors)[i]) : std::nullopt);
}

// Two neighbouring input positions and their weights.
template <typename Real>
struct Blend {
  int64_t first, second;
  Real first_weight, second_weight;
};

template <typename Real>
Blend<Real> blend_of(int64_t o, int64_t size, Real scale, bool align_corners) {
  Real position = align_corners ? scale * static_cast<Real>(o) : scale * (static_cast<Real>(o) + Real(0.5)) - Real(0.5);
  position = position < Real(0) ? Real(0) : position;
  const int64_t whole = static_cast<int64_t>(position);
  const int64_t first = whole < size - 1 ? whole : size - 1;
  const Real fraction = position - static_cast<Real>(first);
  const Real weight = fraction > Real(1) ? Real(1) : fraction;
  return {first, first < size - 1 ? first + 1 : first, Real(1) - weight, weight};
}

// As in eager, uint8 is interpolated along one axis after the other. The weights are int16, scaled by the largest power
// of two for which the largest weight fits, and each sum is rounded to uint8.
struct ByteAxis {
  int64_t in, out;
  double scale;
  bool align_corners;
  int precision;

  static ByteAxis of(int64_t in, int64_t out, const std::optional<ArrayRef<double>>& scale_factors, size_t i,
                     bool align_corners) {
    ByteAxis axis = {in, out, scale_of<double>(in, out, scale_factors, i, align_corners), align_corners, 0};
    double heaviest = 0;
    for (int64_t o = 0; o < out; ++o) {
      const Blend<double> blend = axis.blend(o);
      heaviest = std::fmax(heaviest, std::fmax(blend.first_weight, blend.second_weight));
    }
    axis.precision = weight_bits(heaviest);
    return axis;
  }

  // At an edge there may be only one pixel, of weight 1.
  Blend<double> blend(int64_t o) const {
    const Blend<double> result = blend_of(o, in, scale, align_corners);
    return result.first < result.second ? result : Blend<double>{result.first, result.first, 1.0, 0.0};
  }

  uint8_t mix(const Blend<double>& blend, uint8_t first, uint8_t second) const {
    const auto weight = [&](double w) { return static_cast<int32_t>(std::ldexp(w, precision) + 0.5); };
    const int32_t sum = first * weight(blend.first_weight) + second * weight(blend.second_weight);
    const int32_t rounded = (sum + (1 << precision >> 1)) >> precision;
    return static_cast<uint8_t>(rounded < 255 ? rounded : 255);
  }
};

void interpolate_bytes(const Tensor& in, const std::optional<ArrayRef<double>>& scale_factors, bool align_corners,
                       Tensor& out) {
  const Planes from = Planes::of(in), to = Planes::of(out);
  const ByteAxis y_axis = ByteAxis::of(from.height, to.height, scale_factors, 0, align_corners);
  const ByteAxis x_axis = ByteAxis::of(from.width, to.width, scale_factors, 1, align_corners);
  for_each_plane(from, to, [&](int64_t in_plane, int64_t out_plane) {
    const uint8_t* source = in.const_data_ptr<uint8_t>() + in_plane;
    uint8_t* result = out.mutable_data_ptr<uint8_t>() + out_plane;
    for (int64_t ow = 0; ow < to.width; ++ow) {
      // An axis that keeps its size is copied, whatever its scale factor.
      const Blend<double> x = from.width == to.width ? Blend<double>{ow, ow, 1.0, 0.0} : x_axis.blend(ow);
      const auto at = [&](int64_t h) {
        return x_axis.mix(x, source[from.pixel(h, x.first)], source[from.pixel(h, x.second)]);
      };
      for (int64_t oh = 0; oh < to.height; ++oh) {
        const Blend<double> y = from.height == to.height ? Blend<double>{oh, oh, 1.0, 0.0} : y_axis.blend(oh);
        result[to.pixel(oh, ow)] = y_axis.mix(y, at(y.first), at(y.second));
      }
    }
  });
}

}  // namespace

Tensor& upsample_bilinear2d_vec_out(KernelRuntimeContext& ctx, const Tensor& in, OptionalArrayRef<int64_t> output_size,
                                    bool align_corners, std::optional<ArrayRef<double>> scale_factors, Tensor& out) {
  const char* op = "upsample_bilinear2d.vec_out";
  if (!check_and_resize(ctx, op, in, output_size, scale_factors, out)) {
    return out;
  }
  if (in.scalar_type() == ScalarType::Byte) {
    if constexpr (is_selected(ScalarType::Byte)) {
      interpolate_bytes(in, scale_factors, align_corners, out);
      return out;
    }
  }
  const Planes from = Planes::of(in), to = Planes::of(out);
  // Other integers, for which eager has no results, are interpolated in float and truncated.
  visit_real(ctx, op, in.scalar_type(), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    using Real = std::conditional_t<std::is_integral_v<T>, float, AccumulateType<T>>;
    const Real y_scale = scale_of<Real>(from.height, to.height, scale_factors, 0, align_corners);
    const Real x_scale = scale_of<Real>(from.width, to.width, scale_factors, 1, align_corners);
    for_each_plane(from, to, [&](int64_t in_plane, int64_t out_plane) {
      const T* source = in.const_data_ptr<T>() + in_plane;
      T* result = out.mutable_data_ptr<T>() + out_plane;
      for (int64_t oh = 0; oh < to.height; ++oh) {
        const Blend<Real> y = blend_of(oh, from.height, y_scale, align_corners);
        for (int64_t ow = 0; ow < to.width; ++ow) {
          const Blend<Real> x = blend_of(ow, from.width, x_scale, align_corners);
          const auto row = [&](int64_t h) {
            return x.first_weight * static_cast<Real>(source[from.pixel(h, x.first)]) +
                   x.second_weight * static_cast<Real>(source[from.pixel(h, x.second)]);
          };
          result[to.pixel(oh, ow)] = static_cast<T>(y.first_weight * row(y.first) + y.second_weight * row(y.second));
        }
      }
    });
  });
  return out;
}

Tensor& upsample_nearest2d_vec_out(KernelRuntimeContext& ctx, const Tensor& in, OptionalArrayRef<int64_t> output_size,
                                   std::optional<ArrayRef<double>> scale_factors, Tensor& out) {
  const char* op = "upsample_nearest2d.vec_out";
  if (!check_and_resize(ctx, op, in, output_size, scale_factors, out)) {
    return out;
  }
  const Planes from = Planes::of(in), to = Planes::of(out);
  const float y_scale = scale_of<float>(from.height, to.height, scale_factors, 0, false);
  const float x_scale = scale_of<float>(from.width, to.width, scale_factors, 1, false);
  const auto nearest = [](int64_t o, float scale, int64_t size) {
    const float position = static_cast<float>(o) * scale;
    return position < static_cast<float>(size - 1) ? static_cast<int64_t>(position) : size - 1;
  };
  visit_real(ctx, op, in.scalar_type(), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    for_each_plane(from, to, [&](int64_t in_plane, int64_t out_plane) {
      const T* source = in.const_data_ptr<T>() + in_plane;
      T* result = out.mutable_data_ptr<T>() + out_plane;
      for (int64_t oh = 0; oh < to.height; ++oh) {
        const int64_t h = nearest(oh, y_scale, from.height);
        for (int64_t ow = 0; ow < to.width; ++ow) {
          result[to.pixel(oh, ow)] = source[from.pixel(h, nearest(ow, x_scale, from.width))];
        }
      }
    });
  });
  return out;
}

}  // namespace torch::executor::native
