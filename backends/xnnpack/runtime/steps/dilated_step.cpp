// SPDX-License-Identifier: BSD-3-Clause
#include "steps/dilated_step.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "private/xnnpack_kernels.h"

namespace executorch {
namespace backends {
namespace xnnpack {

using runtime::internal::CheckedSize;

namespace {

/// The step applies if at most this part of the multiplications is inside the image: copying pixels and adding up
/// products cost time, too.
constexpr double kMostOfWhole = 0.75;
/// With fewer channels, adding up the products of the taps takes too long in comparison with computing them.
constexpr size_t kFewestInChannels = 64;
constexpr size_t kFewestOutChannels = 16;
/// With fewer output pixels, the GEMMs have too few rows.
constexpr size_t kFewestPixels = 48;
/// The fewest pixels of a unit, even if they do not fit in the cache, because each unit reads all weights.
constexpr size_t kFewestPixelsOfUnit = 48;
/// Roughly the output channels that one GEMM computes before its products are added up.
constexpr size_t kColumns = 64;

/// The outputs, from `first` to before `end`, for which a tap lies inside the image.
struct Range {
  size_t first, end;
  size_t count() const { return end - first; }
};

/// The range in one dimension, where the tap for output i lies at i * stride + offset - padding.
Range inside(size_t offset, size_t padding, size_t stride, size_t size, size_t results) {
  const size_t first = offset >= padding ? 0 : ceil_div(padding - offset, stride);
  const size_t end = size + padding > offset ? std::min((size + padding - offset - 1) / stride + 1, results) : 0;
  return {first, std::max(first, end)};
}

Range rows_inside(const Window& window, size_t tap, size_t size, size_t results) {
  return inside(tap * window.dilation_height, window.padding_top, window.stride_height, size, results);
}

Range columns_inside(const Window& window, size_t tap, size_t size, size_t results) {
  return inside(tap * window.dilation_width, window.padding_left, window.stride_width, size, results);
}

}  // namespace

std::unique_ptr<DilatedStep> DilatedStep::make(const Convolution& convolution, const Shape& image) {
  const Window& window = convolution.window;
  const bool applies = !window.same && window.height * window.width > 1 &&
                       std::max(window.dilation_height, window.dilation_width) > 1 &&
                       convolution.in_channels >= kFewestInChannels && convolution.out_channels >= kFewestOutChannels &&
                       convolution.least < convolution.most && image.size() == 4;
  const OptionalShape out = applies ? window_shape(image, window, convolution.out_channels) : std::nullopt;
  if (!out || (*out)[0] == 0 || (CheckedSize((*out)[0]) * (*out)[1] * (*out)[2]).value() < kFewestPixels) {
    return nullptr;
  }
  double rows = 0, columns = 0;
  for (size_t i = 0; i < window.height; ++i) {
    rows += static_cast<double>(rows_inside(window, i, image[1], (*out)[1]).count());
  }
  for (size_t i = 0; i < window.width; ++i) {
    columns += static_cast<double>(columns_inside(window, i, image[2], (*out)[2]).count());
  }
  const double whole = static_cast<double>(window.height) * static_cast<double>(window.width) *
                       static_cast<double>((*out)[1]) * static_cast<double>((*out)[2]);
  const xnn_gemm_config* products = rows * columns <= kMostOfWhole * whole ? find_panel_products() : nullptr;
  return products == nullptr ? nullptr : std::unique_ptr<DilatedStep>(new DilatedStep(convolution, *products));
}

size_t DilatedStep::panel_width() const {
  return products_.nr;
}

size_t DilatedStep::group_columns() const {
  return std::min(panels(), std::max<size_t>(1, kColumns / panel_width())) * panel_width();
}

xnn_status DilatedStep::pack(const StepData& constants, xnn_weights_cache_t weights) {
  const CheckedSize taps = CheckedSize(convolution_.window.height) * convolution_.window.width;
  const CheckedSize floats = (taps * (CheckedSize(convolution_.in_channels) + 1) + 1) * panels() * panel_width();
  const uint32_t seed = UINT32_C(0x44000000) ^ static_cast<uint32_t>(panel_width());
  const void* packed = nullptr;
  const xnn_status status = find_or_pack(
      weights, seed, constants, floats * sizeof(float),
      [&](void* to) {
        fill_packed(static_cast<const float*>(constants.in[1]), static_cast<const float*>(constants.in[2]),
                    static_cast<float*>(to));
      },
      &packed);
  packed_ = static_cast<const float*>(packed);
  return status;
}

void DilatedStep::fill_packed(const float* filter, const float* bias, float* packed) const {
  const size_t in = convolution_.in_channels, out = convolution_.out_channels, width = panel_width();
  const size_t taps = convolution_.window.height * convolution_.window.width;
  if (bias != nullptr) {
    std::copy_n(bias, out, packed);
  }
  packed += panels() * width;
  for (size_t tap = 0; tap < taps; ++tap) {
    for (size_t first = 0; first < out; first += width, packed += panel_size()) {
      const size_t count = std::min(width, out - first);
      for (size_t i = 0; i < count; ++i) {
        const float* const from = filter + ((first + i) * taps + tap) * in;
        for (size_t k = 0; k < in; ++k) {
          packed[(1 + k) * width + i] = from[k];
        }
      }
    }
  }
}

OptionalShape DilatedStep::shape(const std::vector<Shape>& in) const {
  return !in.empty() && in[0].size() == 4 && in[0][3] == convolution_.in_channels
             ? window_shape(in[0], convolution_.window, convolution_.out_channels)
             : std::nullopt;
}

/// The layout of a thread's scratch memory.
struct DilatedStep::Scratch {
  Scratch(const DilatedStep& step, void* memory) {
    const size_t pixels = step.pixels_of_unit_;
    auto* next = static_cast<uint8_t*>(memory);
    const auto take = [&](size_t bytes) {
      void* const part = next;
      const size_t taken = (bytes + XNN_EXTRA_BYTES + kAlignment - 1) / kAlignment * kAlignment;
      size += taken;
      next = memory == nullptr ? nullptr : next + taken;
      return part;
    };
    gathered = static_cast<float*>(take(pixels * step.convolution_.in_channels * sizeof(float)));
    products = static_cast<float*>(take(pixels * step.group_columns() * sizeof(float)));
    results = static_cast<size_t*>(take(pixels * sizeof(size_t)));
  }

  static constexpr size_t kAlignment = 64;
  float* gathered = nullptr;  // [pixels][in channels]
  float* products = nullptr;  // [pixels][columns of a group]
  size_t* results = nullptr;  // for each gathered pixel, its output's number in the unit
  size_t size = 0;            // bytes in total
};

Step::Plan DilatedStep::plan(const std::vector<Shape>& in, size_t threads) {
  image_ = in[0];
  out_ = *shape(in);
  pixels_ = out_[0] * out_[1] * out_[2];
  const size_t pixel_size = (convolution_.in_channels + group_columns()) * sizeof(float);
  const size_t most = std::max(core_cache_size() / pixel_size, kFewestPixelsOfUnit);
  const size_t parts = ceil_div(std::max<size_t>(1, ceil_div(pixels_, most)), threads) * threads;
  pixels_of_unit_ = std::max<size_t>(1, ceil_div(pixels_, parts));
  return {ceil_div(pixels_, pixels_of_unit_), Scratch(*this, nullptr).size};
}

size_t DilatedStep::gather(const float* image, Tap tap, size_t first, size_t count, const Scratch& scratch) const {
  const Window& window = convolution_.window;
  const Range rows = rows_inside(window, tap.row, image_[1], out_[1]);
  const Range columns = columns_inside(window, tap.column, image_[2], out_[2]);
  const size_t channels = convolution_.in_channels;
  size_t gathered = 0;
  for (size_t at = 0; at < count;) {
    const size_t row = (first + at) / out_[2], x = (first + at) % out_[2], y = row % out_[1];
    const size_t width = std::min(out_[2] - x, count - at);
    const size_t from = std::max(x, columns.first), to = std::min(x + width, columns.end);
    if (y >= rows.first && y < rows.end && from < to) {
      const size_t in_row = y * window.stride_height + tap.row * window.dilation_height - window.padding_top;
      const size_t in_column = from * window.stride_width + tap.column * window.dilation_width - window.padding_left;
      const float* pixels = image + ((row / out_[1] * image_[1] + in_row) * image_[2] + in_column) * channels;
      for (size_t i = from; i < to; ++i, ++gathered, pixels += window.stride_width * channels) {
        std::memcpy(scratch.gathered + gathered * channels, pixels, channels * sizeof(float));
        scratch.results[gathered] = at + i - x;
      }
    }
    at += width;
  }
  return gathered;
}

void DilatedStep::add_products(Tap tap, size_t gathered, float* out, const Scratch& scratch) const {
  xnn_f32_minmax_params limits;
  products_.init.f32(&limits, -std::numeric_limits<float>::infinity(), std::numeric_limits<float>::infinity());
  const size_t in = convolution_.in_channels, width = panel_width(), channels = convolution_.out_channels;
  const auto product = products_.minmax.gemm[products_.mr - 1].function[XNN_UARCH_DEFAULT];
  const size_t passes = ceil_div(gathered, products_.mr);
  const float* weights =
      packed_ + panels() * width + (tap.row * convolution_.window.width + tap.column) * panels() * panel_size();
  for (size_t first = 0; first < channels; first += group_columns()) {
    const size_t columns = std::min(group_columns(), channels - first);
    for (size_t row = 0, pass = passes; row < gathered; --pass) {
      const size_t rows = ceil_div(gathered - row, pass);
      product(rows, columns, in * sizeof(float), scratch.gathered + row * in, in * sizeof(float), weights,
              scratch.products + row * columns, columns * sizeof(float), width * sizeof(float), &limits);
      row += rows;
    }
    for (size_t i = 0; i < gathered; ++i) {
      const float* const from = scratch.products + i * columns;
      float* const to = out + scratch.results[i] * channels + first;
      for (size_t j = 0; j < columns; ++j) {
        to[j] += from[j];
      }
    }
    weights += group_columns() / width * panel_size();
  }
}

void DilatedStep::run(const StepData& data, size_t unit, void* memory) {
  const Scratch scratch(*this, memory);
  const Window& window = convolution_.window;
  const size_t first = unit * pixels_of_unit_, count = std::min(pixels_of_unit_, pixels_ - first);
  const size_t channels = convolution_.out_channels;
  float* const out = static_cast<float*>(data.out) + first * channels;
  for (size_t i = 0; i < count; ++i) {
    std::copy_n(packed_, channels, out + i * channels);
  }
  for (Tap tap{0, 0}; tap.row < window.height; ++tap.row) {
    for (tap.column = 0; tap.column < window.width; ++tap.column) {
      const size_t gathered = gather(static_cast<const float*>(data.in[0]), tap, first, count, scratch);
      if (gathered > 0) {
        add_products(tap, gathered, out, scratch);
      }
    }
  }
  const float least = convolution_.least, most = convolution_.most;
  for (size_t i = 0; i < count * channels; ++i) {
    out[i] = out[i] < least ? least : out[i] > most ? most : out[i];  // keeps NaN
  }
}

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
