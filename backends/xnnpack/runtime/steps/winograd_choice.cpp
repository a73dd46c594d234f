// SPDX-License-Identifier: BSD-3-Clause
#include "steps/winograd_choice.h"

#include <algorithm>

namespace executorch {
namespace backends {
namespace xnnpack {

namespace {

/// With fewer channels, the transforms cost more than the algorithm saves.
constexpr size_t kFewestChannels = 16;
/// The cost of transforming one channel of a tile to, or back from, one point of the form, in multiplications.
constexpr double kTransformWork = 5;
/// The cost of each transformed value of a filter, in multiplications, if filters are transformed in each run.
constexpr double kFilterWork = 4;
/// The algorithm applies if it takes at most this part of the work of direct convolution.
constexpr double kMostOfWhole = 0.8;

bool applies(const Convolution& convolution, const WinogradCosts& costs) {
  const Window& window = convolution.window;
  const size_t most_stride = costs.has_all_forms ? 2 : 1;
  return window.height == kWinogradWindow && window.width == kWinogradWindow &&
         window.stride_height == window.stride_width && window.stride_height <= most_stride &&
         window.dilation_height == 1 && window.dilation_width == 1 && !window.same &&
         convolution.in_channels >= kFewestChannels && convolution.out_channels >= kFewestChannels &&
         convolution.least < convolution.most;
}

/// The number of tiles for an output of this shape.
double tile_count(const Shape& out, const WinogradForm& form) {
  return static_cast<double>(out[0]) * static_cast<double>(ceil_div(out[1], form.rows.results)) *
         static_cast<double>(ceil_div(out[2], form.columns.results));
}

}  // namespace

std::optional<WinogradChoice> choose_winograd(const Convolution& convolution, const Shape& out,
                                              const WinogradCosts& costs) {
  if (!applies(convolution, costs)) {
    return std::nullopt;
  }
  const auto from = static_cast<double>(convolution.in_channels), to = static_cast<double>(convolution.out_channels);
  const double pixels = static_cast<double>(out[0]) * static_cast<double>(out[1]) * static_cast<double>(out[2]);
  const auto loading = [&](double numbers) { return costs.load_work * numbers * from * to; };
  double least_work = kMostOfWhole * std::max(pixels * kWinogradTaps * from * to, loading(kWinogradTaps));
  std::optional<WinogradChoice> best;
  const auto consider = [&](const WinogradForm& form, bool keeps_values, double work) {
    if (work < least_work) {
      least_work = work;
      best = {form, keeps_values};
    }
  };
  for (const WinogradForm& form : kWinogradForms) {
    const double tiles = tile_count(out, form);
    if (form.rows.stride != convolution.window.stride_height || tiles < static_cast<double>(costs.fewest_tiles) ||
        (form.rows.results != form.columns.results && !costs.has_all_forms)) {
      continue;
    }
    const auto products = static_cast<double>(form.products()), values = static_cast<double>(form.values());
    const double transforms = tiles * products * kTransformWork * (from + to), gemm = tiles * products * from * to;
    const double in_run = std::max(gemm + values * kFilterWork * from * to, loading(kWinogradTaps));
    if (costs.load_work > 0) {
      consider(form, true, transforms + std::max(gemm, loading(values)));
      consider(form, false, transforms + in_run);
    } else {
      const auto stride = static_cast<double>(convolution.window.stride_height);
      const double image_and_result = pixels * (stride * stride * from + to);
      consider(form, (values - kWinogradTaps) * from * to <= image_and_result, transforms + in_run);
    }
  }
  return best;
}

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
