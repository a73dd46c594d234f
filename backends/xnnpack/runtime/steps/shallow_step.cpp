// SPDX-License-Identifier: BSD-3-Clause
#include "steps/shallow_step.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "private/xnnpack_kernels.h"

namespace executorch {
namespace backends {
namespace xnnpack {

using runtime::internal::CheckedSize;

namespace {

/// With more channels, XNNPACK's loop over the channels of a pixel is long enough.
constexpr size_t kMostChannels = 8;
/// Limits windows and paddings, so that sizes cannot overflow.
constexpr size_t kMostSide = 64;
/// Limits the bytes of the image rows that an output row needs.
constexpr size_t kMostRows = size_t{1} << 28;

bool is_scale(float number) {
  return number > 0.0f && std::isnormal(number);
}

/// The most rows of XNNPACK's IGEMM kernels; 0 if it has none.
size_t tile_of(const xnn_gemm_config& products) {
  size_t rows = products.mr;
  while (rows > 0 && products.minmax.igemm[rows - 1].function[XNN_UARCH_DEFAULT] == nullptr) {
    --rows;
  }
  return rows;
}

size_t round_up(size_t number, size_t to) {
  return (number + to - 1) / to * to;
}

}  // namespace

ShallowStep::ShallowStep(const Convolution& convolution, const xnn_gemm_config& products) noexcept
    : convolution_(convolution), products_(products), tile_(tile_of(products)), params_{} {}

std::unique_ptr<ShallowStep> ShallowStep::make(const Convolution& convolution, const ConvolutionScales* scales,
                                               const Shape& image) {
  const Window& window = convolution.window;
  const bool applies = convolution.in_channels > 0 && convolution.in_channels <= kMostChannels && window.width > 1 &&
                       window.dilation_width == 1 && !window.same &&
                       std::max({window.height, window.width, window.padding_top, window.padding_right,
                                 window.padding_bottom, window.padding_left}) <= kMostSide &&
                       convolution.least < convolution.most;
  const xnn_gemm_config* products = !applies            ? nullptr
                                    : scales != nullptr ? xnn_init_qs8_qc8w_gemm_config()
                                                        : xnn_init_f32_gemm_config();
  if (products == nullptr || (scales != nullptr && products->pack_igemm_goki == nullptr) || tile_of(*products) == 0) {
    return nullptr;
  }
  std::unique_ptr<ShallowStep> step(new ShallowStep(convolution, *products));
  if (!step->shape({image}) || (scales != nullptr && !step->set_scales(*scales))) {
    return nullptr;
  }
  if (scales == nullptr) {
    products->init.f32(&step->params_.floats, convolution.least, convolution.most);
  }
  return step;
}

bool ShallowStep::set_scales(const ConvolutionScales& scales) {
  const int8_t least = xnn_qs8_quantize(convolution_.least, scales.out, scales.out_zero_point);
  const int8_t most = xnn_qs8_quantize(convolution_.most, scales.out, scales.out_zero_point);
  // XNNPACK refuses such parameters with a message, so leave them to it.
  if (!is_scale(scales.in) || !is_scale(scales.out) || least >= most) {
    return false;
  }
  for (size_t i = 0; i < convolution_.out_channels; ++i) {
    scales_.push_back(scales.in * scales.filter[i] / scales.out);
    if (!is_scale(scales.filter[i]) || !(scales_.back() < 256.0f)) {
      return false;
    }
  }
  in_zero_point_ = static_cast<int8_t>(scales.in_zero_point);
  products_.init.qs8_qc8w(&params_.integers, static_cast<int8_t>(scales.out_zero_point), least, most);
  return true;
}

const char* ShallowStep::name() const {
  return is_integer() ? "Convolution (NHWC, QC8) IGEMM, few channels" : "Convolution (NHWC, F32) IGEMM, few channels";
}

size_t ShallowStep::packed_depth() const {
  return round_up(depth(), size_t{1} << (products_.log2_kr + products_.log2_sr));
}

size_t ShallowStep::panel_size() const {
  const size_t bias_size = is_integer() ? sizeof(int32_t) : sizeof(float);
  return products_.nr * (convolution_.window.height * packed_depth() * element_size() + bias_size);
}

xnn_status ShallowStep::pack(const StepData& constants, xnn_weights_cache_t weights) {
  const CheckedSize panels = round_up(convolution_.out_channels, products_.nr) / products_.nr;
  const size_t scales_size = is_integer() ? products_.nr * sizeof(float) : 0;
  const uint32_t seed = UINT32_C(0x53000000) ^ static_cast<uint32_t>(products_.nr << 16) ^
                        static_cast<uint32_t>(products_.log2_kr << 8) ^ products_.log2_sr;
  return find_or_pack(
      weights, seed, constants, panels * (panel_size() + scales_size),
      [&](void* packed) { fill_packed(constants, packed); }, &packed_);
}

void ShallowStep::fill_packed(const StepData& constants, void* packed) const {
  const size_t columns = products_.nr, scales_size = is_integer() ? columns * sizeof(float) : 0;
  const xnn_qs8_packing_params packing{in_zero_point_};
  const auto pack =
      is_integer() ? products_.pack_igemm_goki : reinterpret_cast<xnn_pack_conv_goki_w_fn>(xnn_pack_f32_conv_goki_w);
  pack(1, convolution_.out_channels, convolution_.window.height, depth(), columns, size_t{1} << products_.log2_kr,
       size_t{1} << products_.log2_sr, constants.in[1], constants.in[2], nullptr, packed, scales_size, &packing);
  for (size_t first = 0; first < scales_.size(); first += columns) {
    auto* const scales = static_cast<uint8_t*>(packed) + first / columns * (panel_size() + scales_size) + panel_size();
    std::memcpy(scales, scales_.data() + first, std::min(columns, scales_.size() - first) * sizeof(float));
  }
}

OptionalShape ShallowStep::shape(const std::vector<Shape>& in) const {
  if (in.empty() || in[0].size() != 4 || in[0][3] != convolution_.in_channels) {
    return std::nullopt;
  }
  OptionalShape out = window_shape(in[0], convolution_.window, convolution_.out_channels);
  const CheckedSize pixels = CheckedSize(in[0][2]) + 2 * kMostSide;
  return out && (pixels * pixel_size() * convolution_.window.height).at_most(kMostRows) ? out : std::nullopt;
}

size_t ShallowStep::row_size(size_t results) const {
  const size_t pixels = (results - 1) * convolution_.window.stride_width + convolution_.window.width;
  // GEMM kernels may read past the last pixel.
  const size_t behind = std::max<size_t>(XNN_EXTRA_BYTES, packed_depth() - depth());
  return round_up(pixels * pixel_size() + behind, sizeof(void*));
}

Step::Plan ShallowStep::plan(const std::vector<Shape>& in, size_t) {
  image_ = in[0];
  out_ = *shape(in);
  const size_t height = convolution_.window.height;
  return {out_[0] * out_[1], height * (row_size(std::max<size_t>(out_[2], 1)) + tile_ * sizeof(void*))};
}

void ShallowStep::copy_row(const uint8_t* image, size_t image_index, size_t row, uint8_t* to) const {
  const int padding = is_integer() ? in_zero_point_ : 0;
  const size_t size = row_size(out_[2]);
  if (row >= image_[1]) {
    std::memset(to, padding, size);
    return;
  }
  const size_t left = std::min(convolution_.window.padding_left * pixel_size(), size);
  const size_t inside = std::min(image_[2] * pixel_size(), size - left);
  std::memset(to, padding, left);
  std::memcpy(to + left, image + (image_index * image_[1] + row) * image_[2] * pixel_size(), inside);
  std::memset(to + left + inside, padding, size - left - inside);
}

void ShallowStep::run(const StepData& data, size_t unit, void* scratch) {
  const Window& window = convolution_.window;
  const size_t image_index = unit / out_[1], y = unit % out_[1], height = window.height, width = out_[2];
  const size_t row_bytes = row_size(width), stride = window.stride_width * pixel_size();
  auto** const table = static_cast<const uint8_t**>(scratch);
  auto* const rows = reinterpret_cast<uint8_t*>(table + height * tile_);
  for (size_t i = 0; i < height; ++i) {
    // Above the image, this wraps to a huge number, which copy_row() treats as padding.
    const size_t row = y * window.stride_height + i * window.dilation_height - window.padding_top;
    copy_row(static_cast<const uint8_t*>(data.in[0]), image_index, row, rows + i * row_bytes);
  }
  // The packed weights past depth() are zero, so int8 kernels may read on to whole groups of k, which is faster. With
  // float32, zero times a NaN or infinity of the next pixel would be NaN.
  const size_t depth_bytes = (is_integer() ? packed_depth() : depth()) * element_size();
  const size_t result_bytes = out_[3] * element_size();
  const auto product = products_.minmax.igemm[tile_ - 1].function[XNN_UARCH_DEFAULT];
  auto* out = static_cast<uint8_t*>(data.out) + unit * width * result_bytes;
  const size_t tiles = (width + tile_ - 1) / tile_;
  for (size_t tile = 0, x = 0; tile < tiles; ++tile) {
    // Divide the row evenly, so that no tile has only one pixel.
    const size_t count = (width - x + tiles - tile - 1) / (tiles - tile);
    for (size_t i = 0; i < height; ++i) {
      const uint8_t* const first = rows + i * row_bytes + x * stride;
      const uint8_t** const pixels = table + i * tile_;
      for (size_t j = 0; j < count; ++j) {
        pixels[j] = first + j * stride;
      }
      std::fill(pixels + count, pixels + tile_, first);  // kernels also read the rows that they do not write
    }
    product(count, out_[3], depth_bytes, height * tile_ * sizeof(void*), reinterpret_cast<const void**>(table), packed_,
            out, result_bytes, products_.nr * element_size(), 0, nullptr, &params_);
    out += count * result_bytes;
    x += count;
  }
}

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
