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
/// Roughly the output channels that are computed before they are transformed back.
constexpr size_t kColumns = 64;

}  // namespace

std::unique_ptr<WinogradStep> WinogradStep::make(const Convolution& convolution, const Shape& image,
                                                 size_t most_added_bytes) {
  const OptionalShape out =
      image.size() == 4 ? window_shape(image, convolution.window, convolution.out_channels) : std::nullopt;
  if (!out) {
    return nullptr;
  }
  const auto made = [&](const WinogradCosts& costs) {
    const auto choice = choose_winograd(convolution, *out, costs);
    return choice ? make_chosen(convolution, *choice) : nullptr;
  };
  WinogradCosts costs = winograd_costs();
  auto step = made(costs);
  if (step != nullptr && step->added_bytes() > most_added_bytes) {
    costs.load_work = 0;
    step = made(costs);
  }
  return step;
}

std::unique_ptr<WinogradStep> WinogradStep::make_chosen(const Convolution& convolution, const WinogradChoice& choice) {
  const auto products = find_winograd_products();
  return products ? std::unique_ptr<WinogradStep>(new WinogradStep(convolution, *products, choice)) : nullptr;
}

size_t WinogradStep::added_bytes() const {
  const size_t depth = convolution_.in_channels;
  const size_t added = keeps_values_ ? (depth + 1) * form_.values() - depth * kWinogradTaps : 0;
  return added * panels() * products_.columns * sizeof(float);
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
  const CheckedSize rows = keeps_values_ ? (depth + 1) * form_.values() : depth * kWinogradTaps;
  // Rows and columns of a tile, and the stride, have 4 bits each.
  const size_t values =
      keeps_values_ ? form_.rows.stride << 8 | form_.rows.results << 4 | form_.columns.results : size_t{0};
  const uint32_t seed =
      UINT32_C(0x57000000) ^ static_cast<uint32_t>(values << 12) ^ static_cast<uint32_t>(products_.columns);
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
      transform_filters(form_, filters, in, width, packed + panel * panel_size() + width, panels() * panel_size());
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
    const size_t points = step.form_.products(), tiles = step.tiles_of_unit_;
    const size_t in = step.products_.depth_of(step.convolution_.in_channels);
    const size_t columns = step.group_panels() * step.products_.columns;
    auto* next = static_cast<float*>(memory);
    for (const auto& [part, floats] :
         {std::pair(&values, points * tiles * in),
          std::pair(&filters, step.keeps_values_ ? 0 : step.form_.values() * step.group_panels() * step.panel_size()),
          std::pair(&zeros, in), std::pair(&products, points * tiles * columns), std::pair(&unused, columns)}) {
      *part = next;
      size += (floats * sizeof(float) + XNN_EXTRA_BYTES + kAlignment - 1) / kAlignment * kAlignment;
      next = memory == nullptr ? nullptr : static_cast<float*>(memory) + size / sizeof(float);
    }
  }

  static constexpr size_t kAlignment = 64;
  float* values = nullptr;    // [products], and the values of a call of WinogradProducts
  float* filters = nullptr;   // a group's transformed filters, unless packed_ holds them
  float* zeros = nullptr;     // a pixel of padding
  float* products = nullptr;  // [products][tiles][columns of a group]
  float* unused = nullptr;    // receives pixels of a tile outside the output
  size_t size = 0;            // bytes in total
};

size_t WinogradStep::group_panels() const {
  return std::min(panels(), std::max<size_t>(1, kColumns / products_.columns));
}

Step::Plan WinogradStep::plan(const std::vector<Shape>& in, size_t threads) {
  image_ = in[0];
  out_ = *shape(in);
  tile_rows_ = ceil_div(out_[1], form_.rows.results);
  tile_columns_ = ceil_div(out_[2], form_.columns.results);
  tiles_ = out_[0] * tile_rows_ * tile_columns_;
  // If each unit transforms the filters, do not count the products: units are then larger, and there are fewer
  // transforms of filters.
  const size_t columns = keeps_values_ ? group_panels() * products_.columns : 0;
  const size_t tile_size = form_.products() * (convolution_.in_channels + columns) * sizeof(float);
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
  return {row / tile_rows_, row % tile_rows_ * form_.rows.results, tile % tile_columns_ * form_.columns.results};
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
  const Window& window = convolution_.window;
  const size_t channels = convolution_.in_channels, width = form_.columns.products();
  const size_t depth = products_.depth_of(channels);
  std::fill_n(scratch.zeros, channels, 0.0f);
  for_calls(tiles.count, [&](size_t first, size_t count) {
    const size_t tile_stride = products_.interleaves ? WinogradProducts::kTogether : channels;
    for (size_t tile = 0; tile < count; ++tile) {
      const Place place = place_of(tiles.first + first + tile);
      const float* pixels[kMostWinogradProducts];
      for (size_t i = 0; i < form_.products(); ++i) {
        // Above and left of the image, these wrap to huge numbers.
        const size_t row = place.row * window.stride_height + i / width - window.padding_top;
        const size_t column = place.column * window.stride_width + i % width - window.padding_left;
        const bool is_inside = row < image_[1] && column < image_[2];
        pixels[i] =
            is_inside ? image + ((place.image * image_[1] + row) * image_[2] + column) * channels : scratch.zeros;
      }
      transform_tile(form_, pixels, channels, scratch.values + first * depth + tile * tile_stride, tiles.count * depth,
                     products_.interleaves ? count : 1);
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
    for (size_t value = 0; value < form_.values(); ++value) {
      // restore_tile() adds the biases, after the sum over the points.
      std::fill_n(panel + value * values.value_stride, width, 0.0f);
    }
    const size_t depth = convolution_.in_channels;
    transform_filters(form_, filters() + (panels.first + i) * depth * kWinogradTaps * width, depth, width,
                      panel + width, values.value_stride);
  }
  return values;
}

void WinogradStep::multiply(Part tiles, const Values& filters, size_t columns, const Scratch& scratch) const {
  const size_t channels = convolution_.in_channels, depth = products_.depth_of(channels);
  for (size_t point = 0; point < form_.products(); ++point) {
    for_calls(tiles.count, [&](size_t first, size_t count) {
      const size_t tile = point * tiles.count + first;
      products_.multiply(count, columns, channels, scratch.values + tile * depth,
                         filters.at + form_.value_of(point) * filters.value_stride, scratch.products + tile * columns);
    });
  }
}

void WinogradStep::restore(float* out, Part tiles, Part columns, const Scratch& scratch) const {
  for (size_t tile = 0; tile < tiles.count; ++tile) {
    const Place place = place_of(tiles.first + tile);
    float* pixels[kMostWinogradResults];
    for (size_t i = 0; i < form_.results(); ++i) {
      const size_t row = place.row + i / form_.columns.results, column = place.column + i % form_.columns.results;
      const bool is_inside = row < out_[1] && column < out_[2];
      pixels[i] = is_inside ? out + ((place.image * out_[1] + row) * out_[2] + column) * out_[3] + columns.first
                            : scratch.unused;
    }
    restore_tile(form_, scratch.products + tile * columns.count, tiles.count * columns.count, columns.count,
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
