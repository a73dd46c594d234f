// SPDX-License-Identifier: BSD-3-Clause
// llama::update_cache.out and update_cache_with_indices.out: new keys or values, written to a cache in place.
#include <executorch/extension/llm/custom_ops/op_update_cache.h>

#include <cinttypes>
#include <cstring>

#include "kernels/llm/cpu/cache.h"
#include "kernels/portable/cpu/pattern/checks.h"

namespace torch::executor::native {

using executorch::runtime::tensor_is_default_dim_order;

namespace {

// Whether both have the same batch, heads, width and dtype and are contiguous.
bool check_layout(KernelRuntimeContext& ctx, const char* op, const char* name, const Tensor& value,
                  const Tensor& cache) {
  ET_KERNEL_CHECK_MSG(ctx, value.dim() == 4 && cache.dim() == 4, InvalidArgument, false,
                      "%s: expected (batch, positions, heads, width); the value has %zd dimensions and %s %zd", op,
                      static_cast<ssize_t>(value.dim()), name, static_cast<ssize_t>(cache.dim()));
  ET_KERNEL_CHECK_MSG(ctx, value.scalar_type() == cache.scalar_type(), InvalidArgument, false,
                      "%s: %s is %s, and the value is %s; they must have one dtype", op, name,
                      toString(cache.scalar_type()), toString(value.scalar_type()));
  for (const int d : {0, 2, 3}) {
    ET_KERNEL_CHECK_MSG(ctx, value.size(d) == cache.size(d), InvalidArgument, false,
                        "%s: dimension %d of %s is %zd, and of the value %zd; only dimension 1 may differ", op, d, name,
                        static_cast<ssize_t>(cache.size(d)), static_cast<ssize_t>(value.size(d)));
  }
  ET_KERNEL_CHECK_MSG(ctx, tensor_is_default_dim_order(value) && tensor_is_default_dim_order(cache), InvalidArgument,
                      false, "%s: %s and the value must be in the default dim order", op, name);
  return true;
}

size_t position_bytes(const Tensor& cache) {
  return static_cast<size_t>(cache.size(2) * cache.size(3)) * static_cast<size_t>(cache.element_size());
}

// Whether `indices` gives a valid cache position for each position of each batch of `value`.
bool check_indices(KernelRuntimeContext& ctx, const char* op, const Tensor& value, const Tensor& cache,
                   const Tensor& indices) {
  ET_KERNEL_CHECK_MSG(
      ctx,
      indices.scalar_type() == ScalarType::Long && indices.dim() == 2 && indices.size(0) == value.size(0) &&
          indices.size(1) == value.size(1) && tensor_is_default_dim_order(indices),
      InvalidArgument, false,
      "%s: indices must be int64 of shape (%zd, %zd), one cache position for each written position; found %s "
      "with %zd dimensions",
      op, static_cast<ssize_t>(value.size(0)), static_cast<ssize_t>(value.size(1)), toString(indices.scalar_type()),
      static_cast<ssize_t>(indices.dim()));
  const int64_t* positions = indices.const_data_ptr<int64_t>();
  for (ssize_t i = 0; i < indices.numel(); ++i) {
    ET_KERNEL_CHECK_MSG(ctx, positions[i] >= 0 && positions[i] < cache.size(1), InvalidArgument, false,
                        "%s: index %zd is %" PRId64 "; the cache has positions 0 to %zd", op, i, positions[i],
                        static_cast<ssize_t>(cache.size(1)) - 1);
  }
  return true;
}

}  // namespace

bool check_cache(KernelRuntimeContext& ctx, const char* op, const char* name, const Tensor& value, const Tensor& cache,
                 int64_t start_pos) {
  if (!check_layout(ctx, op, name, value, cache)) {
    return false;
  }
  const int64_t length = value.size(1), positions = cache.size(1);
  // Not start_pos + length, which may overflow.
  ET_KERNEL_CHECK_MSG(ctx, start_pos >= 0 && start_pos <= positions && length <= positions - start_pos, InvalidArgument,
                      false,
                      "%s: %" PRId64 " position(s) from start_pos %" PRId64 " do not fit %s, which has %" PRId64
                      ": generate fewer tokens or export with a longer context",
                      op, length, start_pos, name, positions);
  return true;
}

void write_cache(const Tensor& value, Tensor& cache, int64_t start_pos) {
  const size_t bytes = position_bytes(cache);
  const size_t length = static_cast<size_t>(value.size(1)), positions = static_cast<size_t>(cache.size(1));
  if (bytes == 0 || length == 0) {
    return;
  }
  const char* from = static_cast<const char*>(value.const_data_ptr());
  char* to = static_cast<char*>(cache.mutable_data_ptr()) + static_cast<size_t>(start_pos) * bytes;
  for (ssize_t b = 0; b < cache.size(0); ++b) {
    std::memmove(to, from, length * bytes);
    from += length * bytes;
    to += positions * bytes;
  }
}

Tensor& update_cache_out(KernelRuntimeContext& ctx, const Tensor& value, Tensor& cache, int64_t start_pos,
                         Tensor& out) {
  if (check_cache(ctx, "update_cache.out", "the cache", value, cache, start_pos)) {
    write_cache(value, cache, start_pos);
  }
  return out;
}

Tensor& update_cache_with_indices_out(KernelRuntimeContext& ctx, const Tensor& value, Tensor& cache, int64_t start_pos,
                                      const Tensor& indices, Tensor& out) {
  const char* op = "update_cache_with_indices.out";
  if (!check_layout(ctx, op, "the cache", value, cache) || !check_indices(ctx, op, value, cache, indices)) {
    return out;
  }
  ET_KERNEL_CHECK_MSG(ctx, start_pos >= 0, InvalidArgument, out,
                      "%s: start_pos is %" PRId64 "; it must not be negative", op, start_pos);
  const size_t bytes = position_bytes(cache);
  if (bytes == 0 || value.size(1) == 0) {
    return out;
  }
  const int64_t* positions = indices.const_data_ptr<int64_t>();
  const char* from = static_cast<const char*>(value.const_data_ptr());
  char* to = static_cast<char*>(cache.mutable_data_ptr());
  for (ssize_t b = 0; b < value.size(0); ++b) {
    for (ssize_t i = 0; i < value.size(1); ++i, from += bytes) {
      std::memmove(to + static_cast<size_t>(*positions++) * bytes, from, bytes);
    }
    to += static_cast<size_t>(cache.size(1)) * bytes;
  }
  return out;
}

}  // namespace torch::executor::native
