// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/llm/sampler/token_sampler.h>

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstring>
#include <random>
#include <type_traits>

#include <executorch/extension/tensor/tensor_ptr_maker.h>

namespace executorch {
namespace extension {
namespace llm {

using executorch::aten::ScalarType;
using executorch::aten::Tensor;
using runtime::Error;
using runtime::Result;

namespace {

constexpr double kLarge = 1e30;

/// Logs what is wrong with a field of SamplingOptions.
bool is_in(const char* name, double value, double least, double most) {
  if (value >= least && value <= most) {  // false for NaN
    return true;
  }
  ET_LOG(Error, "%s is %g; expected a number from %g to %g", name, value, least, most);
  return false;
}

}  // namespace

Error check_temperature(float temperature) {
  return is_in("temperature", static_cast<double>(temperature), 0, kLarge) ? Error::Ok : Error::InvalidArgument;
}

Error SamplingOptions::validate() const {
  ET_CHECK_OK_OR_RETURN_ERROR(check_temperature(temperature));
  const bool valid = is_in("top_k", top_k, 0, INT32_MAX) && is_in("top_p", static_cast<double>(top_p), 0, 1) &&
                     is_in("min_p", static_cast<double>(min_p), 0, 1) &&
                     is_in("repetition_penalty", static_cast<double>(repetition_penalty), 1e-6, kLarge) &&
                     is_in("presence_penalty", static_cast<double>(presence_penalty), -kLarge, kLarge) &&
                     is_in("frequency_penalty", static_cast<double>(frequency_penalty), -kLarge, kLarge);
  for (const auto& [token, bias] : logit_bias) {
    ET_CHECK_OR_RETURN_ERROR(!std::isnan(bias), InvalidArgument, "logit_bias of token %" PRIu64 " is NaN", token);
  }
  return valid ? Error::Ok : Error::InvalidArgument;
}

Error TokenSampler::configure(const SamplingOptions& options) {
  ET_CHECK_OK_OR_RETURN_ERROR(options.validate());
  options_ = options;
  seen_.clear();
  constraint_.reset();
  constraint_error_ = Error::Ok;
  own_.reset();
  return Error::Ok;
}

void TokenSampler::accept_prompt(uint64_t token) {
  if (options_.repetition_penalty != 1.0F) {
    seen_.try_emplace(token);
  }
}

void TokenSampler::accept(uint64_t token) {
  if (changes_logits()) {
    seen_[token]++;
  }
  if (constraint_ && constraint_error_ == Error::Ok) {
    constraint_error_ = constraint_->accept(token);
  }
}

bool TokenSampler::changes_logits() const {
  return options_.repetition_penalty != 1.0F || options_.presence_penalty != 0.0F ||
         options_.frequency_penalty != 0.0F || !options_.logit_bias.empty();
}

Error TokenSampler::apply_processors(Tensor& logits) {
  for (const auto& processor : processors_) {
    ET_CHECK_OK_OR_RETURN_ERROR(processor->process(logits), "a logit processor failed");
  }
  return Error::Ok;
}

Error TokenSampler::apply_options(float* logits, int64_t count) {
  const auto in_vocabulary = [count](uint64_t token) { return token < static_cast<uint64_t>(count); };
  for (const auto& [token, bias] : options_.logit_bias) {
    ET_CHECK_OR_RETURN_ERROR(in_vocabulary(token), InvalidArgument,
                             "logit_bias names token %" PRIu64 "; the program has %" PRId64 " tokens", token, count);
    logits[token] += bias;
  }
  for (const auto& [token, generated] : seen_) {
    if (!in_vocabulary(token)) {
      continue;
    }
    float& logit = logits[token];
    if (options_.repetition_penalty != 1.0F) {
      logit = logit > 0 ? logit / options_.repetition_penalty : logit * options_.repetition_penalty;
    }
    if (generated > 0) {
      logit -= options_.presence_penalty + options_.frequency_penalty * static_cast<float>(generated);
    }
  }
  return Error::Ok;
}

Sampler& TokenSampler::sampler_for(int32_t count) {
  if (given_ && given_->vocab_size() == count) {
    given_->set_temperature(options_.temperature);
    return *given_;
  }
  if (!own_ || own_->vocab_size() != count) {
    std::random_device device;
    const uint64_t seed = options_.seed.value_or((uint64_t{device()} << 32) | device());
    own_ = std::make_unique<Sampler>(count, options_.temperature, options_.top_p, seed);
    own_->set_topk(options_.top_k);
    own_->set_minp(options_.min_p);
  }
  own_->set_temperature(options_.temperature);
  return *own_;
}

template <typename T>
Result<uint64_t> TokenSampler::sample_row(const T* row, int64_t count) {
  nan_position_ = -1;
  int32_t token = -1;
  Sampler& sampler = sampler_for(static_cast<int32_t>(count));
  const bool is_plain = !changes_logits() && processors_.empty() && !constraint_;
  const float* used = nullptr;
  if constexpr (std::is_same_v<T, float>) {
    used = is_plain ? row : nullptr;
  }
  if (used == nullptr) {
    row_.resize(static_cast<size_t>(count));
    std::transform(row, row + count, row_.begin(), [](T logit) { return static_cast<float>(logit); });
    ET_CHECK_OK_OR_RETURN_ERROR(apply_options(row_.data(), count));
    if (!processors_.empty()) {
      auto tensor = from_blob(row_.data(), {1, static_cast<executorch::aten::SizesType>(count)});
      ET_CHECK_OK_OR_RETURN_ERROR(apply_processors(*tensor));
    }
    if (constraint_) {
      ET_CHECK_OK_OR_RETURN_ERROR(constraint_error_);
      ET_CHECK_OK_OR_RETURN_ERROR(constraint_->apply(row_.data(), count));
    }
    used = row_.data();
  }
  token = sampler.sample(used);
  if (token >= 0) {
    return static_cast<uint64_t>(token);
  }
  const auto* const nan = std::find_if(used, used + count, [](float logit) { return std::isnan(logit); });
  if (nan != used + count) {
    nan_position_ = nan - used;
    ET_LOG(Error,
           "the logit of token %" PRId64
           " is NaN: the program computed no numbers. Export it with a wider dtype, or check its weights",
           nan_position_);
  } else {
    ET_LOG(Error, "all %" PRId64 " tokens are ruled out: every logit is -inf", count);
  }
  return Error::InvalidState;
}

Result<uint64_t> TokenSampler::sample(const Tensor& logits) {
  const auto dimensions = logits.dim();
  const int64_t count = dimensions == 0 ? 0 : logits.size(dimensions - 1);
  ET_CHECK_OR_RETURN_ERROR(count > 0 && count <= INT32_MAX && logits.numel() > 0, InvalidArgument,
                           "the program's logits are empty: expected a tensor [1, tokens, vocabulary] or "
                           "[1, vocabulary]");
  ET_CHECK_OK_OR_RETURN_ERROR(check_temperature(options_.temperature));
  const auto last = static_cast<int64_t>(logits.numel()) - count;
  switch (logits.scalar_type()) {
    case ScalarType::Float:
      return sample_row(logits.const_data_ptr<float>() + last, count);
    case ScalarType::Half:
      return sample_row(logits.const_data_ptr<executorch::aten::Half>() + last, count);
    case ScalarType::BFloat16:
      return sample_row(logits.const_data_ptr<executorch::aten::BFloat16>() + last, count);
    default:
      ET_LOG(Error, "the program's logits are %s; expected float32, float16 or bfloat16",
             runtime::toString(logits.scalar_type()));
      return Error::InvalidArgument;
  }
}

}  // namespace llm
}  // namespace extension
}  // namespace executorch
