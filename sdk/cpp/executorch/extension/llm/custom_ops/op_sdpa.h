// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * Attention over a cache of keys and values, for C++ that calls the kernels of the llm library (CMake: `custom_ops`)
 * without a program. Wrong arguments are logged, and set the error of the context.
 */
#pragma once

#include <cstdint>
#include <optional>
#include <tuple>

#include <executorch/runtime/kernel/kernel_includes.h>

namespace torch {
namespace executor {
namespace native {

/// query (batch, positions, heads, width); key and value (batch, at least start_pos + positions, key heads, width).
/// Query i sees the first start_pos + positions keys, or the first start_pos + i + 1 if it is causal; with a mask, all
/// keys.
Tensor& custom_sdpa_out(KernelRuntimeContext& ctx, const Tensor& query, const Tensor& key, const Tensor& value,
                        int64_t start_pos, const std::optional<Tensor>& attn_mask, double dropout, bool is_causal,
                        std::optional<double> scale, Tensor& out);

/// custom_sdpa_out() over the caches, after key and value (batch, seq_len, key heads, width) were written there from
/// start_pos. With wrong arguments nothing is written.
Tensor& sdpa_with_kv_cache_out(KernelRuntimeContext& ctx, const Tensor& query, const Tensor& key, const Tensor& value,
                               Tensor& key_cache, Tensor& value_cache, int64_t start_pos, int64_t seq_len,
                               const std::optional<Tensor>& attn_mask, double dropout, bool is_causal,
                               std::optional<double> scale, Tensor& out);

/// Like custom_sdpa_out(), for int8 tensors that represent (element - zero point) * scale; the result is Float. `query`
/// may be Float, without scales and zero points. With is_seq_at_dim_2 all tensors are (batch, heads, positions, width).
Tensor& custom_quantized_sdpa_out(KernelRuntimeContext& ctx, const Tensor& query, const Tensor& key,
                                  const Tensor& value, int64_t start_pos, const std::optional<Tensor>& attn_mask,
                                  double dropout, bool is_causal, std::optional<double> scale,
                                  const std::optional<Tensor>& q_zero_points, const std::optional<Tensor>& q_scales,
                                  const std::optional<Tensor>& k_zero_points, const std::optional<Tensor>& k_scales,
                                  const std::optional<Tensor>& v_zero_points, const std::optional<Tensor>& v_scales,
                                  bool is_seq_at_dim_2, Tensor& out);

/// Linear attention by the gated delta rule. All are Float: query (batch, heads, positions, keys); key, the same with
/// as many heads or a divisor; value (batch, heads of key, positions, values); decay as key, or without its last
/// dimension for one number a position; beta (batch, heads of key, positions); the states (batch, heads of key, keys,
/// values); out (batch, heads, positions, values). A position multiplies the rows of the state by `decay`, adds key
/// (value - state^T key)^T beta, and gives state^T query to each head of queries that shares the state. The results
/// share no memory with the arguments.
std::tuple<Tensor&, Tensor&> gated_delta_rule_out(KernelRuntimeContext& ctx, const Tensor& query, const Tensor& key,
                                                  const Tensor& value, const Tensor& decay, const Tensor& beta,
                                                  const Tensor& initial_state, Tensor& out, Tensor& final_state_out);

/// The same, under the name of ExecuTorch 1.4.
std::tuple<Tensor&, Tensor&> channelwise_gated_delta_rule_out(KernelRuntimeContext& ctx, const Tensor& query,
                                                              const Tensor& key, const Tensor& value,
                                                              const Tensor& decay, const Tensor& beta,
                                                              const Tensor& initial_state, Tensor& out,
                                                              Tensor& final_state_out);

}  // namespace native
}  // namespace executor
}  // namespace torch
