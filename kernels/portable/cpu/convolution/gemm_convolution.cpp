// SPDX-License-Identifier: BSD-3-Clause
// Convolution as a GEMM for each group: weights (out channels x taps) times columns (taps x output pixels). Columns are
// packed panel by panel, so that the matrix of all columns (im2col) never exists.
#include <kernels/portable/cpu/convolution/convolution.h>
#include <kernels/portable/cpu/math/gemm.h>

#include <cstring>

namespace torch {
namespace executor {
namespace {

constexpr int64_t kMaxPanelWidth = 16;

// One digit of the index k of a row of columns. The digits count through a filter in its memory order.
struct Digit {
  int64_t size;
  int dimension;  // 0, 1, 2: depth, height, width of the kernel; 3: input channel
};

struct Columns {
  const Convolution* shape;
  const float* in;  // of the image and group
  Digit digits[4];  // slowest first
  int64_t tap[3];   // transposed: the tap of this product
};

// Output pixels of a panel that lie in one output row.
struct Run {
  int64_t depth;
  int64_t height;
  int64_t width;
  int64_t count;
};

int find_runs(const Convolution& shape, int64_t pixel, int64_t count, Run* runs) {
  int found = 0;
  int64_t width = pixel % shape.out_size[2];
  int64_t height = pixel / shape.out_size[2] % shape.out_size[1];
  int64_t depth = pixel / (shape.out_size[2] * shape.out_size[1]);
  while (count > 0) {
    const int64_t left = shape.out_size[2] - width;
    Run& run = runs[found++];
    run = {depth, height, width, count < left ? count : left};
    count -= run.count;
    width = 0;
    if (++height == shape.out_size[1]) {
      height = 0;
      ++depth;
    }
  }
  return found;
}

// Writes the inputs that a run reads through one tap. `row` is the input row, or nullptr outside the image.
void fill_run(const Convolution& shape, const float* row, const Run& run, int64_t tap, float* out) {
  if (row == nullptr) {
    std::memset(out, 0, static_cast<size_t>(run.count) * sizeof(float));
    return;
  }
  const int64_t stride = shape.in_stride[2];
  const int64_t step = shape.stride[2];
  const int64_t first = run.width * step - shape.padding[2] + tap * shape.dilation[2];
  const int64_t last = first + (run.count - 1) * step;
  if (!shape.transposed && first >= 0 && last < shape.in_size[2]) {
    const float* in = row + first * stride;
    if (step * stride == 1) {
      if (run.count == kMaxPanelWidth) {
        std::memcpy(out, in, kMaxPanelWidth * sizeof(float));
      } else {
        for (int64_t j = 0; j < run.count; ++j) {
          out[j] = in[j];
        }
      }
    } else {
      for (int64_t j = 0; j < run.count; ++j) {
        out[j] = in[j * step * stride];
      }
    }
    return;
  }
  for (int64_t j = 0; j < run.count; ++j) {
    const int64_t position = shape.input_position(2, run.width + j, tap);
    out[j] = position < 0 ? 0.0f : row[position * stride];
  }
}

void fill_row(const Columns& columns, const int64_t* tap, const float* channel, const Run* runs, int count,
              float* out) {
  const Convolution& shape = *columns.shape;
  for (int r = 0; r < count; ++r) {
    const int64_t depth = shape.input_position(0, runs[r].depth, tap[0]);
    const int64_t height = shape.input_position(1, runs[r].height, tap[1]);
    const float* row =
        depth < 0 || height < 0 ? nullptr : channel + depth * shape.in_stride[0] + height * shape.in_stride[1];
    fill_run(shape, row, runs[r], tap[2], out);
    out += runs[r].count;
  }
}

void pack_columns(const void* state, int64_t k, int64_t k_count, int64_t n, int64_t n_count, int64_t width,
                  float* panel) {
  const Columns& columns = *static_cast<const Columns*>(state);
  Run runs[kMaxPanelWidth];
  const int run_count = find_runs(*columns.shape, n, n_count, runs);
  // position[dimension], which is incremented like an odometer.
  int64_t position[4];
  for (int d = 3; d >= 0; --d) {
    position[columns.digits[d].dimension] = k % columns.digits[d].size;
    k /= columns.digits[d].size;
  }
  for (int64_t row = 0; row < k_count; ++row) {
    float* out = panel + row * width;
    fill_row(columns, position, columns.in + position[3] * columns.shape->in_channel_stride, runs, run_count, out);
    for (int64_t j = n_count; j < width; ++j) {
      out[j] = 0.0f;
    }
    for (int d = 3; d >= 0 && ++position[columns.digits[d].dimension] == columns.digits[d].size; --d) {
      position[columns.digits[d].dimension] = 0;
    }
  }
}

// Transposed: the rows of the panel are the input channels at one tap.
void pack_tap(const void* state, int64_t k, int64_t k_count, int64_t n, int64_t n_count, int64_t width, float* panel) {
  const Columns& columns = *static_cast<const Columns*>(state);
  Run runs[kMaxPanelWidth];
  const int run_count = find_runs(*columns.shape, n, n_count, runs);
  for (int64_t row = 0; row < k_count; ++row) {
    float* out = panel + row * width;
    fill_row(columns, columns.tap, columns.in + (k + row) * columns.shape->in_channel_stride, runs, run_count, out);
    for (int64_t j = n_count; j < width; ++j) {
      out[j] = 0.0f;
    }
  }
}

// Whether pixels lie at equal distances, so that (depth, height, width) is one index with the stride of the width.
bool pixels_are_uniform(const int64_t* size, const int64_t* stride) {
  return (size[1] == 1 || stride[1] == size[2] * stride[2]) &&
         (size[0] == 1 || stride[0] == size[1] * size[2] * stride[2]);
}

bool is_pointwise(const Convolution& shape) {
  for (int d = 0; d < Convolution::kDims; ++d) {
    if (shape.kernel_size[d] != 1 || shape.stride[d] != 1 || shape.padding[d] != 0) {
      return false;
    }
  }
  return true;
}

// Orders the digits of k as the dimensions of a filter lie in memory. Returns false if a filter is not one dense block.
bool find_digits(const Convolution& shape, Digit* digits) {
  const int64_t sizes[4] = {shape.kernel_size[0], shape.kernel_size[1], shape.kernel_size[2], shape.in_group()};
  const int64_t strides[4] = {shape.weight_stride[0], shape.weight_stride[1], shape.weight_stride[2],
                              shape.weight_stride1};
  bool used[4] = {false, false, false, false};
  int64_t expected = 1;
  for (int place = 3; place >= 0; --place) {
    int next = -1;
    for (int d = 3; d >= 0 && next < 0; --d) {
      if (!used[d] && (sizes[d] == 1 || strides[d] == expected)) {
        next = d;
      }
    }
    if (next < 0) {
      return false;
    }
    used[next] = true;
    digits[place] = {sizes[next], next};
    expected *= sizes[next];
  }
  return true;
}

// Channels last, pointwise: pixels (rows) times weights, so that the output's channels are contiguous.
void convolve_pointwise_channels_last(const Convolution& shape, const float* in, const float* weight, const float* bias,
                                      float* out, GemmProblem problem) {
  const StridedMatrix weights{weight, shape.weight_stride1, shape.weight_stride0};
  problem.m = shape.out_pixels();
  problem.n = shape.out_group();
  problem.a = in;
  problem.a_row_stride = shape.in_stride[2];
  problem.pack = gemm_pack_strided;
  problem.pack_state = &weights;
  problem.c = out;
  problem.c_row_stride = shape.out_stride[2];
  problem.c_col_stride = 1;
  problem.row_start = nullptr;
  if (bias != nullptr) {
    for (int64_t pixel = 0; pixel < problem.m; ++pixel) {
      std::memcpy(out + pixel * problem.c_row_stride, bias, static_cast<size_t>(problem.n) * sizeof(float));
    }
    problem.accumulate = true;
  }
  gemm(problem);
}

}  // namespace

bool convolve_gemm(const Convolution& shape, const float* in, const float* weight, const float* bias, float* out) {
  Columns columns{&shape, nullptr, {}, {0, 0, 0}};
  if (shape.transposed || !pixels_are_uniform(shape.out_size, shape.out_stride) ||
      !find_digits(shape, columns.digits)) {
    return false;
  }
  const bool pointwise = is_pointwise(shape) && pixels_are_uniform(shape.in_size, shape.in_stride);
  GemmProblem problem;
  problem.m = shape.out_group();
  problem.n = shape.out_pixels();
  problem.k = shape.in_group() * shape.taps();
  problem.a_row_stride = shape.weight_stride0;
  problem.c_row_stride = shape.out_channel_stride;
  problem.c_col_stride = shape.out_stride[2];
  for (int64_t n = 0; n < shape.batch; ++n) {
    for (int64_t g = 0; g < shape.groups; ++g) {
      const float* image = in + n * shape.in_batch_stride + g * shape.in_group() * shape.in_channel_stride;
      float* result = out + n * shape.out_batch_stride + g * shape.out_group() * shape.out_channel_stride;
      const float* filters = weight + g * shape.out_group() * shape.weight_stride0;
      const float* start = bias == nullptr ? nullptr : bias + g * shape.out_group();
      const StridedMatrix pixels{image, shape.in_channel_stride, shape.in_stride[2]};
      if (pointwise && shape.in_channel_stride == 1 && shape.out_channel_stride == 1) {
        convolve_pointwise_channels_last(shape, image, filters, start, result, problem);
        continue;
      }
      problem.a = filters;
      problem.c = result;
      problem.row_start = start;
      if (pointwise) {
        problem.b = shape.in_stride[2] == 1 ? image : nullptr;
        problem.b_row_stride = shape.in_channel_stride;
        problem.pack = shape.in_stride[2] == 1 ? nullptr : gemm_pack_strided;
        problem.pack_state = &pixels;
      } else {
        columns.in = image;
        problem.pack = pack_columns;
        problem.pack_state = &columns;
      }
      gemm(problem);
    }
  }
  return true;
}

bool convolve_transposed_gemm(const Convolution& shape, const float* in, const float* weight, const float* bias,
                              float* out) {
  if (!shape.transposed || !pixels_are_uniform(shape.out_size, shape.out_stride)) {
    return false;
  }
  Columns columns{&shape, nullptr, {}, {0, 0, 0}};
  GemmProblem problem;
  problem.m = shape.out_group();
  problem.n = shape.out_pixels();
  problem.k = shape.in_group();
  problem.a_row_stride = shape.weight_stride1;
  problem.a_k_stride = shape.weight_stride0;
  problem.c_row_stride = shape.out_channel_stride;
  problem.c_col_stride = shape.out_stride[2];
  problem.pack = pack_tap;
  problem.pack_state = &columns;
  for (int64_t n = 0; n < shape.batch; ++n) {
    for (int64_t g = 0; g < shape.groups; ++g) {
      columns.in = in + n * shape.in_batch_stride + g * shape.in_group() * shape.in_channel_stride;
      problem.c = out + n * shape.out_batch_stride + g * shape.out_group() * shape.out_channel_stride;
      problem.row_start = bias == nullptr ? nullptr : bias + g * shape.out_group();
      problem.accumulate = false;
      for (int64_t tap = 0; tap < shape.taps(); ++tap) {
        columns.tap[2] = tap % shape.kernel_size[2];
        columns.tap[1] = tap / shape.kernel_size[2] % shape.kernel_size[1];
        columns.tap[0] = tap / (shape.kernel_size[2] * shape.kernel_size[1]);
        problem.a = weight + g * shape.in_group() * shape.weight_stride0;
        for (int d = 0; d < Convolution::kDims; ++d) {
          problem.a += columns.tap[d] * shape.weight_stride[d];
        }
        gemm(problem);
        problem.accumulate = true;
      }
    }
  }
  return true;
}

}  // namespace executor
}  // namespace torch
