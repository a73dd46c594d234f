// SPDX-License-Identifier: BSD-3-Clause
// Attention, key-value caches and rotary embeddings.
#include <algorithm>
#include <cinttypes>
#include <cmath>

#include "ops/operands.h"
#include "ops/tables.h"

namespace executorch {
namespace backends {
namespace vulkan {

namespace {

/// The strides of batch, head and position, and the sizes of one operand.
struct Heads {
  Tensor* tensor = nullptr;
  int64_t batch = 0, heads = 0, length = 0, depth = 0;
  std::vector<int64_t> strides;
};

Heads heads_of(OpContext& c, Tensor& tensor, bool heads_first) {
  Heads h;
  h.tensor = &tensor;
  if (c.check(tensor.rank() == 4 && tensor.kind != Kind::Int, "an argument of %d dimensions, expected 4",
              tensor.rank())) {
    const std::vector<int64_t> s = strides_of(tensor.sizes);
    h = {&tensor,
         tensor.size(0),
         tensor.size(heads_first ? 1 : 2),
         tensor.size(heads_first ? 2 : 1),
         tensor.size(3),
         {s[0], s[heads_first ? 1 : 2], s[heads_first ? 2 : 1]}};
  }
  return h;
}

/// `keys`: how many there are; `start`: the position of the first query.
void attend(OpContext& c, Tensor& out, const Heads& q, const Heads& k, const Heads& v, int64_t keys, int64_t start,
            bool causal, Tensor* mask, double scale, bool heads_first, Softmax hidden) {
  c.resize(out, q.tensor == nullptr ? Sizes() : q.tensor->sizes);
  const Kind kind = out.kind;
  if (c.failed() ||
      !c.check(k.heads > 0 && q.heads % k.heads == 0 && v.heads == k.heads && q.depth == k.depth &&
                   v.depth == q.depth && q.batch == k.batch && q.batch == v.batch && keys > 0 && keys <= k.length &&
                   keys <= v.length && start >= 0 && q.tensor->kind == kind && k.tensor->kind == kind &&
                   v.tensor->kind == kind,
               "%" PRId64 " queries of %" PRId64 " heads for %" PRId64 " keys of %" PRId64 " heads", q.length, q.heads,
               keys, k.heads) ||
      out.count() == 0) {
    return;
  }
  const Sizes scores_sizes = {q.batch, q.heads, q.length, keys};
  // At the largest shapes: all queries with all keys.
  const int64_t most = out.capacity / std::max<int64_t>(q.depth, 1) *
                       std::max<int64_t>(k.length, k.tensor->max_sizes[heads_first ? 2 : 1]);
  Tensor& scores = c.scratch(0, Kind::Float, scores_sizes, most);
  std::vector<int64_t> mask_strides;
  if (mask != nullptr) {
    c.check(mask->kind == kind, "a mask of %s", name_of(mask->dtype));
    mask_strides = broadcast_strides(c, mask->sizes, scores_sizes);
  }
  gpu::Buffer* queries = c.memory(*q.tensor);
  c.check_iterations(std::max(q.depth, keys));
  c.run("attention_scores" + kinds({kind}),
        {c.memory(scores), queries, c.memory(*k.tensor), mask == nullptr ? queries : c.memory(*mask)},
        Parameters()
            .i(scores.count())
            .i(keys)
            .i(q.length)
            .i(q.heads)
            .i(q.heads / k.heads)
            .i(q.depth)
            .i(start)
            .f(scale)
            .array(q.strides, 3)
            .array(k.strides, 3)
            .array(mask_strides, 4),
        scores.count(), {causal ? 1 : 0, mask != nullptr ? 1 : 0});
  Tensor& weights = c.scratch(1, Kind::Float, scores_sizes, most);
  run_softmax(c, weights, scores, keys, 1, hidden);
  Parameters p;
  p.i(out.count())
      .i(keys)
      .i(q.length)
      .i(q.heads)
      .i(q.heads / k.heads)
      .i(q.depth)
      .i(causal ? std::min(start + 1, keys) : keys);
  const bool grows = causal && start + q.length <= keys;
  c.check(!causal || grows, "%" PRId64 " queries from %" PRId64 " on, %" PRId64 " keys", q.length, start, keys);
  c.run("attention_output" + kinds({kind}), {c.memory(out), c.memory(weights), c.memory(*v.tensor)},
        p.array(v.strides, 3).array(q.strides, 3), out.count(), {grows ? 1 : 0});
}

double scale_of(OpContext& c, int arg, int64_t depth) {
  const double usual = 1 / std::sqrt(static_cast<double>(std::max<int64_t>(depth, 1)));
  return arg < c.num_args() - 1 ? c.real(arg, usual) : usual;
}

/// (q, k, v [batch, heads, length, depth], mask, scale).
void sdpa(OpContext& c) {
  const Heads q = heads_of(c, c.tensor(0), true);
  const Heads k = heads_of(c, c.tensor(1), true);
  attend(c, c.result(), q, k, heads_of(c, c.tensor(2), true), k.length, 0, false,
         c.num_args() > 4 ? c.optional_tensor(3) : nullptr, scale_of(c, 4, q.depth), true, Softmax::Shares);
}

/// The position of the first query.
int64_t position(OpContext& c, int arg) {
  const int64_t start = c.integer(arg);
  return c.check(start >= 0 && start < (int64_t{1} << 31), "the position %" PRId64, start) ? start : 0;
}

/// Writes [1, length, heads, depth] to the positions of a cache from `start` on.
void write_cache(OpContext& c, Tensor& value, Tensor& cache, int64_t start) {
  if (!c.check(
          value.rank() == 4 && cache.rank() == 4 && value.size(0) == cache.size(0) && value.size(2) == cache.size(2) &&
              value.size(3) == cache.size(3) && start >= 0 && start <= cache.size(1) - value.size(1),
          "%" PRId64 " positions from %" PRId64 " on, the cache has %" PRId64, value.size(1), start, cache.size(1))) {
    return;
  }
  View to{start * value.size(2) * value.size(3), strides_of(cache.sizes)};
  copy_view(c, cache, to, value, {0, strides_of(value.sizes)}, value.sizes);
}

/// (value, cache, start) -> an unused result.
void update_cache(OpContext& c) {
  write_cache(c, c.tensor(0), c.tensor(1), c.integer(2));
}

/// Attention over caches, with the arguments mask, dropout, is_causal and scale from `mask_at` on. With a mask
/// [positions of queries, positions of the caches], it reads the whole caches, otherwise the positions written so far.
void attend_to_caches(OpContext& c, Tensor& k_cache, Tensor& v_cache, int64_t start, int mask_at) {
  const Heads q = heads_of(c, c.tensor(0), false);
  const Heads k = heads_of(c, k_cache, false);
  const bool is_causal = c.boolean(mask_at + 2);
  Tensor* mask = c.optional_tensor(mask_at);
  c.check(c.real(mask_at + 1, 0) == 0, "dropout of %g, expected 0", c.real(mask_at + 1, 0));
  if (mask != nullptr) {
    c.check(!is_causal, "a mask and is_causal, expected one of them");
    c.check(mask->sizes == Sizes{q.length, k.length}, "a mask of sizes %s, expected [%" PRId64 ", %" PRId64 "]",
            text_of(mask->sizes).c_str(), q.length, k.length);
  }
  attend(c, c.result(), q, k, heads_of(c, v_cache, false), mask == nullptr ? start + q.length : k.length, start,
         is_causal, mask, scale_of(c, mask_at + 3, q.depth), false,
         mask == nullptr ? Softmax::Shares : Softmax::SharesOrZeros);
}

/// (q, k, v, k cache, v cache, start, length, mask, dropout, is_causal, scale), all [1, length, heads, depth].
void sdpa_with_kv_cache(OpContext& c) {
  const int64_t start = position(c, 5);
  Tensor& k_cache = c.tensor(3);
  Tensor& v_cache = c.tensor(4);
  write_cache(c, c.tensor(1), k_cache, start);
  write_cache(c, c.tensor(2), v_cache, start);
  attend_to_caches(c, k_cache, v_cache, start, 7);
}

/// (q, k cache, v cache, start, mask, dropout, is_causal, scale).
void custom_sdpa(OpContext& c) {
  attend_to_caches(c, c.tensor(1), c.tensor(2), position(c, 3), 4);
}

void rotate(OpContext& c, int32_t mode, Tensor& out, Tensor& x, Tensor& cosine, Tensor& sine, int64_t start) {
  c.resize(out, x.sizes);
  const int64_t rotated = mode == 0 ? cosine.size(-1) * 2 : mode == 1 ? cosine.size(-1) : x.size(-1);
  const int64_t positions = x.size(1);
  const int64_t row = mode == 0 ? rotated / 2 : rotated;
  if (!c.check(x.kind != Kind::Int && cosine.kind == x.kind && sine.kind == x.kind && out.kind == x.kind &&
                   rotated % 2 == 0 && rotated <= x.size(-1) && start >= 0 &&
                   (start + positions) * row <= cosine.count() && sine.count() >= cosine.count(),
               "%" PRId64 " positions from %" PRId64 " on for a table of %" PRId64 " numbers", positions, start,
               cosine.count()) ||
      x.count() == 0) {
    return;
  }
  c.run("rotary" + kinds({x.kind}), {c.memory(out), c.memory(x), c.memory(cosine), c.memory(sine)},
        Parameters()
            .i(x.count())
            .i(x.size(-1))
            .i(x.count() / x.size(0) / positions / x.size(-1))
            .i(positions)
            .i(rotated)
            .i(start),
        x.count(), {mode});
}

/// (xq, xk, cosine, sine[, start]) -> (xq, xk).
template <int32_t kMode>
void rotary(OpContext& c) {
  const std::vector<Tensor*> outs = c.tensors(c.num_args() - 1);
  const int64_t start = kMode == 1 ? c.integer(4) : 0;
  if (c.check(outs.size() == 2 && outs[0] != nullptr && outs[1] != nullptr && c.tensor(0).rank() == 4 &&
                  c.tensor(1).rank() == 4,
              "it has %zu results, expected 2", outs.size())) {
    rotate(c, kMode, *outs[0], c.tensor(0), c.tensor(2), c.tensor(3), start);
    rotate(c, kMode, *outs[1], c.tensor(1), c.tensor(2), c.tensor(3), start);
  }
}

/// (x [batch, positions, depth], cosines and sines in turn).
void rotary_interleaved(OpContext& c) {
  c.check(c.tensor(0).rank() == 3, "an argument of %d dimensions, expected 3", c.tensor(0).rank());
  rotate(c, 2, c.tensor(2), c.tensor(0), c.tensor(1), c.tensor(1), 0);
}

constexpr Operator kOperators[] = {
    {"et_vk.sdpa.default", sdpa},
    {"sdpa.default", sdpa},
    {"sdpa_with_kv_cache.default", sdpa_with_kv_cache},
    {"llama.sdpa_with_kv_cache.default", sdpa_with_kv_cache},
    {"update_cache.default", update_cache},
    {"llama.update_cache.default", update_cache},
    {"custom_sdpa.default", custom_sdpa},
    {"llama.custom_sdpa.default", custom_sdpa},
    {"et_vk.apply_rotary_emb.default", rotary<0>},
    {"et_vk.apply_rotary_emb_hf.default", rotary<1>},
    {"et_vk.apply_rotary_emb_interleaved.default", rotary_interleaved},
};

}  // namespace

Operators attention_operators() {
  return {kOperators, sizeof(kOperators) / sizeof(kOperators[0])};
}

}  // namespace vulkan
}  // namespace backends
}  // namespace executorch
