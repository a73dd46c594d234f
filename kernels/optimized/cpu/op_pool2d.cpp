// SPDX-License-Identifier: BSD-3-Clause
// max_pool2d_with_indices.out and avg_pool2d.out for float32, in planes with contiguous rows and in pixels with
// contiguous channels.
#include <executorch/runtime/kernel/thread_parallel_interface.h>

#include <algorithm>
#include <limits>
#include <tuple>

#include "kernels/optimized/cpu/pooling/columns.h"
#include "kernels/optimized/cpu/pooling/taps.h"
#include "kernels/portable/NativeFunctions.h"
#include "kernels/portable/cpu/math/planes.h"
#include "kernels/portable/cpu/math/pooling.h"

namespace torch::executor::native {
namespace {

using executorch::extension::parallel_for;
using executorch::extension::internal::grain_for;
using executorch::extension::internal::GRAIN_SIZE;

struct Pooling {
  PoolAxis y, x;
  Planes in, out;
  bool by_channels;  // whether a run is the channels of one window; else it is the windows of a row

  int64_t runs_of_plane() const { return y.out * (by_channels ? x.out : in.channels); }
};

// Adjacent windows: `count` elements of the input from `in` on, `step` apart, give contiguous elements from `out` on.
struct Run {
  int64_t in, out;  // offsets of the plane, or of the first channel in the pixel (0, 0); of the first result
  int64_t step;
  int64_t oh, ow;  // the first window
  int64_t count;
};

bool plan_pooling(KernelRuntimeContext& ctx, const char* op, const Tensor& in, const PoolParameters& parameters,
                  const Tensor& out, Pooling* pooling) {
  return check_pool_input(ctx, op, in, 2, out) && read_pool_axis(ctx, op, in, 2, 0, parameters, &pooling->y) &&
         read_pool_axis(ctx, op, in, 2, 1, parameters, &pooling->x);
}

// Finds the layout of a pooling whose output has its size. Returns false if the layout does not allow runs.
bool find_runs(const Tensor& in, const Tensor& out, Pooling* pooling) {
  pooling->in = Planes::of(in);
  pooling->out = Planes::of(out);
  const auto [a, b] = std::tie(pooling->in, pooling->out);
  pooling->by_channels = a.channel_stride == 1 && b.channel_stride == 1 && a.channels > 1;
  // Indices in a plane are 32-bit.
  return (pooling->by_channels || (a.column_stride == 1 && b.column_stride == 1)) && a.width > 0 &&
         a.height < std::numeric_limits<int32_t>::max() / a.width / 2;
}

// Calls body(run) for all runs, on the threads of the pool.
template <typename Body>
void for_each_run(const Pooling& pooling, const Body& body) {
  const Planes& in = pooling.in;
  const Planes& out = pooling.out;
  if (out.height == 0 || out.width == 0) {
    return;
  }
  const int64_t width = pooling.by_channels ? in.channels : pooling.x.out;
  const int64_t grain = grain_for(GRAIN_SIZE, {width, pooling.y.kernel, pooling.x.kernel});
  parallel_for(0, in.batch * pooling.runs_of_plane(), grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t n = i / pooling.runs_of_plane();
      const int64_t inner = i % pooling.runs_of_plane();
      Run run{in.plane(n, 0), out.plane(n, 0), 1, 0, 0, 0};
      if (pooling.by_channels) {
        run.oh = inner / pooling.x.out;
        run.ow = inner % pooling.x.out;
      } else {
        run.step = pooling.x.stride;
        run.oh = inner % pooling.y.out;
        run.in = in.plane(n, inner / pooling.y.out);
        run.out = out.plane(n, inner / pooling.y.out);
      }
      run.out += out.pixel(run.oh, run.ow);
      for (int64_t first = 0; first < width; first += kPoolRun) {
        Run part = run;
        part.count = std::min(kPoolRun, width - first);
        part.out += first;
        (pooling.by_channels ? part.in : part.ow) += first;
        body(part);
      }
    }
  });
}

// Calls body(offset, first, count, position, position_step) for each tap of a run. The tap is not padding for the
// `count` windows from number `first` on. For the first of them, it is at `offset` in the input and has the index
// `position` in its plane; the index grows by `position_step` for each window.
template <typename Body>
void for_each_tap(const Pooling& pooling, const Run& run, const Body& body) {
  const PoolAxis& x = pooling.x;
  const Span rows = window_span(pooling.y, run.oh);
  for (int64_t h = rows.begin; h < rows.end; h += rows.step) {
    if (pooling.by_channels) {
      const Span columns = window_span(x, run.ow);
      for (int64_t w = columns.begin; w < columns.end; w += columns.step) {
        body(run.in + pooling.in.pixel(h, w), int64_t(0), run.count, h * pooling.in.width + w, int64_t(0));
      }
      continue;
    }
    for_each_column(x, run.ow, run.count, [&](int64_t first, int64_t last, int64_t at) {
      body(run.in + pooling.in.pixel(h, at), first, last - first, h * pooling.in.width + at, x.stride);
    });
  }
}

// The elements of a window along an axis: those inside the input, and those including padding.
struct Extent {
  int64_t inside, padded;
};

Extent extent_of(const PoolAxis& axis, int64_t o) {
  return {window_span(axis, o).count(), axis.padded_end(o) - axis.start(o)};
}

}  // namespace

std::tuple<Tensor&, Tensor&> opt_max_pool2d_with_indices_out(KernelRuntimeContext& ctx, const Tensor& in,
                                                             IntArrayRef kernel_size, IntArrayRef stride,
                                                             IntArrayRef padding, IntArrayRef dilation, bool ceil_mode,
                                                             Tensor& out, Tensor& indices) {
  const char* op = "max_pool2d_with_indices.out";
  const auto portable = [&] {
    return max_pool2d_with_indices_out(ctx, in, kernel_size, stride, padding, dilation, ceil_mode, out, indices);
  };
  if (in.scalar_type() != ScalarType::Float || indices.scalar_type() != ScalarType::Long) {
    return portable();
  }
  std::tuple<Tensor&, Tensor&> outputs(out, indices);
  Pooling pooling;
  if (!plan_pooling(ctx, op, in, {kernel_size, stride, padding, dilation, ceil_mode}, out, &pooling) ||
      !check_resize_planes(ctx, op, out, in, pooling.y.out, pooling.x.out) ||
      !check_resize_planes(ctx, op, indices, in, pooling.y.out, pooling.x.out)) {
    return outputs;
  }
  if (!find_runs(in, out, &pooling) || !executorch::runtime::tensors_have_same_dim_order(out, indices)) {
    return portable();
  }
  const float* from = in.const_data_ptr<float>();
  float* to = out.mutable_data_ptr<float>();
  int64_t* places = indices.mutable_data_ptr<int64_t>();
  for_each_run(pooling, [&](const Run& run) {
    float largest[kPoolRun];
    int32_t place[kPoolRun];
    const int64_t row = window_span(pooling.y, run.oh).begin * pooling.in.width;
    for (int64_t i = 0; i < run.count; ++i) {
      largest[i] = -std::numeric_limits<float>::infinity();
      place[i] = static_cast<int32_t>(row + window_span(pooling.x, run.ow + (pooling.by_channels ? 0 : i)).begin);
    }
    for_each_tap(pooling, run, [&](int64_t at, int64_t first, int64_t count, int64_t position, int64_t position_step) {
      max_tap(from + at, run.step, static_cast<int32_t>(position), static_cast<int32_t>(position_step), count,
              largest + first, place + first);
    });
    std::copy_n(largest, run.count, to + run.out);
    std::copy_n(place, run.count, places + run.out);
  });
  return outputs;
}

Tensor& opt_avg_pool2d_out(KernelRuntimeContext& ctx, const Tensor& in, IntArrayRef kernel_size, IntArrayRef stride,
                           IntArrayRef padding, bool ceil_mode, bool count_include_pad,
                           std::optional<int64_t> divisor_override, Tensor& out) {
  const char* op = "avg_pool2d.out";
  const auto portable = [&]() -> Tensor& {
    return avg_pool2d_out(ctx, in, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override, out);
  };
  if (in.scalar_type() != ScalarType::Float || (divisor_override && *divisor_override == 0)) {
    return portable();
  }
  const int64_t one = 1;
  Pooling pooling;
  if (!plan_pooling(ctx, op, in, {kernel_size, stride, padding, IntArrayRef(&one, 1), ceil_mode}, out, &pooling) ||
      !check_resize_planes(ctx, op, out, in, pooling.y.out, pooling.x.out)) {
    return out;
  }
  if (!find_runs(in, out, &pooling)) {
    return portable();
  }
  const float* from = in.const_data_ptr<float>();
  float* to = out.mutable_data_ptr<float>();
  for_each_run(pooling, [&](const Run& run) {
    float sums[kPoolRun];
    std::fill_n(sums, run.count, 0.0f);
    for_each_tap(pooling, run, [&](int64_t at, int64_t first, int64_t count, int64_t, int64_t) {
      add_tap(from + at, run.step, count, sums + first);
    });
    const Extent height = extent_of(pooling.y, run.oh);
    for (int64_t i = 0; i < run.count; ++i) {
      const Extent width = extent_of(pooling.x, run.ow + (pooling.by_channels ? 0 : i));
      const int64_t inside = height.inside * width.inside;
      const int64_t count = divisor_override    ? *divisor_override
                            : count_include_pad ? height.padded * width.padded
                                                : inside;
      to[run.out + i] = inside == 0 ? 0.0f : sums[i] / static_cast<float>(count);
    }
  });
  return out;
}

}  // namespace torch::executor::native
