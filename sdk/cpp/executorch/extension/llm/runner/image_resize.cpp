// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/llm/runner/image_resize.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include <executorch/runtime/core/error.h>

namespace executorch {
namespace extension {
namespace llm {
namespace internal {

using runtime::Error;
using runtime::Result;

namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr int kFractionBits = 22;  // of a weight; a pixel has 8 bits and a sum 2 more: 32 in all
constexpr int64_t kMostPixels = int64_t{4096} * 4096;

double sinc(double x) {
  return x == 0.0 ? 1.0 : std::sin(x * kPi) / (x * kPi);
}

/// The distance from its center to which a filter reads.
double reach_of(Resample resample) {
  switch (resample) {
    case Resample::kLanczos:
      return 3.0;
    case Resample::kBicubic:
      return 2.0;
    default:
      return 1.0;
  }
}

double weight_of(Resample resample, double x) {
  switch (resample) {
    case Resample::kLanczos:
      return x >= -3.0 && x < 3.0 ? sinc(x) * sinc(x / 3.0) : 0.0;
    case Resample::kBicubic: {
      constexpr double a = -0.5;
      x = std::fabs(x);
      if (x < 1.0) {
        return ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0;
      }
      return x < 2.0 ? (((x - 5.0) * x + 8.0) * x - 4.0) * a : 0.0;
    }
    default:
      x = std::fabs(x);
      return x < 1.0 ? 1.0 - x : 0.0;
  }
}

/// The weights of the `count` source pixels from `first` on for one result pixel.
struct Taps {
  int32_t first;
  int32_t count;
  size_t at;  // offset in the weights of all pixels
};

struct Filter {
  std::vector<Taps> taps;
  std::vector<int32_t> weights;
};

Filter filter_for(int32_t from, int32_t to, Resample resample) {
  const double scale = static_cast<double>(from) / to;
  const double widened = std::max(scale, 1.0);
  const double reach = reach_of(resample) * widened;
  Filter filter;
  filter.taps.reserve(static_cast<size_t>(to));
  std::vector<double> weights;
  for (int32_t i = 0; i < to; i++) {
    const double center = (i + 0.5) * scale;
    const int32_t first = std::max(static_cast<int32_t>(center - reach + 0.5), 0);
    const int32_t end = std::min(static_cast<int32_t>(center + reach + 0.5), from);
    weights.clear();
    double sum = 0;
    for (int32_t x = first; x < end; x++) {
      weights.push_back(weight_of(resample, (x - center + 0.5) * (1.0 / widened)));
      sum += weights.back();
    }
    filter.taps.push_back({first, end - first, filter.weights.size()});
    for (double weight : weights) {
      weight = (sum != 0.0 ? weight / sum : weight) * (1 << kFractionBits);
      filter.weights.push_back(static_cast<int32_t>(weight < 0 ? weight - 0.5 : weight + 0.5));
    }
  }
  return filter;
}

uint8_t rounded(int32_t sum) {
  return static_cast<uint8_t>(std::clamp(sum >> kFractionBits, 0, 255));
}

/// Resamples `rows` rows of `from` pixels to the number of pixels of the filter.
std::vector<uint8_t> scaled_rows(const std::vector<uint8_t>& in, size_t rows, size_t from, const Filter& filter) {
  std::vector<uint8_t> out(rows * filter.taps.size());
  uint8_t* next = out.data();
  for (size_t row = 0; row < rows; row++) {
    const uint8_t* const pixels = in.data() + row * from;
    for (const Taps& taps : filter.taps) {
      int32_t sum = 1 << (kFractionBits - 1);
      for (int32_t i = 0; i < taps.count; i++) {
        sum += pixels[taps.first + i] * filter.weights[taps.at + static_cast<size_t>(i)];
      }
      *next++ = rounded(sum);
    }
  }
  return out;
}

/// Resamples planes of `from` rows of `width` pixels to the number of rows of the filter.
std::vector<uint8_t> scaled_columns(const std::vector<uint8_t>& in, size_t planes, size_t from, size_t width,
                                    const Filter& filter) {
  std::vector<uint8_t> out(planes * filter.taps.size() * width);
  std::vector<int32_t> sums(width);
  uint8_t* next = out.data();
  for (size_t plane = 0; plane < planes; plane++) {
    for (const Taps& taps : filter.taps) {
      std::fill(sums.begin(), sums.end(), 1 << (kFractionBits - 1));
      for (int32_t i = 0; i < taps.count; i++) {
        const int32_t weight = filter.weights[taps.at + static_cast<size_t>(i)];
        const uint8_t* const pixels = in.data() + (plane * from + static_cast<size_t>(taps.first + i)) * width;
        for (size_t x = 0; x < width; x++) {
          sums[x] += pixels[x] * weight;
        }
      }
      next = std::transform(sums.begin(), sums.end(), next, rounded);
    }
  }
  return out;
}

}  // namespace

Result<Image> resized(const Image& image, int32_t width, int32_t height, Resample resample) {
  ET_CHECK_OR_RETURN_ERROR(image.is_uint8(), InvalidArgument,
                           "a picture of float32 cannot be scaled: give its pixels as uint8, or one of the size that "
                           "the program takes");
  const auto view = image.toTensor();
  if (!view.ok()) {
    return view.error();
  }
  // Between the two passes, the picture has one old side and one new side.
  const int64_t most_between = std::max(int64_t{image.width()} * image.height(), kMostPixels);
  ET_CHECK_OR_RETURN_ERROR(
      width > 0 && height > 0 && int64_t{width} * height <= kMostPixels &&
          int64_t{width} * image.height() <= most_between && int64_t{height} * image.width() <= most_between,
      InvalidArgument,
      "a picture of %d x %d pixels cannot be scaled to %d x %d: expected sides above 0, and at most "
      "%lld pixels, or as many as the picture has while one side is scaled",
      image.width(), image.height(), width, height, static_cast<long long>(kMostPixels));
  std::vector<uint8_t> made;
  const std::vector<uint8_t>* pixels = &image.get_uint8_data();
  const auto keep = [&](std::vector<uint8_t> scaled) {
    made = std::move(scaled);
    pixels = &made;
  };
  const auto planes = static_cast<size_t>(image.channels());
  const auto scale_columns = [&](int32_t present_width) {
    if (height != image.height()) {
      keep(scaled_columns(*pixels, planes, static_cast<size_t>(image.height()), static_cast<size_t>(present_width),
                          filter_for(image.height(), height, resample)));
    }
  };
  // Pillow begins with the columns where they lose more than twice as many pixels as the rows; between the two passes,
  // results are rounded.
  const bool columns_first = image.height() - height > 2 * std::max(0, image.width() - width);
  if (columns_first) {
    scale_columns(image.width());
  }
  if (width != image.width()) {
    const int32_t rows = columns_first ? height : image.height();
    keep(scaled_rows(*pixels, planes * static_cast<size_t>(rows), static_cast<size_t>(image.width()),
                     filter_for(image.width(), width, resample)));
  }
  if (!columns_first) {
    scale_columns(width);
  }
  return pixels == &made ? Image(std::move(made), width, height, image.channels()) : image;
}

Image cropped(const Image& image, int32_t left, int32_t top, int32_t width, int32_t height) {
  const std::vector<uint8_t>& pixels = image.get_uint8_data();
  std::vector<uint8_t> part(static_cast<size_t>(width) * static_cast<size_t>(height) *
                            static_cast<size_t>(image.channels()));
  const int32_t first_x = std::max(left, 0);
  const int32_t count = std::min(left + width, image.width()) - first_x;
  uint8_t* row = part.data();
  for (int32_t channel = 0; channel < image.channels(); channel++) {
    for (int32_t y = top; y < top + height; y++, row += width) {
      if (y < 0 || y >= image.height() || count <= 0) {
        continue;
      }
      const size_t start =
          (static_cast<size_t>(channel) * static_cast<size_t>(image.height()) + static_cast<size_t>(y)) *
          static_cast<size_t>(image.width());
      const uint8_t* const from = pixels.data() + start + first_x;
      std::copy(from, from + count, row + (first_x - left));
    }
  }
  return {std::move(part), width, height, image.channels()};
}

}  // namespace internal
}  // namespace llm
}  // namespace extension
}  // namespace executorch
