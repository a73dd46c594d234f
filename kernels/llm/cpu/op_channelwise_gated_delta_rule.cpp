// SPDX-License-Identifier: BSD-3-Clause
// llama::channelwise_gated_delta_rule.out: linear attention whose state (keys, values) forgets each key channel at its
// own rate. For each position, in order:
//
//   S <- diag(decay) S;   S <- S + key (value - S^T key)^T beta;   out = S^T query
#include <executorch/extension/llm/custom_ops/op_sdpa.h>
#include <executorch/runtime/kernel/thread_parallel_interface.h>

#include <algorithm>
#include <cinttypes>
#include <initializer_list>
#include <tuple>

#include "kernels/portable/cpu/pattern/checks.h"

namespace torch::executor::native {

using executorch::extension::internal::grain_for;
using executorch::extension::internal::GRAIN_SIZE;
using executorch::runtime::tensor_is_default_dim_order;

namespace {

// Columns of the state do not depend on each other. These are computed together, with their sums on the stack.
constexpr int64_t kColumns = 32;

struct Arguments {
  const Tensor& query;
  const Tensor& key;
  const Tensor& value;
  const Tensor& decay;
  const Tensor& beta;
  const Tensor& initial_state;
};

struct Sizes {
  int64_t heads;  // of all batches
  int64_t positions, keys, values;

  int64_t units() const { return heads * ((values + kColumns - 1) / kColumns); }
};

bool check_shape(KernelRuntimeContext& ctx, const char* op, const char* name, const Tensor& tensor,
                 std::initializer_list<ssize_t> expected) {
  ET_KERNEL_CHECK_MSG(ctx, tensor.scalar_type() == ScalarType::Float, InvalidArgument, false,
                      "%s: %s must be Float, found %s", op, name, toString(tensor.scalar_type()));
  ET_KERNEL_CHECK_MSG(ctx, tensor.dim() == static_cast<ssize_t>(expected.size()), InvalidArgument, false,
                      "%s: %s must have %zu dimensions, found %zd", op, name, expected.size(),
                      static_cast<ssize_t>(tensor.dim()));
  ssize_t dim = 0;
  for (const ssize_t size : expected) {
    ET_KERNEL_CHECK_MSG(ctx, tensor.size(dim) == size, InvalidArgument, false,
                        "%s: dimension %zd of %s is %zd, and must be %zd", op, dim, name,
                        static_cast<ssize_t>(tensor.size(dim)), size);
    ++dim;
  }
  ET_KERNEL_CHECK_MSG(ctx, tensor_is_default_dim_order(tensor), InvalidArgument, false,
                      "%s: %s must be in the default dim order", op, name);
  return true;
}

bool check_arguments(KernelRuntimeContext& ctx, const char* op, const Arguments& a) {
  ET_KERNEL_CHECK_MSG(ctx, a.query.dim() == 4 && a.value.dim() == 4, InvalidArgument, false,
                      "%s: expected (batch, heads, positions, width); query has %zd dimensions and value %zd", op,
                      static_cast<ssize_t>(a.query.dim()), static_cast<ssize_t>(a.value.dim()));
  const ssize_t batch = a.query.size(0), heads = a.query.size(1), positions = a.query.size(2), keys = a.query.size(3);
  const ssize_t values = a.value.size(3);
  return check_shape(ctx, op, "query", a.query, {batch, heads, positions, keys}) &&
         check_shape(ctx, op, "key", a.key, {batch, heads, positions, keys}) &&
         check_shape(ctx, op, "value", a.value, {batch, heads, positions, values}) &&
         check_shape(ctx, op, "decay", a.decay, {batch, heads, positions, keys}) &&
         check_shape(ctx, op, "beta", a.beta, {batch, heads, positions}) &&
         check_shape(ctx, op, "initial_state", a.initial_state, {batch, heads, keys, values});
}

bool check_results(KernelRuntimeContext& ctx, const char* op, const Arguments& a, Tensor& out, Tensor& state) {
  ET_KERNEL_CHECK_MSG(ctx, out.scalar_type() == ScalarType::Float && state.scalar_type() == ScalarType::Float,
                      InvalidArgument, false, "%s: the results must be Float, found %s and %s", op,
                      toString(out.scalar_type()), toString(state.scalar_type()));
  if (!check_resize_like(ctx, op, out, a.value) || !check_resize_like(ctx, op, state, a.initial_state)) {
    return false;
  }
  ET_KERNEL_CHECK_MSG(ctx, tensor_is_default_dim_order(out) && tensor_is_default_dim_order(state), InvalidArgument,
                      false, "%s: the results must be in the default dim order", op);
  for (const Tensor* read : {&a.query, &a.key, &a.value, &a.decay, &a.beta, &a.initial_state}) {
    if (!check_no_overlap(ctx, op, *read, out) || !check_no_overlap(ctx, op, *read, state)) {
      return false;
    }
  }
  return check_no_overlap(ctx, op, out, state);
}

// Computes all positions of one head, in `width` columns from the column to which `value`, `out` and `state` point.
// If kWidth > 0, it is the number of columns as a constant.
template <int64_t kWidth>
void run_columns(const Sizes& sizes, const float* query, const float* key, const float* decay, const float* beta,
                 const float* value, float* out, float* state, int64_t width) {
  const int64_t n = kWidth > 0 ? kWidth : width;
  float delta[kColumns], sum[kColumns];
  for (int64_t t = 0; t < sizes.positions; ++t) {
    std::fill_n(sum, n, 0.0f);
    for (int64_t k = 0; k < sizes.keys; ++k) {
      float* row = state + k * sizes.values;
      for (int64_t j = 0; j < n; ++j) {
        row[j] *= decay[k];
        sum[j] += row[j] * key[k];
      }
    }
    for (int64_t j = 0; j < n; ++j) {
      delta[j] = (value[j] - sum[j]) * beta[t];
      sum[j] = 0.0f;
    }
    for (int64_t k = 0; k < sizes.keys; ++k) {
      float* row = state + k * sizes.values;
      for (int64_t j = 0; j < n; ++j) {
        row[j] += key[k] * delta[j];
        sum[j] += row[j] * query[k];
      }
    }
    std::copy_n(sum, n, out);
    query += sizes.keys;
    key += sizes.keys;
    decay += sizes.keys;
    value += sizes.values;
    out += sizes.values;
  }
}

void run_unit(const Sizes& sizes, const Arguments& a, Tensor& out, Tensor& state, int64_t unit) {
  const int64_t blocks = sizes.units() / sizes.heads;
  const int64_t head = unit / blocks, column = unit % blocks * kColumns;
  const int64_t width = std::min(kColumns, sizes.values - column);
  const int64_t of_keys = head * sizes.positions * sizes.keys;
  const int64_t of_values = head * sizes.positions * sizes.values + column;
  const int64_t of_state = head * sizes.keys * sizes.values + column;
  // A tensor without elements may have a null pointer, to which no offset may be added.
  float* memory = nullptr;
  if (sizes.keys > 0) {
    memory = state.mutable_data_ptr<float>() + of_state;
    const float* initial = a.initial_state.const_data_ptr<float>() + of_state;
    for (int64_t k = 0; k < sizes.keys; ++k) {
      std::copy_n(initial + k * sizes.values, width, memory + k * sizes.values);
    }
  }
  if (sizes.positions == 0) {
    return;
  }
  const auto run = width == kColumns ? run_columns<kColumns> : run_columns<0>;
  run(sizes, a.query.const_data_ptr<float>() + of_keys, a.key.const_data_ptr<float>() + of_keys,
      a.decay.const_data_ptr<float>() + of_keys, a.beta.const_data_ptr<float>() + head * sizes.positions,
      a.value.const_data_ptr<float>() + of_values, out.mutable_data_ptr<float>() + of_values, memory, width);
}

}  // namespace

std::tuple<Tensor&, Tensor&> channelwise_gated_delta_rule_out(KernelRuntimeContext& ctx, const Tensor& query,
                                                              const Tensor& key, const Tensor& value,
                                                              const Tensor& decay, const Tensor& beta,
                                                              const Tensor& initial_state, Tensor& out,
                                                              Tensor& final_state_out) {
  const char* op = "channelwise_gated_delta_rule.out";
  const std::tuple<Tensor&, Tensor&> results(out, final_state_out);
  const Arguments arguments{query, key, value, decay, beta, initial_state};
  if (!check_arguments(ctx, op, arguments) || !check_results(ctx, op, arguments, out, final_state_out)) {
    return results;
  }
  const Sizes sizes{query.size(0) * query.size(1), query.size(2), query.size(3), value.size(3)};
  if (sizes.heads == 0 || sizes.values == 0) {
    return results;
  }
  const int64_t grain = grain_for(GRAIN_SIZE, {std::max<int64_t>(sizes.positions, 1), sizes.keys + 1, kColumns});
  executorch::extension::parallel_for(0, sizes.units(), grain, [&](int64_t begin, int64_t end) {
    for (int64_t unit = begin; unit < end; ++unit) {
      run_unit(sizes, arguments, out, final_state_out, unit);
    }
  });
  return results;
}

}  // namespace torch::executor::native
