// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/asr/runner/timestamps.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

namespace executorch {
namespace extension {
namespace asr {
namespace internal {

using runtime::Error;

namespace {

constexpr float kRuledOut = -std::numeric_limits<float>::infinity();

void rule_out(float* logits, int64_t first, int64_t end) {
  std::fill(logits + first, logits + std::max(first, end), kRuledOut);
}

/// Returns log(sum(exp(logits))), computed relative to `largest` to avoid overflow.
double log_sum(const float* begin, const float* end, float largest) {
  double sum = 0;
  for (const float* logit = begin; logit != end; ++logit) {
    sum += std::exp(static_cast<double>(*logit) - largest);
  }
  return std::log(sum) + largest;
}

}  // namespace

bool TimestampConstraint::is_time(size_t from_end) const {
  return tokens_.size() >= from_end && tokens_[tokens_.size() - from_end] >= timestamps_.first;
}

Error TimestampConstraint::apply(float* logits, int64_t count) {
  const int64_t first = timestamps_.first;
  ET_CHECK_OR_RETURN_ERROR(first > 0 && first < count, InvalidState,
                           "the token of the time 0 is %lld; the program has %lld tokens",
                           static_cast<long long>(first), static_cast<long long>(count));
  if (timestamps_.off && *timestamps_.off < count) {
    logits[*timestamps_.off] = kRuledOut;
  }
  const bool was_time = is_time(1);
  const bool was_pair = was_time && (tokens_.size() < 2 || is_time(2));
  if (was_pair) {
    rule_out(logits, first, count);
  } else if (was_time) {
    for (int64_t token = 0; token < first; token++) {
      if (ends_.count(token) == 0) {
        logits[token] = kRuledOut;
      }
    }
  }
  const auto last = std::find_if(tokens_.rbegin(), tokens_.rend(), [first](int64_t token) { return token >= first; });
  if (last != tokens_.rend()) {
    rule_out(logits, first, std::min(count, was_time && !was_pair ? *last : *last + 1));
  }
  if (tokens_.empty()) {
    rule_out(logits, 0, first);
    if (timestamps_.latest_start) {
      rule_out(logits, std::min(count, first + *timestamps_.latest_start + 1), count);
    }
  }
  const float text = *std::max_element(logits, logits + first);
  const float time = *std::max_element(logits + first, logits + count);
  if (text > kRuledOut && time > kRuledOut && log_sum(logits + first, logits + count, time) > text) {
    rule_out(logits, 0, first);
  }
  return Error::Ok;
}

Error TimestampConstraint::accept(uint64_t token) {
  tokens_.push_back(static_cast<int64_t>(token));
  return Error::Ok;
}

Parts parts_of(const std::vector<int64_t>& tokens, const Timestamps& timestamps, int64_t samples, bool has_ended) {
  const auto is_time = [&](int64_t token) { return token >= timestamps.first; };
  const auto at = [&](int64_t token) { return (token - timestamps.first) * timestamps.step; };
  const auto until = [&](size_t end) { return tokens.begin() + static_cast<std::ptrdiff_t>(end); };
  Parts found;
  const auto add = [&](int64_t start, int64_t end, size_t first, size_t behind) {
    if (!std::all_of(until(first), until(behind), is_time)) {
      found.parts.push_back({start, end, std::vector<int64_t>(until(first), until(behind)), first});
    }
  };
  const size_t count = tokens.size();
  const auto last = std::find_if(tokens.rbegin(), tokens.rend(), is_time);
  const int64_t last_time = last == tokens.rend() ? 0 : at(*last);
  std::vector<size_t> ends;
  for (size_t i = 1; i < count; i++) {
    if (is_time(tokens[i - 1]) && is_time(tokens[i])) {
      ends.push_back(i);
    }
  }
  if (ends.empty()) {
    const auto behind_last = static_cast<size_t>(tokens.rend() - last);
    add(0, last_time > 0 ? last_time : samples, 0, has_ended ? count : behind_last);
    found.next = has_ended ? samples : std::min(last_time, samples);
    return found;
  }
  const bool ends_with_one = is_time(tokens[count - 1]) && !is_time(tokens[count - 2]);
  if (ends_with_one) {
    ends.push_back(count);
  }
  const int64_t next = ends_with_one && has_ended ? samples : at(tokens[ends.back() - 1]);
  found.next = next > samples || (next <= 0 && has_ended) ? samples : next;
  size_t begin = 0;
  for (const size_t end : ends) {
    add(at(tokens[begin]), at(tokens[end - 1]), begin, end);
    begin = end;
  }
  return found;
}

}  // namespace internal
}  // namespace asr
}  // namespace extension
}  // namespace executorch
