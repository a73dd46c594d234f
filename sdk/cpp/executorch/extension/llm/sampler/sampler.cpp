// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/llm/sampler/sampler.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace executorch {
namespace extension {
namespace llm {
namespace {

/// Whether `a` comes before `b`: the likelier one; for equal probabilities, the one with the smaller index.
bool is_likelier(const ProbIndex<float>& a, const ProbIndex<float>& b) {
  return a.prob > b.prob || (a.prob == b.prob && a.index < b.index);
}

constexpr size_t kFirstSorted = 128;

}  // namespace

Sampler::Sampler(int32_t vocab_size, float temperature, float topp, unsigned long long rng_seed)
    : vocab_size_(vocab_size), temperature_(temperature), topp_(topp), random_(rng_seed) {}

Sampler::Sampler(int32_t vocab_size, float temperature)
    : Sampler(vocab_size, temperature, kTopp, (uint64_t{std::random_device{}()} << 32) | std::random_device{}()) {}

template <typename T>
int32_t Sampler::sample(T* logits) {
  float max = -std::numeric_limits<float>::infinity();
  int32_t best = -1;
  for (int32_t i = 0; i < vocab_size_; i++) {
    const float logit = static_cast<float>(logits[i]);
    if (!(logit <= max)) {
      if (std::isnan(logit)) {
        return -1;
      }
      max = logit;
      best = i;
    }
  }
  if (best < 0 || temperature_ == 0) {
    return best;
  }
  if (!(temperature_ > 0)) {  // NaN is refused, too
    return -1;
  }
  candidates_.resize(static_cast<size_t>(vocab_size_));
  for (int32_t i = 0; i < vocab_size_; i++) {
    candidates_[static_cast<size_t>(i)] = {static_cast<float>(logits[i]), i};
  }
  return draw(max);
}

int32_t Sampler::draw(float max_logit) {
  keep_top_k();
  // Subtracts before it divides: logits divided by a low temperature may overflow.
  double total = 0;
  for (auto& candidate : candidates_) {
    candidate.prob = candidate.prob == max_logit ? 1.0F : std::exp((candidate.prob - max_logit) / temperature_);
    total += static_cast<double>(candidate.prob);
  }
  if (topp_ < 1) {
    total = keep_top_p(total);
  }
  if (minp_ > 0) {
    total = keep_min_p();
  }
  // 53 random bits in [0, 1): std::uniform_real_distribution differs between libraries.
  const double threshold = static_cast<double>(random_() >> 11) * 0x1p-53 * total;
  double sum = 0;
  int32_t last = -1;
  for (const auto& candidate : candidates_) {
    if (candidate.prob > 0) {
      last = candidate.index;
      sum += static_cast<double>(candidate.prob);
      if (threshold < sum) {
        break;
      }
    }
  }
  return last;
}

void Sampler::keep_top_k() {
  if (topk_ > 0 && static_cast<size_t>(topk_) < candidates_.size()) {
    std::nth_element(candidates_.begin(), candidates_.begin() + (topk_ - 1), candidates_.end(), is_likelier);
    candidates_.resize(static_cast<size_t>(topk_));
  }
}

double Sampler::keep_top_p(double total) {
  const double wanted = static_cast<double>(topp_) * total;
  double sum = 0;
  size_t sorted = 0;
  // A few of the likeliest tokens are usually enough, so more are sorted only if these are not.
  for (size_t count = kFirstSorted; sorted < candidates_.size(); count *= 8) {
    const size_t end = std::min(count, candidates_.size());
    if (end < candidates_.size()) {
      std::nth_element(candidates_.begin() + static_cast<std::ptrdiff_t>(sorted),
                       candidates_.begin() + static_cast<std::ptrdiff_t>(end - 1), candidates_.end(), is_likelier);
    }
    std::sort(candidates_.begin() + static_cast<std::ptrdiff_t>(sorted),
              candidates_.begin() + static_cast<std::ptrdiff_t>(end), is_likelier);
    for (; sorted < end; sorted++) {
      sum += static_cast<double>(candidates_[sorted].prob);
      if (sum >= wanted) {
        candidates_.resize(sorted + 1);
        return sum;
      }
    }
  }
  return sum;
}

double Sampler::keep_min_p() {
  float most = 0;
  for (const auto& candidate : candidates_) {
    most = std::max(most, candidate.prob);
  }
  const auto kept = std::remove_if(candidates_.begin(), candidates_.end(),
                                   [&](const ProbIndex<float>& candidate) { return candidate.prob < minp_ * most; });
  candidates_.erase(kept, candidates_.end());
  double total = 0;
  for (const auto& candidate : candidates_) {
    total += static_cast<double>(candidate.prob);
  }
  return total;
}

template int32_t Sampler::sample<float>(float*);
template int32_t Sampler::sample<const float>(const float*);
template int32_t Sampler::sample<executorch::runtime::etensor::Half>(executorch::runtime::etensor::Half*);
template int32_t Sampler::sample<executorch::runtime::etensor::BFloat16>(executorch::runtime::etensor::BFloat16*);

}  // namespace llm
}  // namespace extension
}  // namespace executorch
