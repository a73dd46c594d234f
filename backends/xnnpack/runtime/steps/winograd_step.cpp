// SPDX-License-Identifier: BSD-3-Clause
#include "steps/winograd_step.h"

#include <algorithm>
#include <utility>

#include "steps/winograd_tiles.h"

namespace executorch {
namespace backends {
namespace xnnpack {

using runtime::internal::CheckedSize;

namespace {

/// The fewest tiles of a unit, even if they do not fit in the cache, because each unit may have to transform the
/// filters.
constexpr size_t kFewestTilesOfUnit = 24;
/// With fewer tiles or channels, the transforms cost more than the algorithm saves.
constexpr size_t kFewestTiles = 16;
constexpr size_t kFewestChannels = 16;
/// The cost of transforming an element at one point, or back, in multiplications.
constexpr double kTransformWork = 5;
/// The cost of transforming the filters, in tiles that could be multiplied by them instead.
constexpr double kFilterWork = 4;
/// The step applies if it takes at most this part of the multiplications of direct convolution.
constexpr double kMostOfWhole = 0.8;
/// Roughly the output channels that are computed before they are transformed back.
constexpr size_t kColumns = 64;

/// The number of tiles for an output of this shape.
double tile_count(const Shape& out, size_t results) {
  return static_cast<double>(out[0]) * static_cast<double>(ceil_div(out[1], results)) *
         static_cast<double>(ceil_div(out[2], results));
}

/// The cost of Winograd's algorithm in multiplications.
double work_of(double tiles, size_t results, double in, double out) {
  return static_cast<double>(winograd_points(results)) *
         ((tiles + kFilterWork) * in * out + tiles * kTransformWork * (in + out));
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
  const auto products = out ? find_winograd_products() : std::nullopt;
  if (!products) {
    return nullptr;
  }
  const auto from = static_cast<double>(convolution.in_channels), to = static_cast<double>(convolution.out_channels);
  const double pixels =
      static_cast<double>((*out)[0]) * static_cast<double>((*out)[1]) * static_cast<double>((*out)[2]);
  double least_work = kMostOfWhole * pixels * kWinogradTaps * from * to;
  size_t best = 0;
  for (const size_t results : {size_t{2}, kMostWinogradResults}) {
    const double tiles = tile_count(*out, results), work = work_of(tiles, results, from, to);
    if (tiles >= kFewestTiles && work < least_work) {
      best = results;
      least_work = work;
    }
  }
  if (best == 0) {
    return nullptr;
  }
  const double more = static_cast<double>(winograd_points(best) - kWinogradTaps) * from * to;
  return std::unique_ptr<WinogradStep>(new WinogradStep(convolution, *products, best, more <= pixels * (from + to)));
}

size_t WinogradStep::panels() const {
  return ceil_div(convolution_.out_channels, products_.columns);
}

size_t WinogradStep::panel_size() const {
  return (1 + convolution_.in_channels) * products_.columns;
}

const float* WinogradStep::filters() const {
  return packed_ + panels() * products_.columns;
}

xnn_status WinogradStep::pack(const StepData& constants, xnn_weights_cache_t weights) {
  const CheckedSize depth(convolution_.in_channels);
  const CheckedSize rows = keeps_values_ ? (depth + 1) * winograd_points(results_) : depth * kWinogradTaps;
  const size_t values = keeps_values_ ? results_ : 0;
  const uint32_t seed =
      UINT32_C(0x57100000) ^ static_cast<uint32_t>(values << 16) ^ static_cast<uint32_t>(products_.columns);
  const void* packed = nullptr;
  const xnn_status status = find_or_pack(
      weights, seed, constants, (rows + 1) * panels() * products_.columns * sizeof(float),
      [&](void* to) {
        fill_packed(static_cast<const float*>(constants.in[1]), static_cast<const float*>(constants.in[2]),
                    static_cast<float*>(to));
      },
      &packed);
  packed_ = static_cast<const float*>(packed);
  return status;
}

void WinogradStep::fill_packed(const float* filter, const float* bias, float* packed) const {
  const size_t in = convolution_.in_channels, width = products_.columns;
  if (bias != nullptr) {
    std::copy_n(bias, convolution_.out_channels, packed);
  }
  packed += panels() * width;
  std::vector<float> part(keeps_values_ ? in * kWinogradTaps * width : 0);
  for (size_t panel = 0; panel < panels(); ++panel) {
    const size_t first = panel * width, count = std::min(width, convolution_.out_channels - first);
    float* const filters = keeps_values_ ? part.data() : packed + panel * in * kWinogradTaps * width;
    // Loop in the order of writes. Reads are strided, but their cache lines stay in the cache for the next k.
    for (size_t k = 0; k < in; ++k) {
      for (size_t tap = 0; tap < kWinogradTaps; ++tap) {
        for (size_t i = 0; i < count; ++i) {
          filters[(k * kWinogradTaps + tap) * width + i] = filter[((first + i) * kWinogradTaps + tap) * in + k];
        }
      }
    }
    if (keeps_values_) {
      transform_filters(results_, filters, in, width, packed + panel * panel_size() + width, panels() * panel_size());
    }
  }
}

OptionalShape WinogradStep::shape(const std::vector<Shape>& in) const {
  return !in.empty() && in[0].size() == 4 && in[0][3] == convolution_.in_channels
             ? window_shape(in[0], convolution_.window, convolution_.out_channels)
             : std::nullopt;
}

/// The layout of a thread's scratch memory.
struct WinogradStep::Scratch {
  Scratch(const WinogradStep& step, void* memory) {
    const size_t points = winograd_points(step.results_), tiles = step.tiles_of_unit_;
    const size_t in = step.products_.depth_of(step.convolution_.in_channels);
    const size_t columns = step.group_panels() * step.products_.columns;
    auto* next = static_cast<float*>(memory);
    for (const auto& [part, floats] :
         {std::pair(&values, points * tiles * in),
          std::pair(&filters, step.keeps_values_ ? 0 : points * step.group_panels() * step.panel_size()),
          std::pair(&zeros, in), std::pair(&products, points * tiles * columns), std::pair(&unused, columns)}) {
      *part = next;
      size += (floats * sizeof(float) + XNN_EXTRA_BYTES + kAlignment - 1) / kAlignment * kAlignment;
      next = memory == nullptr ? nullptr : static_cast<float*>(memory) + size / sizeof(float);
    }
  }

  static constexpr size_t kAlignment = 64;
  float* values = nullptr;    // [points], and what a call of WinogradProducts gets
  float* filters = nullptr;   // a group's transformed filters, unless packed_ holds them
  float* zeros = nullptr;     // a pixel of padding
  float* products = nullptr;  // [points][tiles][columns of a group]
  float* unused = nullptr;    // receives pixels of a tile outside the output
  size_t size = 0;            // bytes in total
};

size_t WinogradStep::group_panels() const {
  return std::min(panels(), std::max<size_t>(1, kColumns / products_.columns));
}

Step::Plan WinogradStep::plan(const std::vector<Shape>& in, size_t threads) {
  image_ = in[0];
  out_ = *shape(in);
  tile_rows_ = ceil_div(out_[1], results_);
  tile_columns_ = ceil_div(out_[2], results_);
  tiles_ = out_[0] * tile_rows_ * tile_columns_;
  // If each unit transforms the filters, do not count the products: units are then larger, and there are fewer
  // transforms of filters.
  const size_t columns = keeps_values_ ? group_panels() * products_.columns : 0;
  const size_t tile_size = winograd_points(results_) * (convolution_.in_channels + columns) * sizeof(float);
  const size_t most_tiles = std::max(core_cache_size() / tile_size, kFewestTilesOfUnit);
  size_t tile_parts = std::max<size_t>(1, ceil_div(tiles_, most_tiles));
  if (tile_parts >= threads) {
    tile_parts = ceil_div(tile_parts, threads) * threads;
    column_parts_ = 1;
  } else {
    // Units with the same tiles repeat the transform of these tiles, and units with the same filters repeat that of the
    // filters. So divide the output channels only if they are more than the tiles.
    const size_t groups = ceil_div(panels(), group_panels());
    column_parts_ = tiles_ < convolution_.out_channels ? std::min(groups, ceil_div(threads, tile_parts)) : 1;
    tile_parts = std::max(tile_parts, ceil_div(threads, column_parts_));
  }
  tiles_of_unit_ = std::max<size_t>(1, ceil_div(tiles_, tile_parts));
  return {ceil_div(tiles_, tiles_of_unit_) * column_parts_, Scratch(*this, nullptr).size};
}

WinogradStep::Place WinogradStep::place_of(size_t tile) const {
  const size_t row = tile / tile_columns_;
  return {row / tile_rows_, row % tile_rows_ * results_, tile % tile_columns_ * results_};
}

template <typename F>
void WinogradStep::for_calls(size_t tiles, const F& f) const {
  for (size_t first = 0; first < tiles;) {
    const size_t count = products_.tiles_of_call(tiles - first);
    f(first, count);
    first += count;
  }
}

void WinogradStep::transform_image(const float* image, Part tiles, const Scratch& scratch) const {
  const size_t side = winograd_side(results_), channels = convolution_.in_channels;
  const size_t depth = products_.depth_of(channels);
  std::fill_n(scratch.zeros, channels, 0.0f);
  for_calls(tiles.count, [&](size_t first, size_t count) {
    const size_t tile_stride = products_.interleaves ? WinogradProducts::kTogether : channels;
    for (size_t tile = 0; tile < count; ++tile) {
      const Place place = place_of(tiles.first + first + tile);
      const float* pixels[winograd_points(kMostWinogradResults)];
      for (size_t i = 0; i < side * side; ++i) {
        // Above and left of the image, these wrap to huge numbers.
        const size_t row = place.row + i / side - convolution_.window.padding_top;
        const size_t column = place.column + i % side - convolution_.window.padding_left;
        const bool is_inside = row < image_[1] && column < image_[2];
        pixels[i] =
            is_inside ? image + ((place.image * image_[1] + row) * image_[2] + column) * channels : scratch.zeros;
      }
      transform_tile(results_, pixels, channels, scratch.values + first * depth + tile * tile_stride,
                     tiles.count * depth, products_.interleaves ? count : 1);
    }
  });
}

WinogradStep::Values WinogradStep::filter_values(Part panels, const Scratch& scratch) const {
  const size_t width = products_.columns, size = panel_size();
  if (keeps_values_) {
    return {filters() + panels.first * size, this->panels() * size};
  }
  const Values values{scratch.filters, panels.count * size};
  for (size_t i = 0; i < panels.count; ++i) {
    float* const panel = scratch.filters + i * size;
    for (size_t point = 0; point < winograd_points(results_); ++point) {
      // restore_tile() adds the biases, after the sum over the points.
      std::fill_n(panel + point * values.point_stride, width, 0.0f);
    }
    const size_t depth = convolution_.in_channels;
    transform_filters(results_, filters() + (panels.first + i) * depth * kWinogradTaps * width, depth, width,
                      panel + width, values.point_stride);
  }
  return values;
}

void WinogradStep::multiply(Part tiles, const Values& filters, size_t columns, const Scratch& scratch) const {
  const size_t channels = convolution_.in_channels, depth = products_.depth_of(channels);
  for (size_t point = 0; point < winograd_points(results_); ++point) {
    for_calls(tiles.count, [&](size_t first, size_t count) {
      const size_t tile = point * tiles.count + first;
      products_.multiply(count, columns, channels, scratch.values + tile * depth,
                         filters.at + point * filters.point_stride, scratch.products + tile * columns);
    });
  }
}

void WinogradStep::restore(float* out, Part tiles, Part columns, const Scratch& scratch) const {
  for (size_t tile = 0; tile < tiles.count; ++tile) {
    const Place place = place_of(tiles.first + tile);
    float* pixels[kMostWinogradResults * kMostWinogradResults];
    for (size_t i = 0; i < results_ * results_; ++i) {
      const size_t row = place.row + i / results_, column = place.column + i % results_;
      const bool is_inside = row < out_[1] && column < out_[2];
      pixels[i] = is_inside ? out + ((place.image * out_[1] + row) * out_[2] + column) * out_[3] + columns.first
                            : scratch.unused;
    }
    restore_tile(results_, scratch.products + tile * columns.count, tiles.count * columns.count, columns.count,
                 packed_ + columns.first, convolution_.least, convolution_.most, pixels);
  }
}

void WinogradStep::run(const StepData& data, size_t unit, void* memory) {
  const Scratch scratch(*this, memory);
  const size_t first_tile = unit / column_parts_ * tiles_of_unit_, part = unit % column_parts_;
  const Part tiles{first_tile, std::min(tiles_of_unit_, tiles_ - first_tile)};
  transform_image(static_cast<const float*>(data.in[0]), tiles, scratch);
  const size_t groups = ceil_div(panels(), group_panels());
  for (size_t group = part * groups / column_parts_; group < (part + 1) * groups / column_parts_; ++group) {
    const size_t first = group * group_panels(), column = first * products_.columns;
    const Part of_group{first, std::min(group_panels(), panels() - first)};
    const Part columns{column, std::min(of_group.count * products_.columns, convolution_.out_channels - column)};
    multiply(tiles, filter_values(of_group, scratch), columns.count, scratch);
    restore(static_cast<float*>(data.out), tiles, columns, scratch);
  }
}

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
