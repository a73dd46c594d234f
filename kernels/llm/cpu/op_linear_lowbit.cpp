// SPDX-License-Identifier: BSD-3-Clause
// torchao::_linear_8bit_act_{1..8}bit_weight.out and llama::linear_packed.out: activations (..., k) times the transpose
// of packed weights (n, k). The names with different bits are one kernel: the weights say how many bits they have.
#include <algorithm>
#include <cinttypes>

#include <executorch/runtime/kernel/thread_parallel_interface.h>

#include "kernels/llm/cpu/lowbit/multiply.h"
#include "kernels/portable/cpu/pattern/checks.h"

namespace torch::executor::native {

using executorch::extension::internal::grain_for;
using executorch::extension::internal::GRAIN_PRODUCTS;
using executorch::extension::internal::GRAIN_SIZE;
using executorch::runtime::tensor_is_default_dim_order;

namespace {

// Rows whose int8 activations are in memory at a time.
constexpr int64_t kChunkRows = 128;

// Checks the arguments and resizes `out`.
bool check_arguments(KernelRuntimeContext& ctx, const char* op, const Tensor& activations, const Tensor& packed,
                     int64_t n, int64_t k, Tensor& out, PackedWeights* weights) {
  if (!read_packed(ctx, op, packed, n, k, weights)) {
    return false;
  }
  ET_KERNEL_CHECK_MSG(ctx, activations.scalar_type() == ScalarType::Float && out.scalar_type() == ScalarType::Float,
                      InvalidArgument, false, "%s: activations and output must be Float; found %s and %s", op,
                      toString(activations.scalar_type()), toString(out.scalar_type()));
  ET_KERNEL_CHECK_MSG(ctx, tensor_is_default_dim_order(activations) && tensor_is_default_dim_order(out),
                      InvalidArgument, false, "%s: activations and output must be in the default dim order", op);
  const int64_t dims = activations.dim();
  ET_KERNEL_CHECK_MSG(ctx, dims > 0 && activations.size(dims - 1) == k, InvalidArgument, false,
                      "%s: rows of activations must have %" PRId64 " elements, as the weights have columns; found %zd",
                      op, k, dims == 0 ? ssize_t{0} : static_cast<ssize_t>(activations.size(dims - 1)));
  int64_t sizes[kTensorDimensionLimit];
  std::copy_n(activations.sizes().data(), dims, sizes);
  sizes[dims - 1] = n;
  return check_resize(ctx, op, out, sizes, static_cast<size_t>(dims)) && check_no_overlap(ctx, op, activations, out);
}

int64_t grain_of_tiles(const PackedWeights& weights, int64_t rows) {
  return grain_for(GRAIN_PRODUCTS, {rows, kTileOutputs, weights.columns});
}

}  // namespace

Tensor& linear_8bit_act_out(KernelRuntimeContext& ctx, const Tensor& activations, const Tensor& packed_weights,
                            int64_t group_size, int64_t n, int64_t k, Tensor& out) {
  (void)group_size;  // the packed weights contain their group size
  const char* op = "_linear_8bit_act_weight.out";
  PackedWeights weights;
  if (!check_arguments(ctx, op, activations, packed_weights, n, k, out, &weights) || out.numel() == 0) {
    return out;
  }
  const int64_t all_rows = out.numel() / n;
  const int64_t chunk = std::min(all_rows, kChunkRows);
  const size_t bytes = static_cast<size_t>(quantized_bytes(weights, chunk));
  auto memory = ctx.allocate_temp(bytes, alignof(float));
  ET_KERNEL_CHECK_MSG(ctx, memory.ok(), MemoryAllocationFailed, out,
                      "%s: int8 activations need %zu bytes of temporary memory", op, bytes);
  for (int64_t first = 0; first < all_rows; first += chunk) {
    const QuantizedRows rows = place_rows(weights, std::min(chunk, all_rows - first), memory.get());
    const float* x = activations.const_data_ptr<float>() + first * k;
    float* y = out.mutable_data_ptr<float>() + first * n;
    executorch::extension::parallel_for(
        0, rows.blocks(), grain_for(GRAIN_SIZE, {rows.interleave, weights.columns}),
        [&](int64_t begin, int64_t end) { quantize_blocks(weights, x, begin, end, rows); });
    executorch::extension::parallel_for(
        0, weights.tiles, grain_of_tiles(weights, rows.rows),
        [&](int64_t begin, int64_t end) { multiply_tiles(weights, rows, begin, end, y); });
  }
  return out;
}

Tensor& linear_packed_out(KernelRuntimeContext& ctx, const Tensor& activations, const Tensor& packed_weights,
                          int64_t group_size, int64_t n, int64_t k, Tensor& out) {
  (void)group_size;
  PackedWeights weights;
  if (!check_arguments(ctx, "linear_packed.out", activations, packed_weights, n, k, out, &weights) ||
      out.numel() == 0) {
    return out;
  }
  const int64_t rows = out.numel() / n;
  executorch::extension::parallel_for(0, weights.tiles, grain_of_tiles(weights, rows), [&](int64_t begin, int64_t end) {
    multiply_float_tiles(weights, activations.const_data_ptr<float>(), rows, begin, end, out.mutable_data_ptr<float>());
  });
  return out;
}

}  // namespace torch::executor::native
