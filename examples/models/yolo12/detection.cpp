// SPDX-License-Identifier: BSD-3-Clause
#include "detection.h"

#include <algorithm>
#include <cmath>

namespace {

float overlap(const Detection& a, const Detection& b) {
  const float width = std::min(a.x + a.width, b.x + b.width) - std::max(a.x, b.x);
  const float height = std::min(a.y + a.height, b.y + b.height) - std::max(a.y, b.y);
  if (width <= 0 || height <= 0) {
    return 0;
  }
  const float common = width * height;
  return common / (a.width * a.height + b.width * b.height - common);
}

/// The position in the image, 0 to `length`, of a position in the input.
float to_image(float position, int32_t offset, int32_t inner, int32_t length) {
  const float scaled = (position - static_cast<float>(offset)) * static_cast<float>(length) / static_cast<float>(inner);
  return std::min(std::max(scaled, 0.0f), static_cast<float>(length));
}

}  // namespace

std::vector<Detection> detections(const float* output, size_t channels, size_t boxes, const Placement& placement,
                                  const Thresholds& thresholds) {
  std::vector<Detection> candidates;
  for (size_t box = 0; box < boxes; ++box) {
    const auto value = [&](size_t row) { return output[row * boxes + box]; };
    size_t best = 4;
    for (size_t row = 5; row < channels; ++row) {
      best = value(row) > value(best) || std::isnan(value(best)) ? row : best;
    }
    const bool is_finite =
        std::isfinite(value(0)) && std::isfinite(value(1)) && std::isfinite(value(2)) && std::isfinite(value(3));
    if (is_finite && value(best) >= thresholds.confidence) {
      candidates.push_back({value(0) - value(2) / 2, value(1) - value(3) / 2, value(2), value(3),
                            static_cast<int32_t>(best - 4), value(best)});
    }
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Detection& a, const Detection& b) { return a.confidence > b.confidence; });
  std::vector<Detection> kept;
  for (const Detection& candidate : candidates) {
    const auto hides = [&](const Detection& better) {
      return better.class_id == candidate.class_id && overlap(better, candidate) > thresholds.overlap;
    };
    if (kept.size() < thresholds.count && std::none_of(kept.begin(), kept.end(), hides)) {
      kept.push_back(candidate);
    }
  }
  for (Detection& box : kept) {
    const auto& at = placement;
    const float right = to_image(box.x + box.width, at.left, at.inner_width, at.image_width);
    const float bottom = to_image(box.y + box.height, at.top, at.inner_height, at.image_height);
    box.x = to_image(box.x, at.left, at.inner_width, at.image_width);
    box.y = to_image(box.y, at.top, at.inner_height, at.image_height);
    box.width = right - box.x;
    box.height = bottom - box.y;
  }
  return kept;
}
