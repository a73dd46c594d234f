// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include <executorch/runtime/core/portable_type/bfloat16.h>
#include <executorch/runtime/core/portable_type/half.h>

namespace executorch {
namespace extension {
namespace llm {

/// The probability mass that the constructor without `topp` keeps.
inline constexpr auto kTopp = 0.9f;

template <typename T>
struct ProbIndex {
  T prob;
  int32_t index;
};

/// Chooses a token from logits: the likeliest one at temperature 0, otherwise one at random with the probabilities
///
///     softmax(logits / temperature)
///
/// of the tokens that pass all filters, which are applied in this order: top-k keeps the k likeliest tokens; top-p the
/// fewest likeliest ones whose probabilities add up to p or more; min-p those with at least min-p times the probability
/// of the likeliest. The same seed and the same logits give the same tokens on every machine whose exp() rounds alike.
class Sampler {
 public:
  Sampler(int32_t vocab_size, float temperature, float topp, unsigned long long rng_seed);
  /// Uses top-p = kTopp and a random seed.
  Sampler(int32_t vocab_size, float temperature);

  /// Any number >= 0; also above 1, which makes the distribution flatter.
  void set_temperature(float temperature) { temperature_ = temperature; }
  /// 0 keeps all tokens, as does a number that is not below the size of the vocabulary.
  void set_topk(int32_t topk) { topk_ = topk; }
  /// 1 keeps all tokens.
  void set_topp(float topp) { topp_ = topp; }
  /// 0 keeps all tokens.
  void set_minp(float minp) { minp_ = minp; }
  void set_seed(unsigned long long rng_seed) { random_.seed(rng_seed); }
  int32_t vocab_size() const { return vocab_size_; }

  /// Samples a token from `vocab_size` logits, which do not change, and returns its index. Returns -1 if there is no
  /// distribution, because a logit is NaN, all are -inf or the temperature is negative. A logit of +inf has the
  /// probability 1.
  template <typename T>
  int32_t sample(T* logits);

 private:
  int32_t draw(float max_logit);
  void keep_top_k();
  double keep_top_p(double total);
  double keep_min_p();

  int32_t vocab_size_;
  float temperature_;
  float topp_;
  float minp_ = 0;
  int32_t topk_ = 0;
  std::mt19937_64 random_;
  std::vector<ProbIndex<float>> candidates_;
};

extern template int32_t Sampler::sample<float>(float*);
extern template int32_t Sampler::sample<const float>(const float*);
extern template int32_t Sampler::sample<executorch::runtime::etensor::Half>(executorch::runtime::etensor::Half*);
extern template int32_t Sampler::sample<executorch::runtime::etensor::BFloat16>(
    executorch::runtime::etensor::BFloat16*);

}  // namespace llm
}  // namespace extension
}  // namespace executorch

namespace executorch {
namespace llm {
using ::executorch::extension::llm::kTopp;
using ::executorch::extension::llm::ProbIndex;
using ::executorch::extension::llm::Sampler;
}  // namespace llm
}  // namespace executorch
