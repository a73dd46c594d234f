// SPDX-License-Identifier: BSD-3-Clause
// llama::quantized_moe_ffn.out: a mixture of experts of ExecuTorch 1.5. For each token, the experts with the largest
// score + bias compute w2(silu(w1 x) * w3 x), and the results are added with the normalised scores as weights.
#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <limits>
#include <string_view>

#include <executorch/runtime/kernel/thread_parallel_interface.h>

#include "kernels/llm/cpu/expert_choice.h"
#include "kernels/llm/cpu/torchao_weights.h"
#include "kernels/portable/cpu/pattern/checks.h"

namespace torch::executor::native {

using executorch::extension::internal::grain_for;
using executorch::extension::internal::GRAIN_PRODUCTS;
using executorch::runtime::tensor_is_default_dim_order;
using executorch::runtime::internal::CheckedSize;

namespace {

constexpr const char* kOp = "quantized_moe_ffn.out";

bool check_floats(KernelRuntimeContext& ctx, const char* name, const Tensor& tensor, int64_t rows, int64_t columns) {
  ET_KERNEL_CHECK_MSG(ctx, tensor.scalar_type() == ScalarType::Float && tensor_is_default_dim_order(tensor),
                      InvalidArgument, false, "%s: %s must be Float in the default dim order, found %s", kOp, name,
                      toString(tensor.scalar_type()));
  ET_KERNEL_CHECK_MSG(
      ctx, tensor.dim() == 2 && tensor.size(0) == rows && tensor.size(1) == columns, InvalidArgument, false,
      "%s: %s must have %" PRId64 " rows of %" PRId64 " elements; found %zd dimensions, %zd elements", kOp, name, rows,
      columns, static_cast<ssize_t>(tensor.dim()), static_cast<ssize_t>(tensor.numel()));
  return true;
}

bool check_bytes(KernelRuntimeContext& ctx, const char* name, const Tensor& tensor, int64_t experts) {
  ET_KERNEL_CHECK_MSG(ctx,
                      tensor.scalar_type() == ScalarType::Byte && tensor.dim() == 2 && tensor.size(0) == experts &&
                          tensor_is_default_dim_order(tensor),
                      InvalidArgument, false,
                      "%s: %s must be Byte with a row for each of %" PRId64 " experts; found %s with %zd dimensions",
                      kOp, name, experts, toString(tensor.scalar_type()), static_cast<ssize_t>(tensor.dim()));
  return true;
}

bool weights_of(KernelRuntimeContext& ctx, const char* name, const Tensor& packed, int64_t expert, int64_t rows,
                int64_t columns, int64_t group, int64_t bits, TorchaoWeights* weights) {
  const int64_t size = packed.size(1);
  return read_torchao_weights(ctx, kOp, name, packed.const_data_ptr<uint8_t>() + expert * size, size, rows, columns,
                              group, bits, weights);
}

// Adds the results of an expert to the tokens that chose it. `hidden` has two rows of hidden activations for each
// token.
void add_expert(const ExpertSizes& sizes, int64_t expert, const TorchaoWeights& w13, const TorchaoWeights& w2,
                const ExpertChoice* choices, const float* x, float* hidden, float* out) {
  const auto choice_of = [&](int64_t token) { return find_choice(sizes, choices + token * sizes.chosen, expert); };
  const auto tiles = [](int64_t rows) { return (rows + kTorchaoRows - 1) / kTorchaoRows; };
  const auto multiply = [&](const TorchaoWeights& weights, int64_t rows, const float* from, int64_t stride,
                            auto&& put) {
    const int64_t grain = grain_for(GRAIN_PRODUCTS, {sizes.tokens, kTorchaoRows, weights.columns});
    executorch::extension::parallel_for(0, tiles(rows), grain, [&](int64_t begin, int64_t end) {
      for (int64_t tile = begin; tile < end; ++tile) {
        const int64_t first = tile * kTorchaoRows, count = std::min(kTorchaoRows, rows - first);
        for (int64_t token = 0; token < sizes.tokens; ++token) {
          const ExpertChoice* choice = choice_of(token);
          if (choice != nullptr) {
            float products[kTorchaoRows];
            multiply_torchao_tile(weights, tile, from + token * stride, products);
            for (int64_t row = 0; row < count; ++row) {
              put(token, first + row, products[row], choice->weight);
            }
          }
        }
      }
    });
  };
  multiply(w13, 2 * sizes.hidden, x, sizes.dim,
           [&](int64_t token, int64_t row, float product, float) { hidden[token * 2 * sizes.hidden + row] = product; });
  for (int64_t token = 0; token < sizes.tokens; ++token) {
    if (choice_of(token) == nullptr) {
      continue;
    }
    float* gate = hidden + token * 2 * sizes.hidden;
    for (int64_t i = 0; i < sizes.hidden; ++i) {
      gate[i] = gate[i] / (1 + std::exp(-gate[i])) * gate[sizes.hidden + i];
    }
  }
  multiply(w2, sizes.dim, hidden, 2 * sizes.hidden, [&](int64_t token, int64_t row, float product, float weight) {
    out[token * sizes.dim + row] += weight * product;
  });
}

}  // namespace

Tensor& quantized_moe_ffn_out(KernelRuntimeContext& ctx, const Tensor& x, const Tensor& gate_weight,
                              const Tensor& expert_bias, const Tensor& packed_w13, const Tensor& packed_w2,
                              int64_t num_activated_experts, int64_t num_experts, int64_t hidden_dim, int64_t dim,
                              int64_t group_size, int64_t weight_nbit, std::string_view score_func, double route_scale,
                              Tensor& out) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  ET_KERNEL_CHECK_MSG(ctx,
                      num_activated_experts > 0 && num_activated_experts <= num_experts && num_experts <= kMost &&
                          hidden_dim > 0 && hidden_dim <= kMost && dim > 0 && dim <= kMost,
                      InvalidArgument, out,
                      "%s: expected sizes above 0 and at most as many chosen experts as there are; found %" PRId64
                      " of %" PRId64 ", hidden_dim %" PRId64 ", dim %" PRId64,
                      kOp, num_activated_experts, num_experts, hidden_dim, dim);
  const bool is_sigmoid = score_func == "sigmoid";
  ET_KERNEL_CHECK_MSG(ctx, is_sigmoid || score_func == "softmax", InvalidArgument, out,
                      "%s: score_func must be sigmoid or softmax; found %.*s", kOp,
                      static_cast<int>(std::min<size_t>(score_func.size(), 40)), score_func.data());
  const bool has_bias = expert_bias.numel() > 0;
  ET_KERNEL_CHECK_MSG(ctx,
                      !has_bias || (expert_bias.scalar_type() == ScalarType::Float && expert_bias.dim() == 1 &&
                                    expert_bias.numel() == num_experts),
                      InvalidArgument, out,
                      "%s: expert_bias must be empty, or have a Float for each of %" PRId64 " experts; found %zd of %s",
                      kOp, num_experts, static_cast<ssize_t>(expert_bias.numel()), toString(expert_bias.scalar_type()));
  ET_KERNEL_CHECK_MSG(ctx, is_sigmoid || !has_bias, InvalidArgument, out,
                      "%s: expert_bias must be empty with score_func softmax; found %zd numbers", kOp,
                      static_cast<ssize_t>(expert_bias.numel()));
  const ExpertSizes sizes{x.dim() == 2 ? static_cast<int64_t>(x.size(0)) : 0, num_experts, num_activated_experts,
                          hidden_dim, dim};
  if (!check_floats(ctx, "x", x, sizes.tokens, dim) ||
      !check_floats(ctx, "gate_weight", gate_weight, num_experts, dim) ||
      !check_bytes(ctx, "packed_w13", packed_w13, num_experts) ||
      !check_bytes(ctx, "packed_w2", packed_w2, num_experts)) {
    return out;
  }
  ET_KERNEL_CHECK_MSG(ctx, out.scalar_type() == ScalarType::Float && tensor_is_default_dim_order(out), InvalidArgument,
                      out, "%s: out must be Float in the default dim order, found %s", kOp,
                      toString(out.scalar_type()));
  const int64_t result[] = {sizes.tokens, dim};
  if (!check_resize(ctx, kOp, out, result, 2)) {
    return out;
  }
  for (const Tensor* read : {&x, &gate_weight, &expert_bias, &packed_w13, &packed_w2}) {
    if (!check_no_overlap(ctx, kOp, *read, out)) {
      return out;
    }
  }
  const auto read_expert = [&](int64_t expert, TorchaoWeights* w13, TorchaoWeights* w2) {
    return weights_of(ctx, "packed_w13", packed_w13, expert, 2 * hidden_dim, dim, group_size, weight_nbit, w13) &&
           weights_of(ctx, "packed_w2", packed_w2, expert, dim, hidden_dim, group_size, weight_nbit, w2);
  };
  for (int64_t e = 0; e < num_experts; ++e) {
    TorchaoWeights w13, w2;
    if (!read_expert(e, &w13, &w2)) {
      return out;
    }
  }
  if (sizes.tokens == 0) {
    return out;
  }
  const CheckedSize bytes = expert_memory(sizes);
  ET_KERNEL_CHECK_MSG(ctx, bytes.good(), MemoryAllocationFailed, out,
                      "%s: the activations of %" PRId64 " tokens, %" PRId64
                      " for each, do not fit the memory of this processor",
                      kOp, sizes.tokens, 2 * hidden_dim);
  auto memory = ctx.allocate_temp(static_cast<size_t>(bytes.value()), alignof(ExpertChoice));
  ET_KERNEL_CHECK_MSG(ctx, memory.ok(), MemoryAllocationFailed, out,
                      "%s: the activations of %" PRId64 " tokens need %" PRIu64 " bytes of temporary memory", kOp,
                      sizes.tokens, bytes.value());
  auto* choices = static_cast<ExpertChoice*>(memory.get());
  ExpertChoice* ranked = choices + sizes.tokens * sizes.chosen;
  auto* scores = reinterpret_cast<float*>(ranked + num_experts);
  float* hidden = scores + num_experts;

  const float *rows = x.const_data_ptr<float>(), *gates = gate_weight.const_data_ptr<float>();
  for (int64_t token = 0; token < sizes.tokens; ++token) {
    for (int64_t e = 0; e < num_experts; ++e) {
      scores[e] = 0;
      for (int64_t i = 0; i < dim; ++i) {
        scores[e] += gates[e * dim + i] * rows[token * dim + i];
      }
    }
    choose_experts(sizes, has_bias ? expert_bias.const_data_ptr<float>() : nullptr, is_sigmoid,
                   static_cast<float>(route_scale), scores, ranked, choices + token * sizes.chosen);
  }
  const auto is_chosen = [&](int64_t expert) {
    for (int64_t token = 0; token < sizes.tokens; ++token) {
      if (find_choice(sizes, choices + token * sizes.chosen, expert) != nullptr) {
        return true;
      }
    }
    return false;
  };
  float* results = out.mutable_data_ptr<float>();
  std::fill_n(results, out.numel(), 0.0f);
  for (int64_t e = 0; e < num_experts; ++e) {
    TorchaoWeights w13, w2;
    if (!is_chosen(e)) {
      continue;
    }
    if (!read_expert(e, &w13, &w2)) {
      return out;
    }
    add_expert(sizes, e, w13, w2, choices, rows, hidden, results);
  }
  return out;
}

}  // namespace torch::executor::native
