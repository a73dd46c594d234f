// SPDX-License-Identifier: BSD-3-Clause
// llama::gated_delta_rule.out, and channelwise_gated_delta_rule.out, its name before ExecuTorch 1.5: linear attention
// whose state (keys, values) forgets each key channel at its own rate, or all at one rate. For each position, in order:
//
//   S <- diag(decay) S;   S <- S + key (value - S^T key)^T beta;   out = S^T query
//
// Several heads of queries may read the state of one head.
#include <executorch/extension/llm/custom_ops/op_sdpa.h>
#include <executorch/runtime/kernel/thread_parallel_interface.h>

#include <algorithm>
#include <array>
#include <cinttypes>
#include <initializer_list>
#include <tuple>
#include <utility>

#include "kernels/portable/cpu/pattern/checks.h"

namespace torch::executor::native {

using executorch::extension::internal::grain_for;
using executorch::extension::internal::GRAIN_SIZE;
using executorch::runtime::tensor_is_default_dim_order;

namespace {

// Columns of the state do not depend on each other. So many are computed together, with their sums on the stack.
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
  int64_t heads;   // states of all batches
  int64_t groups;  // heads of queries that read one state
  int64_t positions, keys, values;
  bool scalar_decay;  // one number for all keys of a position

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
  for (const auto& [tensor, name] :
       {std::pair(&a.query, "query"), std::pair(&a.key, "key"), std::pair(&a.value, "value")}) {
    ET_KERNEL_CHECK_MSG(ctx, tensor->dim() == 4, InvalidArgument, false,
                        "%s: expected (batch, heads, positions, width); %s has %zd dimensions", op, name,
                        static_cast<ssize_t>(tensor->dim()));
  }
  const ssize_t batch = a.query.size(0), heads = a.key.size(1), positions = a.query.size(2), keys = a.query.size(3);
  const ssize_t values = a.value.size(3), queries = a.query.size(1);
  ET_KERNEL_CHECK_MSG(ctx, heads == 0 ? queries == 0 : queries > 0 && queries % heads == 0, InvalidArgument, false,
                      "%s: %zd heads of queries cannot share %zd heads of keys: expected a multiple", op, queries,
                      heads);
  return check_shape(ctx, op, "query", a.query, {batch, queries, positions, keys}) &&
         check_shape(ctx, op, "key", a.key, {batch, heads, positions, keys}) &&
         check_shape(ctx, op, "value", a.value, {batch, heads, positions, values}) &&
         (a.decay.dim() == 3 ? check_shape(ctx, op, "decay", a.decay, {batch, heads, positions})
                             : check_shape(ctx, op, "decay", a.decay, {batch, heads, positions, keys})) &&
         check_shape(ctx, op, "beta", a.beta, {batch, heads, positions}) &&
         check_shape(ctx, op, "initial_state", a.initial_state, {batch, heads, keys, values});
}

bool check_results(KernelRuntimeContext& ctx, const char* op, const Arguments& a, Tensor& out, Tensor& state) {
  ET_KERNEL_CHECK_MSG(ctx, out.scalar_type() == ScalarType::Float && state.scalar_type() == ScalarType::Float,
                      InvalidArgument, false, "%s: the results must be Float, found %s and %s", op,
                      toString(out.scalar_type()), toString(state.scalar_type()));
  const std::array<int64_t, 4> sizes{a.query.size(0), a.query.size(1), a.query.size(2), a.value.size(3)};
  if (!check_resize(ctx, op, out, sizes.data(), sizes.size()) || !check_resize_like(ctx, op, state, a.initial_state)) {
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

// The memory that the positions of one state read and write, from the first column of a unit.
struct Rows {
  const float *query, *key, *value, *decay, *beta;
  float *out, *state;
};

// Computes all positions of one state, in `width` columns. If kWidth > 0, it is the number of columns as a constant.
template <int64_t kWidth>
void run_columns(const Sizes& sizes, Rows rows, int64_t width) {
  const int64_t n = kWidth > 0 ? kWidth : width;
  const int64_t decay_step = sizes.scalar_decay ? 0 : 1;
  float delta[kColumns], sum[kColumns];
  for (int64_t t = 0; t < sizes.positions; ++t) {
    std::fill_n(sum, n, 0.0f);
    for (int64_t k = 0; k < sizes.keys; ++k) {
      float* row = rows.state + k * sizes.values;
      const float decay = rows.decay[k * decay_step], key = rows.key[k];
      for (int64_t j = 0; j < n; ++j) {
        row[j] *= decay;
        sum[j] += row[j] * key;
      }
    }
    for (int64_t j = 0; j < n; ++j) {
      delta[j] = (rows.value[j] - sum[j]) * rows.beta[t];
      sum[j] = 0.0f;
    }
    for (int64_t k = 0; k < sizes.keys; ++k) {
      float* row = rows.state + k * sizes.values;
      const float key = rows.key[k], query = rows.query[k];
      for (int64_t j = 0; j < n; ++j) {
        row[j] += key * delta[j];
        sum[j] += row[j] * query;
      }
    }
    std::copy_n(sum, n, rows.out);
    for (int64_t group = 1; group < sizes.groups; ++group) {
      const float* query = rows.query + group * sizes.positions * sizes.keys;
      std::fill_n(sum, n, 0.0f);
      for (int64_t k = 0; k < sizes.keys; ++k) {
        for (int64_t j = 0; j < n; ++j) {
          sum[j] += rows.state[k * sizes.values + j] * query[k];
        }
      }
      std::copy_n(sum, n, rows.out + group * sizes.positions * sizes.values);
    }
    rows.query += sizes.keys;
    rows.key += sizes.keys;
    rows.decay += sizes.scalar_decay ? 1 : sizes.keys;
    rows.value += sizes.values;
    rows.out += sizes.values;
  }
}

void run_unit(const Sizes& sizes, const Arguments& a, Tensor& out, Tensor& state, int64_t unit) {
  const int64_t blocks = sizes.units() / sizes.heads;
  const int64_t head = unit / blocks, column = unit % blocks * kColumns;
  const int64_t width = std::min(kColumns, sizes.values - column);
  const int64_t position = head * sizes.positions;
  const int64_t of_keys = position * sizes.keys, of_values = position * sizes.values;
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
  Rows rows;
  rows.query = a.query.const_data_ptr<float>() + of_keys * sizes.groups;
  rows.key = a.key.const_data_ptr<float>() + of_keys;
  rows.value = a.value.const_data_ptr<float>() + of_values + column;
  rows.decay = a.decay.const_data_ptr<float>() + (sizes.scalar_decay ? position : of_keys);
  rows.beta = a.beta.const_data_ptr<float>() + position;
  rows.out = out.mutable_data_ptr<float>() + of_values * sizes.groups + column;
  rows.state = memory;
  (width == kColumns ? run_columns<kColumns> : run_columns<0>)(sizes, rows, width);
}

std::tuple<Tensor&, Tensor&> run(KernelRuntimeContext& ctx, const char* op, const Arguments& a, Tensor& out,
                                 Tensor& state) {
  const std::tuple<Tensor&, Tensor&> results(out, state);
  if (!check_arguments(ctx, op, a) || !check_results(ctx, op, a, out, state)) {
    return results;
  }
  const int64_t heads = a.key.size(1), values = a.value.size(3);
  // Query heads without a state were refused.
  const int64_t groups = heads == 0 ? 0 : a.query.size(1) / heads;
  const Sizes sizes{a.key.size(0) * heads, groups, a.key.size(2), a.key.size(3), values, a.decay.dim() == 3};
  if (sizes.heads == 0 || values == 0) {
    return results;
  }
  const int64_t work = std::max<int64_t>(sizes.positions, 1) * std::max<int64_t>(groups, 1);
  const int64_t grain = grain_for(GRAIN_SIZE, {work, sizes.keys + 1, kColumns});
  executorch::extension::parallel_for(0, sizes.units(), grain, [&](int64_t begin, int64_t end) {
    for (int64_t unit = begin; unit < end; ++unit) {
      run_unit(sizes, a, out, state, unit);
    }
  });
  return results;
}

}  // namespace

std::tuple<Tensor&, Tensor&> gated_delta_rule_out(KernelRuntimeContext& ctx, const Tensor& query, const Tensor& key,
                                                  const Tensor& value, const Tensor& decay, const Tensor& beta,
                                                  const Tensor& initial_state, Tensor& out, Tensor& final_state_out) {
  return run(ctx, "gated_delta_rule.out", {query, key, value, decay, beta, initial_state}, out, final_state_out);
}

std::tuple<Tensor&, Tensor&> channelwise_gated_delta_rule_out(KernelRuntimeContext& ctx, const Tensor& query,
                                                              const Tensor& key, const Tensor& value,
                                                              const Tensor& decay, const Tensor& beta,
                                                              const Tensor& initial_state, Tensor& out,
                                                              Tensor& final_state_out) {
  return run(ctx, "channelwise_gated_delta_rule.out", {query, key, value, decay, beta, initial_state}, out,
             final_state_out);
}

}  // namespace torch::executor::native
