// SPDX-License-Identifier: BSD-3-Clause
// llama::custom_sdpa.out and sdpa_with_kv_cache.out: attention over a cache of keys and values, (batch, positions,
// heads, width).
#include <executorch/extension/llm/custom_ops/op_sdpa.h>

#include <cinttypes>
#include <cmath>
#include <optional>

#include "kernels/llm/cpu/attention/attention.h"
#include "kernels/llm/cpu/cache.h"
#include "kernels/portable/cpu/pattern/checks.h"

namespace torch::executor::native {

using executorch::runtime::tensor_is_default_dim_order;

namespace {

/// The arguments that all variants have. One of the dimensions 1 and 2 counts positions, and the other heads.
struct SdpaArguments {
  const Tensor& query;
  const Tensor& key;
  const Tensor& value;
  int64_t start_pos;
  const std::optional<Tensor>& mask;
  double dropout;
  bool is_causal;
  std::optional<double> scale;
  bool is_seq_at_dim_2 = false;

  int positions() const { return is_seq_at_dim_2 ? 2 : 1; }
  int heads() const { return is_seq_at_dim_2 ? 1 : 2; }
};

bool row_type(ScalarType dtype, RowType* type) {
  switch (dtype) {
    case ScalarType::Float:
      *type = RowType::Float;
      return true;
    case ScalarType::Half:
      *type = RowType::Half;
      return true;
    case ScalarType::BFloat16:
      *type = RowType::BFloat16;
      return true;
    default:
      return false;
  }
}

bool mask_type(ScalarType dtype, MaskType* type) {
  switch (dtype) {
    case ScalarType::Float:
      *type = MaskType::Float;
      return true;
    case ScalarType::Half:
      *type = MaskType::Half;
      return true;
    case ScalarType::BFloat16:
      *type = MaskType::BFloat16;
      return true;
    case ScalarType::Bool:
      *type = MaskType::Bool;
      return true;
    default:
      return false;
  }
}

bool check_shapes(KernelRuntimeContext& ctx, const char* op, const SdpaArguments& args) {
  const Tensor &query = args.query, &key = args.key, &value = args.value;
  const int heads = args.heads();
  ET_KERNEL_CHECK_MSG(ctx, query.dim() == 4 && key.dim() == 4 && value.dim() == 4, InvalidArgument, false,
                      "%s: expected (batch, positions, heads, width); query has %zd dimensions, key %zd and value %zd",
                      op, static_cast<ssize_t>(query.dim()), static_cast<ssize_t>(key.dim()),
                      static_cast<ssize_t>(value.dim()));
  ET_KERNEL_CHECK_MSG(ctx, key.sizes() == value.sizes(), InvalidArgument, false,
                      "%s: key and value must have one shape", op);
  ET_KERNEL_CHECK_MSG(ctx, query.size(0) == key.size(0) && query.size(3) == key.size(3), InvalidArgument, false,
                      "%s: query and key must have one batch and one width; query has %zd x %zd and key %zd x %zd", op,
                      static_cast<ssize_t>(query.size(0)), static_cast<ssize_t>(query.size(3)),
                      static_cast<ssize_t>(key.size(0)), static_cast<ssize_t>(key.size(3)));
  ET_KERNEL_CHECK_MSG(ctx, query.size(3) <= kMaxAttentionWidth, NotSupported, false,
                      "%s: heads are %zd wide; at most %" PRId64 " are supported", op,
                      static_cast<ssize_t>(query.size(3)), kMaxAttentionWidth);
  const bool shares = query.size(heads) == 0 || (key.size(heads) > 0 && query.size(heads) % key.size(heads) == 0);
  ET_KERNEL_CHECK_MSG(ctx, shares, InvalidArgument, false,
                      "%s: the heads of query must be a multiple of those of key; found %zd and %zd", op,
                      static_cast<ssize_t>(query.size(heads)), static_cast<ssize_t>(key.size(heads)));
  ET_KERNEL_CHECK_MSG(
      ctx, tensor_is_default_dim_order(query) && tensor_is_default_dim_order(key) && tensor_is_default_dim_order(value),
      InvalidArgument, false, "%s: query, key and value must be in the default dim order", op);
  return true;
}

// Sets the mask, the causality and the number of visible keys.
bool set_visibility(KernelRuntimeContext& ctx, const char* op, const SdpaArguments& args, AttentionProblem* problem) {
  const int64_t queries = problem->queries, positions = problem->keys;
  ET_KERNEL_CHECK_MSG(ctx, args.start_pos >= 0 && args.start_pos <= positions && queries <= positions - args.start_pos,
                      InvalidArgument, false,
                      "%s: %" PRId64 " query position(s) from start_pos %" PRId64 " do not fit the %" PRId64
                      " position(s) of the keys",
                      op, queries, args.start_pos, positions);
  problem->first_position = args.start_pos;
  problem->is_causal = args.is_causal;
  if (!args.mask) {
    problem->keys = args.start_pos + queries;  // later positions have not been written
    return true;
  }
  const Tensor& mask = *args.mask;
  ET_KERNEL_CHECK_MSG(ctx, !args.is_causal, InvalidArgument, false,
                      "%s: attn_mask and is_causal cannot be given together; put the causal mask into attn_mask", op);
  ET_KERNEL_CHECK_MSG(ctx, mask.dim() == 2 && mask.size(0) == queries && mask.size(1) == positions, InvalidArgument,
                      false, "%s: attn_mask must be (%" PRId64 ", %" PRId64 "): query positions, positions of the keys",
                      op, queries, positions);
  ET_KERNEL_CHECK_MSG(ctx, mask_type(mask.scalar_type(), &problem->mask.type), InvalidArgument, false,
                      "%s: attn_mask must be Float, Half, BFloat16 or Bool; found %s", op,
                      toString(mask.scalar_type()));
  ET_KERNEL_CHECK_MSG(ctx, tensor_is_default_dim_order(mask), InvalidArgument, false,
                      "%s: attn_mask must be in the default dim order", op);
  problem->mask.data = mask.const_data_ptr();
  problem->mask.row_stride = positions;
  return true;
}

HeadRows rows_of(const Tensor& tensor, RowType type, const SdpaArguments& args) {
  HeadRows rows;
  rows.type = type;
  rows.data = tensor.const_data_ptr();
  const int64_t inner = tensor.size(2) * tensor.size(3), width = tensor.size(3);
  rows.row_stride = args.is_seq_at_dim_2 ? width : inner;
  rows.head_stride = args.is_seq_at_dim_2 ? inner : width;
  rows.batch_stride = tensor.size(1) * inner;
  return rows;
}

bool set_sizes(KernelRuntimeContext& ctx, const char* op, const SdpaArguments& args, Tensor& out,
               AttentionProblem* problem) {
  if (!check_shapes(ctx, op, args)) {
    return false;
  }
  ET_KERNEL_CHECK_MSG(ctx, args.dropout == 0.0, InvalidArgument, false,
                      "%s: drpout_p must be 0, as inference drops nothing; found %f", op, args.dropout);
  problem->batch = args.query.size(0);
  problem->queries = args.query.size(args.positions());
  problem->heads = args.query.size(args.heads());
  problem->width = args.query.size(3);
  problem->keys = args.key.size(args.positions());
  problem->key_heads = args.key.size(args.heads());
  problem->scale = args.scale ? static_cast<float>(*args.scale)
                              : 1.0f / std::sqrt(static_cast<float>(problem->width > 0 ? problem->width : 1));
  if (!set_visibility(ctx, op, args, problem) || !check_resize_like(ctx, op, out, args.query)) {
    return false;
  }
  ET_KERNEL_CHECK_MSG(ctx, tensor_is_default_dim_order(out), InvalidArgument, false,
                      "%s: out must be in the default dim order", op);
  return true;
}

// Checks all arguments.
bool plan_sdpa(KernelRuntimeContext& ctx, const char* op, const SdpaArguments& args, Tensor& out,
               AttentionProblem* problem) {
  RowType type;
  const ScalarType dtype = args.query.scalar_type();
  ET_KERNEL_CHECK_MSG(ctx, row_type(dtype, &type), InvalidArgument, false,
                      "%s: query must be Float, Half or BFloat16; found %s", op, toString(dtype));
  if (!check_same_dtype(ctx, op, args.query, args.key) || !check_same_dtype(ctx, op, args.query, args.value) ||
      !check_same_dtype(ctx, op, args.query, out) || !set_sizes(ctx, op, args, out, problem)) {
    return false;
  }
  problem->q = rows_of(args.query, type, args);
  problem->k = rows_of(args.key, type, args);
  problem->v = rows_of(args.value, type, args);
  problem->out = rows_of(out, type, args);
  problem->out_data = out.mutable_data_ptr();
  return true;
}

/// Scales and zero points of an int8 tensor: one of each for each row.
struct Quantization {
  const char* name;
  const std::optional<Tensor>& zero_points;
  const std::optional<Tensor>& scales;
};

// Whether `parameters` has the shape of `tensor` with a last dimension of 1.
bool is_one_for_each_row(const Tensor& parameters, const Tensor& tensor) {
  bool same = parameters.dim() == tensor.dim() && parameters.size(tensor.dim() - 1) == 1;
  for (ssize_t d = 0; same && d < tensor.dim() - 1; ++d) {
    same = parameters.size(d) == tensor.size(d);
  }
  return same && tensor_is_default_dim_order(parameters);
}

// The rows of an int8 tensor of four dimensions.
bool set_quantized_rows(KernelRuntimeContext& ctx, const char* op, const Tensor& tensor, const SdpaArguments& args,
                        const Quantization& q, HeadRows* rows) {
  ET_KERNEL_CHECK_MSG(ctx, q.zero_points && q.scales, InvalidArgument, false,
                      "%s: %s is int8 and needs its zero points and scales", op, q.name);
  ET_KERNEL_CHECK_MSG(
      ctx,
      q.scales->scalar_type() == ScalarType::Float && q.zero_points->scalar_type() == ScalarType::Char &&
          is_one_for_each_row(*q.scales, tensor) && is_one_for_each_row(*q.zero_points, tensor),
      InvalidArgument, false,
      "%s: %s needs scales of Float and zero points of Char, one for each row: its shape with a last dimension of 1",
      op, q.name);
  *rows = rows_of(tensor, RowType::Int8, args);
  const HeadRows parameters = rows_of(*q.scales, RowType::Float, args);
  rows->scales = q.scales->const_data_ptr<float>();
  rows->zero_points = q.zero_points->const_data_ptr<int8_t>();
  rows->parameter_batch_stride = parameters.batch_stride;
  rows->parameter_head_stride = parameters.head_stride;
  rows->parameter_row_stride = parameters.row_stride;
  return true;
}

}  // namespace

Tensor& custom_sdpa_out(KernelRuntimeContext& ctx, const Tensor& query, const Tensor& key, const Tensor& value,
                        int64_t start_pos, const std::optional<Tensor>& attn_mask, double dropout, bool is_causal,
                        std::optional<double> scale, Tensor& out) {
  const SdpaArguments args{query, key, value, start_pos, attn_mask, dropout, is_causal, scale};
  AttentionProblem problem;
  if (plan_sdpa(ctx, "custom_sdpa.out", args, out, &problem)) {
    attention(problem);
  }
  return out;
}

Tensor& sdpa_with_kv_cache_out(KernelRuntimeContext& ctx, const Tensor& query, const Tensor& key, const Tensor& value,
                               Tensor& key_cache, Tensor& value_cache, int64_t start_pos, int64_t seq_len,
                               const std::optional<Tensor>& attn_mask, double dropout, bool is_causal,
                               std::optional<double> scale, Tensor& out) {
  const char* op = "sdpa_with_kv_cache.out";
  if (!check_cache(ctx, op, "key_cache", key, key_cache, start_pos) ||
      !check_cache(ctx, op, "value_cache", value, value_cache, start_pos)) {
    return out;
  }
  ET_KERNEL_CHECK_MSG(ctx, seq_len == key.size(1) && seq_len == value.size(1), InvalidArgument, out,
                      "%s: seq_len is %" PRId64 ", but key has %zd positions and value %zd", op, seq_len,
                      static_cast<ssize_t>(key.size(1)), static_cast<ssize_t>(value.size(1)));
  const SdpaArguments args{query, key_cache, value_cache, start_pos, attn_mask, dropout, is_causal, scale};
  AttentionProblem problem;
  if (plan_sdpa(ctx, op, args, out, &problem)) {
    write_cache(key, key_cache, start_pos);
    write_cache(value, value_cache, start_pos);
    attention(problem);
  }
  return out;
}

Tensor& custom_quantized_sdpa_out(KernelRuntimeContext& ctx, const Tensor& query, const Tensor& key,
                                  const Tensor& value, int64_t start_pos, const std::optional<Tensor>& attn_mask,
                                  double dropout, bool is_causal, std::optional<double> scale,
                                  const std::optional<Tensor>& q_zero_points, const std::optional<Tensor>& q_scales,
                                  const std::optional<Tensor>& k_zero_points, const std::optional<Tensor>& k_scales,
                                  const std::optional<Tensor>& v_zero_points, const std::optional<Tensor>& v_scales,
                                  bool is_seq_at_dim_2, Tensor& out) {
  const char* op = "custom_quantized_sdpa.out";
  const SdpaArguments args{query, key, value, start_pos, attn_mask, dropout, is_causal, scale, is_seq_at_dim_2};
  const bool float_query = query.scalar_type() == ScalarType::Float;
  ET_KERNEL_CHECK_MSG(ctx,
                      (float_query || query.scalar_type() == ScalarType::Char) &&
                          key.scalar_type() == ScalarType::Char && out.scalar_type() == ScalarType::Float,
                      InvalidArgument, out,
                      "%s: query must be Char or Float, key Char and out Float; found %s, %s and %s", op,
                      toString(query.scalar_type()), toString(key.scalar_type()), toString(out.scalar_type()));
  AttentionProblem problem;
  if (!check_same_dtype(ctx, op, key, value) || !set_sizes(ctx, op, args, out, &problem) ||
      (!float_query && !set_quantized_rows(ctx, op, query, args, {"query", q_zero_points, q_scales}, &problem.q)) ||
      !set_quantized_rows(ctx, op, key, args, {"key", k_zero_points, k_scales}, &problem.k) ||
      !set_quantized_rows(ctx, op, value, args, {"value", v_zero_points, v_scales}, &problem.v)) {
    return out;
  }
  if (float_query) {
    problem.q = rows_of(query, RowType::Float, args);
  }
  problem.out = rows_of(out, RowType::Float, args);
  problem.out_data = out.mutable_data_ptr();
  attention(problem);
  return out;
}

}  // namespace torch::executor::native
