// SPDX-License-Identifier: BSD-3-Clause
// torchao::_shared_embedding_{1..8}bit.out: rows of packed weights, which may be those of the output layer, as floats.
#include <algorithm>
#include <cinttypes>
#include <cstring>

#include <executorch/runtime/core/portable_type/half.h>

#include "kernels/llm/cpu/lowbit/packed.h"
#include "kernels/portable/cpu/pattern/checks.h"

namespace torch::executor::native {

using executorch::runtime::tensor_is_default_dim_order;

namespace {

float half_at(const uint8_t* from, int64_t lane) {
  executorch::runtime::etensor::Half value;
  std::memcpy(&value.x, from + lane * 2, sizeof(value.x));
  return static_cast<float>(value);
}

// The scale or minimum of row `lane`. `factors` are those of its block.
float parameter(const PackedWeights& w, const uint8_t* from, int64_t lane, const uint8_t* factors) {
  if (w.block_factors) {
    return half_at(factors, lane) * static_cast<float>(static_cast<int8_t>(from[lane]));
  }
  if (w.wide_scales) {
    float value;
    std::memcpy(&value, from + lane * 4, sizeof(value));
    return value;
  }
  return half_at(from, lane);
}

// The integer of a column of a unit, by the layout of packed.h.
int32_t weight_at(const PackedWeights& w, const uint8_t* unit, int64_t lane, int64_t column) {
  const int bits = w.bits;
  const int64_t byte = lane * 4 + column % 4, columns = column / 4, units = unit_of(bits);
  if (bits == 8) {
    return unit[columns * 64 + byte] ^ (w.signed_bytes ? 0x80 : 0);
  }
  int32_t value = 0, above = 0;
  for (const int plane : {4, 2, 1}) {
    if ((bits & plane) == 0) {
      continue;
    }
    const int64_t parts = 8 / plane;
    const int32_t packed = unit[columns / parts * 64 + byte];
    value |= ((packed >> (columns % parts * plane)) & ((1 << plane) - 1)) << above;
    above += plane;
    unit += 64 * units / 4 / parts;
  }
  return value;
}

void dequantize_row(const PackedWeights& w, int64_t row, float* out) {
  const int64_t lane = row % kTileOutputs, unit = unit_of(w.bits);
  const uint8_t* group = w.blocks_of(row / kTileOutputs);
  const uint8_t* factors = group;
  for (int64_t g = 0; g < w.groups; ++g, group += w.group_bytes) {
    if (g % w.block_groups == 0) {
      factors = group;
      group += w.factor_bytes;
    }
    const float scale = parameter(w, group, lane, factors);
    const float minimum = w.has_minima ? parameter(w, group + w.scale_bytes, lane, factors + kTileOutputs * 2) : 0.0f;
    const uint8_t* weights = group + w.scale_bytes * (w.has_minima ? 2 : 1);
    const int64_t count = std::min(w.group, w.columns - g * w.group);
    for (int64_t k = 0; k < count; ++k) {
      const int32_t number =
          weight_at(w, weights + k / unit * unit * kTileOutputs * w.bits / 8, lane, k % unit) - w.zero_point;
      out[g * w.group + k] = static_cast<float>(number) * scale - minimum;
    }
  }
}

}  // namespace

Tensor& shared_embedding_out(KernelRuntimeContext& ctx, const Tensor& packed_weights, int64_t group_size, int64_t n,
                             int64_t k, const Tensor& indices, Tensor& out) {
  (void)group_size;  // the packed weights contain their group size
  const char* op = "_shared_embedding.out";
  PackedWeights weights;
  if (!read_packed(ctx, op, packed_weights, n, k, &weights) || !check_index_dtype(ctx, op, indices)) {
    return out;
  }
  ET_KERNEL_CHECK_MSG(ctx,
                      out.scalar_type() == ScalarType::Float && tensor_is_default_dim_order(out) &&
                          tensor_is_default_dim_order(indices),
                      InvalidArgument, out, "%s: the output must be Float, and both in the default dim order; found %s",
                      op, toString(out.scalar_type()));
  const int64_t dims = indices.dim();
  ET_KERNEL_CHECK_MSG(ctx, dims < static_cast<int64_t>(kTensorDimensionLimit), InvalidArgument, out,
                      "%s: indices have %" PRId64 " dimensions; the result would have too many", op, dims);
  int64_t sizes[kTensorDimensionLimit];
  std::copy_n(indices.sizes().data(), dims, sizes);
  sizes[dims] = k;
  if (!check_resize(ctx, op, out, sizes, static_cast<size_t>(dims) + 1)) {
    return out;
  }
  for (int64_t i = 0; i < indices.numel(); ++i) {
    const int64_t index = index_at(indices, i);
    ET_KERNEL_CHECK_MSG(ctx, index >= 0 && index < n, InvalidArgument, out,
                        "%s: index %" PRId64 " is %" PRId64 "; the embedding has rows 0 to %" PRId64, op, i, index,
                        n - 1);
    dequantize_row(weights, index, out.mutable_data_ptr<float>() + i * k);
  }
  return out;
}

}  // namespace torch::executor::native
