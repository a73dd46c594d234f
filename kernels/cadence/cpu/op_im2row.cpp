// SPDX-License-Identifier: BSD-3-Clause
// cadence::im2row, transposed_im2row: the windows of a convolution as rows of a matrix, the border filled with zero
// points. The channels are the outermost dimension of a row, but the innermost of transposed_im2row with channels last.
#include <cstring>

#include "kernels/cadence/cpu/quantized.h"
#include "kernels/cadence/cpu/window.h"

namespace torch::executor::native {
namespace {

using namespace cadence;

struct Rows {
  IntArrayRef kernel_size;
  IntArrayRef dilation;
  IntArrayRef padding;
  IntArrayRef stride;
};

// The zero point of an image: a number for all, or one for each.
struct ZeroPoints {
  const int32_t* numbers;
  bool is_one;

  int32_t of(int64_t image) const { return numbers[is_one ? 0 : image]; }
};

bool prepare(KernelRuntimeContext& ctx, const char* op, const Tensor& input, const Rows& rows, bool is_last,
             Window* w) {
  // Parameters have a number for each of two dimensions, also for signals, which are treated as images of height 1.
  return read_image(ctx, op, input, is_last, w) &&
         read_numbers(ctx, op, "kernel_size", rows.kernel_size, 2, 1, w->kernel) &&
         read_places(ctx, op, 4, rows.stride, rows.padding, rows.dilation, w);
}

bool resize_rows(KernelRuntimeContext& ctx, const char* op, const Window& w, const Tensor& input, Tensor& out) {
  for (const int64_t size : w.results) {
    ET_KERNEL_CHECK_MSG(ctx, size > 0, InvalidArgument, false, "%s: expected a kernel within the padded input", op);
  }
  const int64_t sizes[] = {w.batch, w.results[0] * w.results[1], w.channels * w.kernel[0] * w.kernel[1]};
  return check_same_dtype(ctx, op, input, out) && check_resize(ctx, op, out, sizes, 3) &&
         check_order(ctx, op, "an output", out);
}

// source(d, at, k) is the index along dimension d of the element at place k of window `at`, or -1.
template <typename T, typename Source>
void copy_rows(const Window& w, const T* input, const ZeroPoints& zero_points, bool channels_innermost,
               const Source& source, T* row) {
  const int64_t pixels = w.kernel[0] * w.kernel[1];
  const int64_t channel_step = channels_innermost ? 1 : pixels;
  const int64_t pixel_step = channels_innermost ? w.channels : 1;
  for (int64_t n = 0; n < w.batch; ++n) {
    const T zero = static_cast<T>(zero_points.of(n));
    for (int64_t y = 0; y < w.results[0]; ++y) {
      for (int64_t x = 0; x < w.results[1]; ++x) {
        for (int64_t k = 0; k < pixels; ++k) {
          const int64_t in_y = source(0, y, k / w.kernel[1]), in_x = source(1, x, k % w.kernel[1]);
          const bool is_inside = in_y >= 0 && in_x >= 0;
          for (int64_t c = 0; c < w.channels; ++c) {
            row[c * channel_step + k * pixel_step] =
                is_inside ? input[n * w.in.outer + c * w.in.channel + in_y * w.in.y + in_x * w.in.x] : zero;
          }
        }
        row += w.channels * pixels;
      }
    }
  }
}

template <typename Source>
void write_rows(KernelRuntimeContext& ctx, const char* op, const Window& w, const Tensor& input,
                const ZeroPoints& zero_points, bool channels_innermost, const Source& source, Tensor& out) {
  dispatch<float, int8_t, uint8_t, int16_t, int32_t>(ctx, op, "an input", input.scalar_type(), [&](auto zero) {
    using T = decltype(zero);
    copy_rows(w, input.const_data_ptr<T>(), zero_points, channels_innermost, source, out.mutable_data_ptr<T>());
  });
}

bool read_zero_points(KernelRuntimeContext& ctx, const char* op, const Tensor& tensor, int64_t batch,
                      ZeroPoints* zero_points) {
  ET_KERNEL_CHECK_MSG(ctx, tensor.scalar_type() == ScalarType::Int && (tensor.numel() == 1 || tensor.numel() == batch),
                      InvalidArgument, false, "%s: expected a zero point of Int, or one for each of %lld images", op,
                      static_cast<long long>(batch));
  *zero_points = {tensor.const_data_ptr<int32_t>(), tensor.numel() == 1};
  return true;
}

Tensor& rows_of(KernelRuntimeContext& ctx, const char* op, const Tensor& input, const ZeroPoints& zero_points,
                Window& w, Tensor& out) {
  for (size_t d = 0; d < 2; ++d) {
    const int64_t room = w.sizes[d] + 2 * w.padding[d] - w.dilation[d] * (w.kernel[d] - 1) - 1;
    w.results[d] = room < 0 ? 0 : room / w.stride[d] + 1;
  }
  if (resize_rows(ctx, op, w, input, out)) {
    const auto source = [&](size_t d, int64_t at, int64_t k) {
      const int64_t index = at * w.stride[d] - w.padding[d] + k * w.dilation[d];
      return index >= 0 && index < w.sizes[d] ? index : -1;
    };
    write_rows(ctx, op, w, input, zero_points, false, source, out);
  }
  return out;
}

}  // namespace

Tensor& cadence_im2row_out(KernelRuntimeContext& ctx, const Tensor& input, IntArrayRef kernel_size,
                           IntArrayRef dilation, IntArrayRef padding, IntArrayRef stride, const Tensor& in_zero_point,
                           bool channel_last, Tensor& out) {
  constexpr const char* op = "cadence::im2row";
  const Rows rows{kernel_size, dilation, padding, stride};
  Window w{};
  ZeroPoints zero_points{};
  if (prepare(ctx, op, input, rows, channel_last, &w) &&
      read_zero_points(ctx, op, in_zero_point, w.batch, &zero_points)) {
    rows_of(ctx, op, input, zero_points, w, out);
  }
  return out;
}

Tensor& cadence_im2row_per_tensor_out(KernelRuntimeContext& ctx, const Tensor& input, IntArrayRef kernel_size,
                                      IntArrayRef dilation, IntArrayRef padding, IntArrayRef stride,
                                      int64_t in_zero_point, bool channel_last, Tensor& out) {
  constexpr const char* op = "cadence::im2row";
  const Rows rows{kernel_size, dilation, padding, stride};
  Window w{};
  const int32_t zero_point = static_cast<int32_t>(in_zero_point);
  if (prepare(ctx, op, input, rows, channel_last, &w) && check_zero_point(ctx, op, in_zero_point)) {
    rows_of(ctx, op, input, {&zero_point, true}, w, out);
  }
  return out;
}

Tensor& cadence_transposed_im2row_out(KernelRuntimeContext& ctx, const Tensor& input, IntArrayRef kernel_size,
                                      IntArrayRef dilation, IntArrayRef padding, IntArrayRef stride,
                                      IntArrayRef output_padding, const Tensor& in_zero_point, bool channel_last,
                                      Tensor& out) {
  constexpr const char* op = "cadence::transposed_im2row";
  Window w{};
  ZeroPoints zero_points{};
  int64_t more[2];
  if (!prepare(ctx, op, input, {kernel_size, dilation, padding, stride}, channel_last, &w) ||
      !read_numbers(ctx, op, "output_padding", output_padding, 2, 0, more) ||
      !read_zero_points(ctx, op, in_zero_point, w.batch, &zero_points)) {
    return out;
  }
  for (size_t d = 0; d < 2; ++d) {
    w.results[d] = (w.sizes[d] - 1) * w.stride[d] - 2 * w.padding[d] + w.dilation[d] * (w.kernel[d] - 1) + more[d] + 1;
  }
  if (resize_rows(ctx, op, w, input, out)) {
    const auto source = [&](size_t d, int64_t at, int64_t k) {
      const int64_t stretched = at - (w.kernel[d] - 1 - k) * w.dilation[d] + w.padding[d];
      const bool is_element = stretched >= 0 && stretched % w.stride[d] == 0 && stretched / w.stride[d] < w.sizes[d];
      return is_element ? stretched / w.stride[d] : -1;
    };
    write_rows(ctx, op, w, input, zero_points, channel_last, source, out);
  }
  return out;
}

}  // namespace torch::executor::native
