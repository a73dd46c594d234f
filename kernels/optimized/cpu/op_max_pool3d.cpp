// SPDX-License-Identifier: BSD-3-Clause
// max_pool3d_with_indices.out for float32, in volumes with contiguous rows.
#include <executorch/runtime/kernel/thread_parallel_interface.h>

#include <algorithm>
#include <limits>
#include <tuple>

#include "kernels/optimized/cpu/pooling/columns.h"
#include "kernels/optimized/cpu/pooling/taps.h"
#include "kernels/portable/NativeFunctions.h"
#include "kernels/portable/cpu/math/pooling.h"

namespace torch::executor::native {
namespace {

using executorch::extension::parallel_for;
using executorch::extension::internal::grain_for;
using executorch::extension::internal::GRAIN_SIZE;

// The maxima of the windows (od, oh, ow + i) of one channel for i < count, and the numbers of their positions.
void pool_run(const PoolAxis (&axes)[kSpatialDims], const Volumes& from, const float* in, int64_t od, int64_t oh,
              int64_t ow, int64_t count, float* largest, int32_t* place) {
  const Span depths = window_span(axes[0], od), rows = window_span(axes[1], oh);
  const PoolAxis& x = axes[2];
  for (int64_t i = 0; i < count; ++i) {
    largest[i] = -std::numeric_limits<float>::infinity();
    place[i] = static_cast<int32_t>(from.number(depths.begin, rows.begin, window_span(x, ow + i).begin));
  }
  for (int64_t d = depths.begin; d < depths.end; d += depths.step) {
    for (int64_t h = rows.begin; h < rows.end; h += rows.step) {
      for_each_column(x, ow, count, [&](int64_t first, int64_t last, int64_t at) {
        max_tap(in + from.at(d, h, at), x.stride, static_cast<int32_t>(from.number(d, h, at)),
                static_cast<int32_t>(x.stride), last - first, largest + first, place + first);
      });
    }
  }
}

// Whether rows are contiguous and positions in a channel fit into 32 bits.
bool has_runs(const Volumes& from, const Volumes& to) {
  int64_t left = std::numeric_limits<int32_t>::max() / 2;
  for (const int64_t size : from.size) {
    left = size > 0 ? left / size : 0;
  }
  return left > 0 && from.stride[2] == 1 && to.stride[2] == 1;
}

}  // namespace

std::tuple<Tensor&, Tensor&> opt_max_pool3d_with_indices_out(KernelRuntimeContext& ctx, const Tensor& in,
                                                             IntArrayRef kernel_size, IntArrayRef stride,
                                                             IntArrayRef padding, IntArrayRef dilation, bool ceil_mode,
                                                             Tensor& out, Tensor& indices) {
  const char* op = "max_pool3d_with_indices.out";
  const auto portable = [&] {
    return max_pool3d_with_indices_out(ctx, in, kernel_size, stride, padding, dilation, ceil_mode, out, indices);
  };
  if (in.scalar_type() != ScalarType::Float || indices.scalar_type() != ScalarType::Long) {
    return portable();
  }
  std::tuple<Tensor&, Tensor&> outputs(out, indices);
  if (!check_pool_input(ctx, op, in, kSpatialDims, out)) {
    return outputs;
  }
  PoolAxis axes[kSpatialDims];
  int64_t sizes[kSpatialDims];
  for (size_t i = 0; i < kSpatialDims; ++i) {
    if (!read_pool_axis(ctx, op, in, kSpatialDims, i, {kernel_size, stride, padding, dilation, ceil_mode}, &axes[i])) {
      return outputs;
    }
    sizes[i] = axes[i].out;
  }
  if (!check_resize_volumes(ctx, op, out, in, kSpatialDims, sizes) ||
      !check_resize_volumes(ctx, op, indices, in, kSpatialDims, sizes)) {
    return outputs;
  }
  const Volumes from = Volumes::of(in, kSpatialDims), to = Volumes::of(out, kSpatialDims);
  if (!has_runs(from, to) || !executorch::runtime::tensors_have_same_dim_order(out, indices)) {
    return portable();
  }
  if (out.numel() == 0) {
    return outputs;
  }
  const float* source = in.const_data_ptr<float>();
  float* values = out.mutable_data_ptr<float>();
  int64_t* places = indices.mutable_data_ptr<int64_t>();
  const int64_t rows = to.size[0] * to.size[1], width = to.size[2];
  const int64_t grain = grain_for(GRAIN_SIZE, {width, axes[0].kernel, axes[1].kernel, axes[2].kernel});
  parallel_for(0, to.batch * to.channels * rows, grain, [&](int64_t begin, int64_t end) {
    float largest[kPoolRun];
    int32_t place[kPoolRun];
    for (int64_t row = begin; row < end; ++row) {
      const int64_t n = row / rows / to.channels, c = row / rows % to.channels;
      const int64_t od = row % rows / to.size[1], oh = row % to.size[1];
      const float* channel = source + n * from.batch_stride + c * from.channel_stride;
      const int64_t first = n * to.batch_stride + c * to.channel_stride + to.at(od, oh, 0);
      for (int64_t ow = 0; ow < width; ow += kPoolRun) {
        const int64_t count = std::min(kPoolRun, width - ow);
        pool_run(axes, from, channel, od, oh, ow, count, largest, place);
        std::copy_n(largest, count, values + first + ow);
        std::copy_n(place, count, places + first + ow);
      }
    }
  });
  return outputs;
}

}  // namespace torch::executor::native
