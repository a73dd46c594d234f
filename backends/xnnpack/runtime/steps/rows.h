// SPDX-License-Identifier: BSD-3-Clause
// Functions on rows of floats, for the best instruction set of the machine.
#pragma once

#include <cstddef>
#include <cstdint>

namespace executorch {
namespace backends {
namespace xnnpack {

/// (x - mean) / sqrt(variance + eps) * weight[i] + bias[i] of each row; weight and bias may be null.
void layer_norm(const float* in, float* out, size_t rows, size_t width, float eps, const float* weight,
                const float* bias);

/// x / sqrt(mean of squares + eps) * weight[i] of each row; weight may be null.
void rms_norm(const float* in, float* out, size_t rows, size_t width, float eps, const float* weight);

/// The approximation of gelu by tanh.
void gelu_tanh(const float* in, float* out, size_t count);

/// Attention for some rows of one head: softmax(scale q k^T + mask) v. Strides are in elements, and the elements of a
/// row are contiguous. The output of a row that attends to no key is 0.
struct AttentionRows {
  size_t rows = 0;         ///< of q
  size_t keys = 0;         ///< rows of k and v
  size_t width = 0;        ///< of a row of q and k
  size_t value_width = 0;  ///< of a row of v
  const float* q = nullptr;
  size_t q_stride = 0;
  const float* k = nullptr;
  size_t k_stride = 0;
  const float* v = nullptr;
  size_t v_stride = 0;
  float* out = nullptr;
  size_t out_stride = 0;
  float scale = 1;
  /// mask[row * mask_row_stride + key * mask_key_stride] is added to the score. With is_truth, 0 excludes the key.
  const float* mask = nullptr;
  size_t mask_row_stride = 0;
  size_t mask_key_stride = 0;
  bool is_truth = false;
  /// Row i attends only to keys 0 to first_row + i.
  bool is_causal = false;
  size_t first_row = 0;
};

/// Floats of scratch memory for attention().
size_t attention_scratch(size_t keys, size_t width, size_t value_width);

void attention(const AttentionRows& rows, float* scratch);

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
