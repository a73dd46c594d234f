// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * Computes the boxes of an image from the output of a YOLO model.
 */
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

/// A box in pixels of the image, from its left upper corner.
struct Detection {
  float x, y, width, height;
  int32_t class_id;
  float confidence;
};

/// The position of the image in the model's input: scaled to `inner_width` x `inner_height` pixels, at `left`, `top`.
struct Placement {
  int32_t image_width, image_height;
  int32_t inner_width, inner_height;
  int32_t left, top;
};

/// Which boxes are kept.
struct Thresholds {
  /// The least score of the best class.
  float confidence = 0.25f;
  /// The most by which a box may overlap a better one of its class, as intersection over union.
  float overlap = 0.7f;
  /// The most boxes.
  size_t count = 300;
};

/// The boxes, by falling confidence. `output`: [channels, boxes], the rows of which are the centre's x and y, width and
/// height in pixels of the input, and a score for each class; `channels` is at least 5. Boxes whose centre or size is
/// not finite are left out; a score that is not a number is none.
std::vector<Detection> detections(const float* output, size_t channels, size_t boxes, const Placement& placement,
                                  const Thresholds& thresholds);
