// SPDX-License-Identifier: BSD-3-Clause
// Attention over a cache by its definition, in double.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

namespace torch::executor::native {

/// (batch, positions, heads, width) numbers.
struct Rows {
  int64_t batch = 1, positions = 0, heads = 1, width = 0;
  std::vector<float> data;

  /// Numbers from -1 to 1 without a pattern.
  static Rows random(int64_t batch, int64_t positions, int64_t heads, int64_t width, uint32_t seed) {
    Rows rows{batch, positions, heads, width,
              std::vector<float>(static_cast<size_t>(batch * positions * heads * width))};
    uint32_t state = seed * 2654435761u + 12345u;
    for (float& x : rows.data) {
      state = state * 1664525u + 1013904223u;
      // Few bits, so that every type holds the number.
      x = static_cast<float>(state >> 24) / 128.0f - 1.0f;
    }
    return rows;
  }

  const float* at(int64_t b, int64_t position, int64_t head) const {
    return data.data() + ((b * positions + position) * heads + head) * width;
  }
  float* at(int64_t b, int64_t position, int64_t head) {
    return data.data() + ((b * positions + position) * heads + head) * width;
  }
};

struct Reference {
  int64_t start_pos = 0;
  bool is_causal = true;
  std::vector<float> mask;  ///< empty, or (positions of q, positions of k)
  std::optional<double> scale;

  std::vector<double> operator()(const Rows& q, const Rows& k, const Rows& v) const {
    std::vector<double> out;
    const double factor = scale ? *scale : 1.0 / std::sqrt(static_cast<double>(q.width));
    for (int64_t b = 0; b < q.batch; ++b) {
      for (int64_t s = 0; s < q.positions; ++s) {
        for (int64_t h = 0; h < q.heads; ++h) {
          const std::vector<double> row = one(q.at(b, s, h), k, v, b, s, h / (q.heads / k.heads), factor, q.positions);
          out.insert(out.end(), row.begin(), row.end());
        }
      }
    }
    return out;
  }

 private:
  std::vector<double> one(const float* q, const Rows& k, const Rows& v, int64_t b, int64_t s, int64_t h, double factor,
                          int64_t queries) const {
    const int64_t keys = !mask.empty() ? k.positions : is_causal ? start_pos + s + 1 : start_pos + queries;
    std::vector<double> scores, out(static_cast<size_t>(k.width));
    double largest = -std::numeric_limits<double>::infinity();
    for (int64_t key = 0; key < keys; ++key) {
      double sum = 0;
      for (int64_t i = 0; i < k.width; ++i) {
        sum += static_cast<double>(q[i]) * static_cast<double>(k.at(b, key, h)[i]);
      }
      sum *= factor;
      sum += mask.empty() ? 0.0 : static_cast<double>(mask[static_cast<size_t>(s * keys + key)]);
      scores.push_back(sum);
      largest = std::max(largest, sum);
    }
    if (largest == -std::numeric_limits<double>::infinity()) {
      return out;
    }
    double total = 0;
    for (double& score : scores) {
      score = std::exp(score - largest);
      total += score;
    }
    for (int64_t key = 0; key < keys; ++key) {
      for (int64_t i = 0; i < k.width; ++i) {
        out[static_cast<size_t>(i)] +=
            scores[static_cast<size_t>(key)] / total * static_cast<double>(v.at(b, key, h)[i]);
      }
    }
    return out;
  }
};

}  // namespace torch::executor::native
