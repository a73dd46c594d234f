// SPDX-License-Identifier: BSD-3-Clause
// _upsample_bilinear2d_aa.out, _upsample_bicubic2d_aa.out: interpolation with a triangle or cubic filter, whose width
// grows with the factor by which an image shrinks.
#include <algorithm>
#include <cmath>

#include "kernels/portable/cpu/math/accumulate_type.h"
#include "kernels/portable/cpu/math/planes.h"
#include "kernels/portable/cpu/math/resample.h"
#include "kernels/portable/cpu/math/visit_dtype.h"

namespace torch::executor::native {
namespace {

// Shapes of the filter: its half width in pixels, and its value at a distance (>= 0) from the centre.
struct Triangle {
  static constexpr int half_width = 1;
  template <typename Real>
  static Real at(Real x) {
    return x < Real(1) ? Real(1) - x : Real(0);
  }
};

// Keys' cubic convolution (1981) with a = -1/2. Eager has -3/4 without antialiasing, and -1/2 with it.
struct Cubic {
  static constexpr int half_width = 2;
  template <typename Real>
  static Real at(Real x) {
    const Real a = Real(-0.5);
    if (x < Real(1)) {
      return ((a + Real(2)) * x - (a + Real(3))) * x * x + Real(1);
    }
    return x < Real(2) ? (((x - Real(5)) * x + Real(8)) * x - Real(4)) * a : Real(0);
  }
};

// The input positions, along one dimension, of which an output position is the weighted sum. The weights add up to 1.
template <typename Shape, typename Real>
class Filter {
 public:
  Filter(int64_t in, int64_t out, bool align_corners, const std::optional<double>& factor)
      : in_(in), scale_(input_step<Real>(in, out, align_corners, factor)) {
    const Real width = scale_ >= Real(1) ? scale_ : Real(1);
    support_ = Real(Shape::half_width) * width;
    inverse_ = Real(1) / width;
  }

  // Selects an output position.
  void move_to(int64_t o) {
    center_ = scale_ * (static_cast<Real>(o) + Real(0.5));
    first_ = std::max<int64_t>(static_cast<int64_t>(center_ - support_ + Real(0.5)), 0);
    count_ = std::min(static_cast<int64_t>(center_ + support_ + Real(0.5)), in_) - first_;
    total_ = 0;
    for (int64_t i = 0; i < count_; ++i) {
      total_ += raw_weight(i);
    }
  }

  int64_t first() const { return first_; }
  int64_t count() const { return count_; }
  Real weight(int64_t i) const { return total_ != Real(0) ? raw_weight(i) / total_ : raw_weight(i); }

 private:
  Real raw_weight(int64_t i) const {
    return Shape::at(std::fabs((static_cast<Real>(i + first_) - center_ + Real(0.5)) * inverse_));
  }

  int64_t in_;
  Real scale_;
  Real support_ = 0, inverse_ = 0;
  Real center_ = 0, total_ = 0;
  int64_t first_ = 0, count_ = 0;
};

// Filters uint8 along one dimension as eager does: the weights are int16, scaled by the largest power of two with which
// the heaviest weight fits, and each sum is rounded to uint8.
template <typename Shape>
class ByteFilter {
 public:
  ByteFilter(int64_t in, int64_t out, bool align_corners, const std::optional<double>& factor)
      : filter_(in, out, align_corners, factor), is_copy_(in == out) {
    double heaviest = 0;
    for (int64_t o = 0; o < out; ++o) {
      filter_.move_to(o);
      for (int64_t i = 0; i < filter_.count(); ++i) {
        heaviest = std::fmax(heaviest, filter_.weight(i));
      }
    }
    precision_ = weight_bits(heaviest);
  }

  void move_to(int64_t o) {
    position_ = o;
    filter_.move_to(o);
  }

  // The output for the selected position; byte_at(position) returns the input.
  template <typename ByteAt>
  uint8_t sum(const ByteAt& byte_at) const {
    if (is_copy_) {
      return byte_at(position_);
    }
    int64_t sum = int64_t{1} << precision_ >> 1;
    for (int64_t i = 0; i < filter_.count(); ++i) {
      const double weight = std::ldexp(filter_.weight(i), precision_);
      sum += static_cast<int64_t>(weight + (weight < 0 ? -0.5 : 0.5)) * byte_at(filter_.first() + i);
    }
    return static_cast<uint8_t>(std::clamp<int64_t>(sum >> precision_, 0, 255));
  }

 private:
  Filter<Shape, double> filter_;
  bool is_copy_;
  int precision_ = 0;
  int64_t position_ = 0;
};

// in (N, C, H, W), out (N, C, output_size). scales_h and scales_w are the scale factors; without them, the ratios of
// the sizes are used.
template <typename Shape>
Tensor& upsample_aa(KernelRuntimeContext& ctx, const char* op, const Tensor& in, IntArrayRef output_size,
                    bool align_corners, std::optional<double> scales_h, std::optional<double> scales_w, Tensor& out) {
  ET_KERNEL_CHECK_MSG(ctx, in.dim() == 4 && in.size(2) > 0 && in.size(3) > 0, InvalidArgument, out,
                      "%s: the input must have 4 dimensions and at least one pixel a plane", op);
  ET_KERNEL_CHECK_MSG(ctx, output_size.size() == 2 && output_size[0] > 0 && output_size[1] > 0, InvalidArgument, out,
                      "%s: output_size must be two positive sizes", op);
  if (!check_same_dtype(ctx, op, in, out) || !check_resize_planes(ctx, op, out, in, output_size[0], output_size[1])) {
    return out;
  }
  const Planes from = Planes::of(in), to = Planes::of(out);
  // Each output pixel is a weighted sum of rows' weighted sums.
  const auto filter_planes = [&](auto y, auto x, const auto& each_plane) {
    for_each_plane(from, to, [&](int64_t in_plane, int64_t out_plane) {
      for (int64_t oh = 0; oh < to.height; ++oh) {
        y.move_to(oh);
        for (int64_t ow = 0; ow < to.width; ++ow) {
          x.move_to(ow);
          each_plane(y, x, in_plane, out_plane + to.pixel(oh, ow));
        }
      }
    });
  };
  if (in.scalar_type() == ScalarType::Byte) {
    if constexpr (is_selected(ScalarType::Byte)) {
      filter_planes(ByteFilter<Shape>(from.height, to.height, align_corners, scales_h),
                    ByteFilter<Shape>(from.width, to.width, align_corners, scales_w),
                    [&](const auto& y, const auto& x, int64_t in_plane, int64_t at) {
                      const uint8_t* source = in.const_data_ptr<uint8_t>() + in_plane;
                      out.mutable_data_ptr<uint8_t>()[at] =
                          y.sum([&](int64_t h) { return x.sum([&](int64_t w) { return source[from.pixel(h, w)]; }); });
                    });
      return out;
    }
  }
  visit_floating(ctx, op, in.scalar_type(), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    using Real = AccumulateType<T>;
    filter_planes(Filter<Shape, Real>(from.height, to.height, align_corners, scales_h),
                  Filter<Shape, Real>(from.width, to.width, align_corners, scales_w),
                  [&](const auto& y, const auto& x, int64_t in_plane, int64_t at) {
                    const T* source = in.const_data_ptr<T>() + in_plane;
                    Real sum = 0;
                    for (int64_t i = 0; i < y.count(); ++i) {
                      Real row = 0;
                      for (int64_t j = 0; j < x.count(); ++j) {
                        row += x.weight(j) * static_cast<Real>(source[from.pixel(y.first() + i, x.first() + j)]);
                      }
                      sum += y.weight(i) * row;
                    }
                    out.mutable_data_ptr<T>()[at] = static_cast<T>(sum);
                  });
  });
  return out;
}

}  // namespace

/// in (N, C, H, W), out (N, C, output_size). The filter is a triangle.
Tensor& _upsample_bilinear2d_aa_out(KernelRuntimeContext& ctx, const Tensor& in, IntArrayRef output_size,
                                    bool align_corners, std::optional<double> scales_h, std::optional<double> scales_w,
                                    Tensor& out) {
  return upsample_aa<Triangle>(ctx, "_upsample_bilinear2d_aa.out", in, output_size, align_corners, scales_h, scales_w,
                               out);
}

/// in (N, C, H, W), out (N, C, output_size). The filter is Keys' cubic.
Tensor& _upsample_bicubic2d_aa_out(KernelRuntimeContext& ctx, const Tensor& in, IntArrayRef output_size,
                                   bool align_corners, std::optional<double> scales_h, std::optional<double> scales_w,
                                   Tensor& out) {
  return upsample_aa<Cubic>(ctx, "_upsample_bicubic2d_aa.out", in, output_size, align_corners, scales_h, scales_w, out);
}

}  // namespace torch::executor::native
