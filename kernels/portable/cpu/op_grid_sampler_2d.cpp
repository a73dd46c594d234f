// SPDX-License-Identifier: BSD-3-Clause
// grid_sampler_2d.out
#include <cinttypes>
#include <cmath>

#include "kernels/portable/cpu/math/accumulate_type.h"
#include "kernels/portable/cpu/math/planes.h"
#include "kernels/portable/cpu/math/visit_dtype.h"

namespace torch::executor::native {
namespace {

enum Interpolation : int64_t { kBilinear = 0, kNearest = 1, kBicubic = 2 };
enum Padding : int64_t { kZeros = 0, kBorder = 1, kReflection = 2 };

// Grid coordinates are in [-1, 1]: -1 and 1 are the centres of the corner pixels with align_corners, else their outer
// edges.
template <typename Real>
Real to_pixels(Real coordinate, int64_t size, bool align_corners) {
  return align_corners ? (coordinate + 1) / 2 * static_cast<Real>(size - 1)
                       : ((coordinate + 1) * static_cast<Real>(size) - 1) / 2;
}

// Mirrors x at `low` and `high` until it is between them.
template <typename Real>
Real reflect(Real x, Real low, Real high) {
  if (low == high) {
    return 0;
  }
  const Real span = high - low;
  const Real distance = std::fabs(x - low);
  const Real extra = std::fmod(distance, span);
  const bool even = std::fmod(std::floor(distance / span), Real(2)) == 0;
  return even ? low + extra : high - extra;
}

// x is NaN if the grid coordinate is NaN; all comparisons are then false, and the result is 0, or NaN with kZeros.
template <typename Real>
Real pad(Real x, int64_t size, int64_t padding, bool align_corners) {
  if (padding == kReflection) {
    x = align_corners ? reflect<Real>(x, 0, static_cast<Real>(size - 1))
                      : reflect<Real>(x, Real(-0.5), static_cast<Real>(size) - Real(0.5));
  }
  if (padding != kZeros) {
    const Real last = static_cast<Real>(size - 1);
    x = x > 0 ? (x < last ? x : last) : Real(0);
  }
  return x;
}

// x as an integer position. NaN and values that are too large become a position outside every image.
template <typename Real>
int64_t position_of(Real x) {
  return x > Real(-2147483648.0) && x < Real(2147483648.0) ? static_cast<int64_t>(x) : int64_t(-2147483648);
}

// Weights of four neighbours for the cubic convolution kernel with a = -0.75; t is the distance from the second.
template <typename Real>
void cubic_weights(Real t, Real* weights) {
  const Real a = Real(-0.75);
  const auto near = [a](Real x) { return ((a + 2) * x - (a + 3)) * x * x + 1; };
  const auto far = [a](Real x) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; };
  weights[0] = far(t + 1);
  weights[1] = near(t);
  weights[2] = near(1 - t);
  weights[3] = far(2 - t);
}

template <typename T>
struct Sampler {
  using Real = AccumulateType<T>;
  Planes planes;
  int64_t interpolation;
  int64_t padding;
  bool align_corners;

  Real at(const T* plane, int64_t h, int64_t w) const {
    const bool inside = h >= 0 && h < planes.height && w >= 0 && w < planes.width;
    return inside ? static_cast<Real>(plane[planes.pixel(h, w)]) : Real(0);
  }

  Real sample(const T* plane, Real grid_x, Real grid_y) const {
    const Real x = to_pixels(grid_x, planes.width, align_corners);
    const Real y = to_pixels(grid_y, planes.height, align_corners);
    if (interpolation == kBicubic) {
      return cubic(plane, x, y);
    }
    const Real px = pad(x, planes.width, padding, align_corners);
    const Real py = pad(y, planes.height, padding, align_corners);
    if (interpolation == kNearest) {
      return at(plane, position_of(std::nearbyint(py)), position_of(std::nearbyint(px)));
    }
    const Real x0 = std::floor(px), y0 = std::floor(py);
    const int64_t w = position_of(x0), h = position_of(y0);
    const Real right = px - x0, down = py - y0, left = x0 + 1 - px, up = y0 + 1 - py;
    return at(plane, h, w) * left * up + at(plane, h, w + 1) * right * up + at(plane, h + 1, w) * left * down +
           at(plane, h + 1, w + 1) * right * down;
  }

  Real cubic(const T* plane, Real x, Real y) const {
    const Real x0 = std::floor(x), y0 = std::floor(y);
    Real x_weights[4], y_weights[4];
    cubic_weights(x - x0, x_weights);
    cubic_weights(y - y0, y_weights);
    Real sum = 0;
    for (int i = 0; i < 4; ++i) {
      const int64_t h = position_of(pad(y0 + Real(i - 1), planes.height, padding, align_corners));
      Real row = 0;
      for (int j = 0; j < 4; ++j) {
        row += x_weights[j] * at(plane, h, position_of(pad(x0 + Real(j - 1), planes.width, padding, align_corners)));
      }
      sum += y_weights[i] * row;
    }
    return sum;
  }
};

}  // namespace

/// input (N, C, H, W), grid (N, out H, out W, 2) of (x, y) in [-1, 1]. interpolation_mode: 0 bilinear, 1 nearest, 2
/// bicubic; padding_mode: 0 zeros, 1 border, 2 reflection.
Tensor& grid_sampler_2d_out(KernelRuntimeContext& ctx, const Tensor& in, const Tensor& grid, int64_t interpolation_mode,
                            int64_t padding_mode, bool align_corners, Tensor& out) {
  const char* op = "grid_sampler_2d.out";
  if (!check_same_dtype(ctx, op, in, grid) || !check_same_dtype(ctx, op, in, out)) {
    return out;
  }
  ET_KERNEL_CHECK_MSG(ctx, in.dim() == 4 && grid.dim() == 4 && grid.size(3) == 2 && grid.size(0) == in.size(0),
                      InvalidArgument, out, "%s: the input must be (N, C, H, W) and the grid (N, H out, W out, 2)", op);
  ET_KERNEL_CHECK_MSG(ctx, in.size(2) > 0 && in.size(3) > 0, InvalidArgument, out,
                      "%s: the planes of the input are empty", op);
  ET_KERNEL_CHECK_MSG(ctx,
                      interpolation_mode >= kBilinear && interpolation_mode <= kBicubic && padding_mode >= kZeros &&
                          padding_mode <= kReflection,
                      InvalidArgument, out,
                      "%s: interpolation mode %" PRId64 " or padding mode %" PRId64 " is not one of 0, 1 and 2", op,
                      interpolation_mode, padding_mode);
  if (!check_resize_planes(ctx, op, out, in, grid.size(1), grid.size(2)) || out.numel() == 0) {
    return out;
  }
  visit_floating(ctx, op, in.scalar_type(), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    using Real = AccumulateType<T>;
    const Sampler<T> sampler{Planes::of(in), interpolation_mode, padding_mode, align_corners};
    const Planes to = Planes::of(out);
    for (int64_t n = 0; n < to.batch; ++n) {
      for (int64_t h = 0; h < to.height; ++h) {
        for (int64_t w = 0; w < to.width; ++w) {
          const T* point =
              grid.const_data_ptr<T>() + n * grid.strides()[0] + h * grid.strides()[1] + w * grid.strides()[2];
          const Real x = static_cast<Real>(point[0]);
          const Real y = static_cast<Real>(point[grid.strides()[3]]);
          for (int64_t c = 0; c < to.channels; ++c) {
            out.mutable_data_ptr<T>()[to.plane(n, c) + to.pixel(h, w)] =
                static_cast<T>(sampler.sample(in.const_data_ptr<T>() + sampler.planes.plane(n, c), x, y));
          }
        }
      }
    }
  });
  return out;
}

}  // namespace torch::executor::native
