// SPDX-License-Identifier: BSD-3-Clause
#include "winograd_step.h"

#include <cpuinfo.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "winograd_tiles.h"
#include "xnnpack/config.h"  // of the pinned sources
#include "xnnpack/gemm.h"
#include "xnnpack/microparams.h"

namespace executorch {
namespace backends {
namespace xnnpack {

using runtime::internal::CheckedSize;

namespace {

/// Tiles whose values are multiplied together, whatever the cache holds: each time, all the weights are read.
constexpr size_t kFewestTilesOfUnit = 12;
/// Below, weights are read for too few products, and there are up to four times as many of them.
constexpr size_t kFewestTiles = 32;
constexpr size_t kFewestChannels = 16;
/// What bringing one element to its value at a point or back takes, in products.
constexpr double kTransformWork = 5;
/// Columns of results between products and restore(), about.
constexpr size_t kColumns = 64;

size_t ceil_div(size_t count, size_t by) {
  return count / by + (count % by != 0 ? 1 : 0);
}

/// Tiles for images of this shape.
double tile_count(const Shape& out, size_t results) {
  return static_cast<double>(out[0]) * static_cast<double>(ceil_div(out[1], results)) *
         static_cast<double>(ceil_div(out[2], results));
}

/// What convolving so takes, in products.
double work_of(double tiles, size_t results, double in, double out) {
  return tiles * static_cast<double>(winograd_points(results)) * (in * out + kTransformWork * (in + out));
}

/// Bytes of the second level's cache that one core may take for its own.
size_t cache_size() {
  constexpr size_t kLeast = 256 << 10, kUsual = 512 << 10, kMost = 2048 << 10;
  const cpuinfo_cache* cache = cpuinfo_initialize() ? cpuinfo_get_l2_cache(0) : nullptr;
  // A core may count as two processors.
  return cache == nullptr || cache->size == 0
             ? kUsual
             : std::clamp<size_t>(cache->size / ceil_div(cache->processor_count, 2), kLeast, kMost);
}

/// XNNPACK's products where they take weights in panels, one row after the other.
const xnn_gemm_config* find_products() {
  const xnn_gemm_config* products = xnn_init_f32_gemm_config();
  const bool fits = products != nullptr && products->log2_kr == 0 && products->log2_sr == 0 &&
                    products->pack_gemm_goi != nullptr &&
                    products->minmax.gemm[products->mr - 1].function[XNN_UARCH_DEFAULT] != nullptr;
  return fits ? products : nullptr;
}

}  // namespace

std::unique_ptr<WinogradStep> WinogradStep::make(const Convolution& convolution, const Shape& image) {
  const Window& window = convolution.window;
  const bool applies = window.height == kWinogradWindow && window.width == kWinogradWindow &&
                       window.stride_height == 1 && window.stride_width == 1 && window.dilation_height == 1 &&
                       window.dilation_width == 1 && !window.same && convolution.in_channels >= kFewestChannels &&
                       convolution.out_channels >= kFewestChannels && convolution.least < convolution.most &&
                       image.size() == 4;
  const OptionalShape out = applies ? window_shape(image, window, convolution.out_channels) : std::nullopt;
  const xnn_gemm_config* products = out ? find_products() : nullptr;
  if (products == nullptr) {
    return nullptr;
  }
  const auto from = static_cast<double>(convolution.in_channels), to = static_cast<double>(convolution.out_channels);
  for (const size_t results : {kMostWinogradResults, size_t{2}}) {
    const double tiles = tile_count(*out, results);
    const double whole = static_cast<double>((*out)[0]) * static_cast<double>((*out)[1]) *
                         static_cast<double>((*out)[2]) * kWinogradWindow * kWinogradWindow * from * to;
    if (tiles >= kFewestTiles && work_of(tiles, results, from, to) < 0.8 * whole) {
      return std::unique_ptr<WinogradStep>(new WinogradStep(convolution, *products, results));
    }
  }
  return nullptr;
}

size_t WinogradStep::point_size() const {
  return ceil_div(convolution_.out_channels, products_.nr) * products_.nr * (1 + convolution_.in_channels);
}

xnn_status WinogradStep::pack(const StepData& constants, xnn_weights_cache_t weights) {
  const size_t points = winograd_points(results_);
  const size_t panels = ceil_div(convolution_.out_channels, products_.nr);
  // The panels have a bias of zero for each column; the true ones are added to what comes of all points.
  const CheckedSize floats = CheckedSize(panels) * products_.nr * (CheckedSize(convolution_.in_channels) + 1) * points +
                             CheckedSize(panels) * products_.nr;
  const uint32_t seed =
      UINT32_C(0x57000000) ^ static_cast<uint32_t>(results_ << 16) ^ static_cast<uint32_t>(products_.nr);
  return find_or_pack(
      weights, seed, constants, floats * sizeof(float),
      [&](void* packed) {
        fill_packed(static_cast<const float*>(constants.in[1]), static_cast<const float*>(constants.in[2]),
                    static_cast<float*>(packed));
      },
      &packed_);
}

void WinogradStep::fill_packed(const float* filter, const float* bias, float* packed) const {
  const size_t in = convolution_.in_channels, columns = products_.nr, points = winograd_points(results_);
  std::vector<float> values(points * columns * in);
  const size_t panel_size = columns * (1 + in);
  for (size_t first = 0; first < convolution_.out_channels; first += columns) {
    const size_t count = std::min(columns, convolution_.out_channels - first);
    for (size_t i = 0; i < count; ++i) {
      transform_filter(results_, filter + (first + i) * kWinogradWindow * kWinogradWindow * in, in,
                       values.data() + i * in, columns * in);
    }
    for (size_t point = 0; point < points; ++point) {
      products_.pack_gemm_goi(1, count, in, columns, 1, 1, values.data() + point * columns * in, nullptr, nullptr,
                              packed + point * point_size() + first / columns * panel_size, 0, nullptr);
    }
  }
  float* biases = packed + points * point_size();
  for (size_t i = 0; i < convolution_.out_channels; ++i) {
    biases[i] = bias == nullptr ? 0.0f : bias[i];
  }
}

OptionalShape WinogradStep::shape(const std::vector<Shape>& in) const {
  return !in.empty() && in[0].size() == 4 && in[0][3] == convolution_.in_channels
             ? window_shape(in[0], convolution_.window, convolution_.out_channels)
             : std::nullopt;
}

/// Parts of the scratch memory of a thread.
struct WinogradStep::Scratch {
  Scratch(const WinogradStep& step, void* memory) {
    const size_t points = winograd_points(step.results_), tiles = step.tiles_of_unit_;
    const size_t in = step.convolution_.in_channels;
    auto* next = static_cast<float*>(memory);
    for (const auto& [part, floats] :
         {std::pair(&values, points * tiles * in), std::pair(&zeros, in),
          std::pair(&products, points * tiles * step.columns()), std::pair(&unused, step.columns())}) {
      *part = next;
      size += (floats * sizeof(float) + XNN_EXTRA_BYTES + kAlignment - 1) / kAlignment * kAlignment;
      next = memory == nullptr ? nullptr : static_cast<float*>(memory) + size / sizeof(float);
    }
  }

  static constexpr size_t kAlignment = 64;
  float* values = nullptr;    // [points][tiles][in channels]
  float* zeros = nullptr;     // of a pixel beside the image
  float* products = nullptr;  // [points][tiles][columns()]
  float* unused = nullptr;    // for a pixel beside the results
  size_t size = 0;            // bytes of all
};

size_t WinogradStep::columns() const {
  const size_t panel = products_.nr;
  return std::min(ceil_div(convolution_.out_channels, panel), std::max<size_t>(1, kColumns / panel)) * panel;
}

Step::Plan WinogradStep::plan(const std::vector<Shape>& in, size_t threads) {
  image_ = in[0];
  out_ = *shape(in);
  tile_rows_ = ceil_div(out_[1], results_);
  tile_columns_ = ceil_div(out_[2], results_);
  tiles_ = out_[0] * tile_rows_ * tile_columns_;
  // As many for each thread.
  const size_t tile_size = winograd_points(results_) * (convolution_.in_channels + columns()) * sizeof(float);
  const size_t most_tiles = std::max(cache_size() / tile_size, kFewestTilesOfUnit);
  const size_t units = ceil_div(ceil_div(tiles_, most_tiles), threads) * threads;
  tiles_of_unit_ = std::max<size_t>(1, ceil_div(tiles_, std::max<size_t>(1, units)));
  return {ceil_div(tiles_, tiles_of_unit_), Scratch(*this, nullptr).size};
}

WinogradStep::Place WinogradStep::place_of(size_t tile) const {
  const size_t row = tile / tile_columns_;
  return {row / tile_rows_, row % tile_rows_ * results_, tile % tile_columns_ * results_};
}

void WinogradStep::transform(const float* image, size_t first_tile, size_t tiles, const Scratch& scratch) const {
  const size_t side = winograd_side(results_), channels = convolution_.in_channels;
  std::fill_n(scratch.zeros, channels, 0.0f);
  for (size_t tile = 0; tile < tiles; ++tile) {
    const Place place = place_of(first_tile + tile);
    const float* pixels[winograd_points(kMostWinogradResults)];
    for (size_t i = 0; i < side * side; ++i) {
      // Above and left of the image these wrap to numbers beyond its sizes.
      const size_t row = place.row + i / side - convolution_.window.padding_top;
      const size_t column = place.column + i % side - convolution_.window.padding_left;
      const bool is_inside = row < image_[1] && column < image_[2];
      pixels[i] = is_inside ? image + ((place.image * image_[1] + row) * image_[2] + column) * channels : scratch.zeros;
    }
    transform_tile(results_, pixels, channels, scratch.values + tile * channels, tiles * channels);
  }
}

void WinogradStep::multiply(size_t tiles, size_t first_column, size_t columns, const Scratch& scratch) const {
  xnn_f32_minmax_params limits;
  products_.init.f32(&limits, -std::numeric_limits<float>::infinity(), std::numeric_limits<float>::infinity());
  const size_t in = convolution_.in_channels, panel = products_.nr, most_rows = products_.mr;
  const auto product = products_.minmax.gemm[most_rows - 1].function[XNN_UARCH_DEFAULT];
  const size_t passes = ceil_div(tiles, most_rows);
  for (size_t point = 0; point < winograd_points(results_); ++point) {
    const float* filters = static_cast<const float*>(packed_) + point * point_size() + first_column * (1 + in);
    for (size_t row = 0, pass = passes; row < tiles; --pass) {
      const size_t rows = ceil_div(tiles - row, pass);
      product(rows, columns, in * sizeof(float), scratch.values + (point * tiles + row) * in, in * sizeof(float),
              filters, scratch.products + (point * tiles + row) * columns, columns * sizeof(float),
              panel * sizeof(float), &limits);
      row += rows;
    }
  }
}

void WinogradStep::restore(float* out, size_t first_tile, size_t tiles, size_t first_column, size_t columns,
                           const Scratch& scratch) const {
  const float* biases = static_cast<const float*>(packed_) + winograd_points(results_) * point_size();
  for (size_t tile = 0; tile < tiles; ++tile) {
    const Place place = place_of(first_tile + tile);
    float* pixels[kMostWinogradResults * kMostWinogradResults];
    for (size_t i = 0; i < results_ * results_; ++i) {
      const size_t row = place.row + i / results_, column = place.column + i % results_;
      const bool is_inside = row < out_[1] && column < out_[2];
      pixels[i] = is_inside ? out + ((place.image * out_[1] + row) * out_[2] + column) * out_[3] + first_column
                            : scratch.unused;
    }
    restore_tile(results_, scratch.products + tile * columns, tiles * columns, columns, biases + first_column,
                 convolution_.least, convolution_.most, pixels);
  }
}

void WinogradStep::run(const StepData& data, size_t unit, void* memory) {
  const Scratch scratch(*this, memory);
  const size_t first_tile = unit * tiles_of_unit_, tiles = std::min(tiles_of_unit_, tiles_ - first_tile);
  transform(static_cast<const float*>(data.in[0]), first_tile, tiles, scratch);
  for (size_t column = 0; column < convolution_.out_channels; column += columns()) {
    const size_t count = std::min(columns(), convolution_.out_channels - column);
    multiply(tiles, column, count, scratch);
    restore(static_cast<float*>(data.out), first_tile, tiles, column, count, scratch);
  }
}

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
