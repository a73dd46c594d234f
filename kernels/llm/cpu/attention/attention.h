// SPDX-License-Identifier: BSD-3-Clause
// Scaled dot-product attention of queries over keys and values that lie in a cache.
#pragma once

#include <cstdint>

namespace torch::executor::native {

/// The dtype of the elements of a row.
enum class RowType { Float, Half, BFloat16, Int8 };

/// Rows of `width` elements, one after another, of each head of each batch. Strides count elements.
struct HeadRows {
  RowType type = RowType::Float;
  const void* data = nullptr;
  int64_t batch_stride = 0;
  int64_t head_stride = 0;
  int64_t row_stride = 0;

  /// Int8 only: an element's value is (element - zero_point) * scale, with a zero point and a scale for each row.
  const float* scales = nullptr;
  const int8_t* zero_points = nullptr;
  int64_t parameter_batch_stride = 0;
  int64_t parameter_head_stride = 0;
  int64_t parameter_row_stride = 0;
};

/// The dtype of a mask, whose elements are added to scores; a Bool mask hides the keys where it is false.
enum class MaskType { None, Float, Half, BFloat16, Bool };

struct AttentionMask {
  MaskType type = MaskType::None;
  const void* data = nullptr;
  int64_t row_stride = 0;  ///< from query to query; all heads share the rows, which have an element for each key
};

/// out = softmax(scale q k^T + mask) v of each head. Query head h reads head h / (heads / key_heads) of k and v. A
/// query that sees no key gives zeros, as in PyTorch; NaN gives NaN.
struct AttentionProblem {
  int64_t batch = 1;
  int64_t heads = 1;
  int64_t key_heads = 1;  ///< divides `heads`
  int64_t queries = 0;
  int64_t keys = 0;
  int64_t width = 0;  ///< of all rows; at most kMaxAttentionWidth

  HeadRows q;
  HeadRows k;
  HeadRows v;
  float scale = 1.0f;
  AttentionMask mask;
  /// Query i sees the keys up to first_position + i only.
  bool is_causal = false;
  int64_t first_position = 0;

  /// The results, in Float, Half or BFloat16, at `out_data` with the strides of `out`; out.data is not used.
  HeadRows out;
  void* out_data = nullptr;
};

/// With wider rows the tiles would not fit the stack.
constexpr int64_t kMaxAttentionWidth = 2048;

/// Runs on the threads of the pool; the result does not depend on their number. Needs 128 KiB of stack and no other
/// memory.
void attention(const AttentionProblem& problem);

}  // namespace torch::executor::native
