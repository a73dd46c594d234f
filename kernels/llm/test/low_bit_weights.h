// SPDX-License-Identifier: BSD-3-Clause
// Random weights of low bits, and their packed form by the layout in packed.h.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "kernels/llm/cpu/lowbit/packed.h"

namespace torch::executor::native::low_bit {

/// A matrix and how its weights are stored.
struct Shape {
  int bits;
  int32_t group, rows, columns;
  bool minima = false, row_activations = false, wide = false;
  int32_t block_groups = 0;  // 0: scales have no factors
  bool signed_bytes = false;
};

/// Random weights of a shape, and their dequantised values.
struct Weights {
  explicit Weights(const Shape& s) : shape(s), zero_point(s.minima ? 0 : (1 << s.bits) / 2) {
    groups = (s.columns + s.group - 1) / s.group;
    uint32_t state = 7;
    const auto random = [&state](uint32_t below) {
      state = state * 1664525u + 1013904223u;
      return (state >> 8) % below;
    };
    for (int32_t i = 0; i < s.rows * s.columns; ++i) {
      q.push_back(static_cast<uint8_t>(random(1u << s.bits)));
    }
    for (int32_t i = 0; i < s.rows * groups; ++i) {  // few bits, so that float16 holds them
      if (s.block_groups > 0) {
        if (i % s.block_groups == 0) {
          factor.push_back(static_cast<float>(random(60) + 4) / 4096.0f);
          minimum_factor.push_back(static_cast<float>(random(60) + 4) / 4096.0f);
        }
        scale.push_back(factor.back() * (static_cast<float>(random(256)) - 128.0f));
        minimum.push_back(s.minima ? minimum_factor.back() * (static_cast<float>(random(256)) - 128.0f) : 0.0f);
        continue;
      }
      scale.push_back(static_cast<float>(random(60) + 4) / 64.0f);
      minimum.push_back(s.minima ? static_cast<float>(random(64)) / 32.0f : 0.0f);
    }
  }

  /// The value of a weight.
  double at(int64_t row, int64_t column) const {
    const size_t g = static_cast<size_t>(row * groups + column / shape.group);
    const int number = q[static_cast<size_t>(row * shape.columns + column)] - zero_point;
    return static_cast<double>(scale[g]) * number - static_cast<double>(minimum[g]);
  }

  static uint16_t half_of(float x) { return ::executorch::runtime::etensor::Half(x).x; }

  template <typename T>
  static void append(std::vector<uint8_t>* bytes, T value) {
    const size_t at = bytes->size();
    bytes->resize(at + sizeof(T));
    std::memcpy(bytes->data() + at, &value, sizeof(T));
  }

  /// The bytes that the kernels read.
  std::vector<uint8_t> packed() const {
    std::vector<uint8_t> bytes;
    append(&bytes, kPackedMagic);
    append(&bytes, static_cast<uint8_t>(shape.bits));
    append(&bytes, static_cast<uint8_t>((shape.minima ? kMinima : 0) | (shape.row_activations ? kRowActivations : 0) |
                                        (shape.wide ? kWideScales : 0) | (shape.block_groups > 0 ? kBlockFactors : 0) |
                                        (shape.signed_bytes ? kSignedBytes : 0)));
    append(&bytes, static_cast<uint16_t>(zero_point));
    for (const int32_t number : {shape.group, shape.rows, shape.columns, shape.block_groups}) {
      append(&bytes, static_cast<uint32_t>(number));
    }
    bytes.resize(kPackedHeaderBytes);
    for (int32_t tile = 0; tile < shape.rows; tile += 16) {
      append_tile(&bytes, tile);
    }
    return bytes;
  }

  void append_tile(std::vector<uint8_t>* bytes, int32_t first) const {
    if (shape.row_activations) {
      for (int32_t row = first; row < first + 16; ++row) {
        double sum = 0;
        for (int32_t column = 0; row < shape.rows && column < shape.columns; ++column) {
          sum += at(row, column);
        }
        append(bytes, static_cast<float>(sum));
      }
    }
    const int32_t block_groups = std::max(shape.block_groups, 1);
    for (int32_t g = 0; g < groups; ++g) {
      const auto factor_of = [&](const std::vector<float>& factors, int32_t row) {
        return row < shape.rows ? factors[static_cast<size_t>((row * groups + g) / block_groups)] : 0.0f;
      };
      for (const bool minima : {false, true}) {
        for (int32_t row = first; row < first + 16 && shape.block_groups > 0 && g % block_groups == 0; ++row) {
          if (!minima || shape.minima) {
            append(bytes, half_of(factor_of(minima ? minimum_factor : factor, row)));
          }
        }
      }
      for (const bool minima : {false, true}) {
        for (int32_t row = first; row < first + 16 && (!minima || shape.minima); ++row) {
          const auto& numbers = minima ? minimum : scale;
          const float number = row < shape.rows ? numbers[static_cast<size_t>(row * groups + g)] : 0.0f;
          if (shape.block_groups > 0) {
            const float divisor = row < shape.rows ? factor_of(minima ? minimum_factor : factor, row) : 1.0f;
            append(bytes, static_cast<int8_t>(number / divisor));
          } else {
            shape.wide ? append(bytes, number) : append(bytes, half_of(number));
          }
        }
      }
      for (int32_t column = g * shape.group; column < (g + 1) * shape.group;
           column += static_cast<int32_t>(unit_of(shape.bits))) {
        append_unit(bytes, first, column);
      }
    }
  }

  void append_unit(std::vector<uint8_t>* bytes, int32_t first, int32_t first_column) const {
    int above = 0;
    for (const int plane : {8, 4, 2, 1}) {
      if ((shape.bits & plane) == 0) {
        continue;
      }
      const size_t start = bytes->size();
      const int64_t parts = 8 / plane;
      bytes->resize(start + static_cast<size_t>(64 * unit_of(shape.bits) / 4 / parts));
      for (int32_t row = first; row < std::min(first + 16, shape.rows); ++row) {
        for (int32_t c = 0; c < unit_of(shape.bits) && first_column + c < shape.columns; ++c) {
          const int weight = q[static_cast<size_t>(row * shape.columns + first_column + c)];
          const int part = (weight >> above) & ((1 << plane) - 1);
          const int64_t block = c / 4 / parts, shift = c / 4 % parts * plane;
          (*bytes)[start + static_cast<size_t>(block * 64 + (row - first) * 4 + c % 4)] |=
              static_cast<uint8_t>(part << shift);
        }
      }
      for (size_t i = start; shape.signed_bytes && i < bytes->size(); ++i) {
        (*bytes)[i] ^= 0x80;
      }
      above += plane;
    }
  }

  Shape shape;
  int zero_point;
  int32_t groups;
  std::vector<uint8_t> q;
  std::vector<float> scale, minimum;
  std::vector<float> factor, minimum_factor;  // of the blocks of each row
};

}  // namespace torch::executor::native::low_bit
