// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <sstream>  // not used here: applications get it from this header, as from ExecuTorch's
#include <string>

#include <executorch/extension/llm/runner/util.h>

namespace executorch {
namespace extension {
namespace llm {

/// Start and end times of the parts of a generation, in milliseconds since the epoch, and counts.
struct Stats {
  const long SCALING_FACTOR_UNITS_PER_SECOND = 1000;
  /// The time of loading the program and its method; both 0 if they were loaded before.
  long model_load_start_ms = 0;
  long model_load_end_ms = 0;
  long inference_start_ms = 0;
  long token_encode_end_ms = 0;
  long model_execution_start_ms = 0;
  long model_execution_end_ms = 0;
  /// The prompt is in the cache.
  long prompt_eval_end_ms = 0;
  /// The first token is sampled.
  long first_token_ms = 0;
  long inference_end_ms = 0;
  long aggregate_sampling_time_ms = 0;
  int64_t num_prompt_tokens = 0;
  /// Tokens that were sampled, the first and one that ended the sequence included.
  int64_t num_generated_tokens = 0;
  /// For applications that measure a GPU; unknown until they set them.
  uint64_t gpu_total_bytes = static_cast<uint64_t>(-1);
  uint64_t gpu_free_before_load_bytes = static_cast<uint64_t>(-1);
  uint64_t gpu_free_after_load_bytes = static_cast<uint64_t>(-1);
  uint64_t gpu_free_after_generate_bytes = static_cast<uint64_t>(-1);
  double gpu_peak_usage_mb = -1.0;

  Stats() = default;
  Stats(const Stats& other) { *this = other; }
  Stats& operator=(const Stats& other);

  inline void on_sampling_begin() { sampling_start_us_ = internal::time_in_us(); }
  /// The sum is rounded once: a token takes less than a millisecond.
  inline void on_sampling_end() {
    sampling_us_ += internal::time_in_us() - sampling_start_us_;
    aggregate_sampling_time_ms = static_cast<long>(sampling_us_ / 1000);
  }

  /// Forgets a generation; with `all_stats` the times of loading too.
  void reset(bool all_stats = false);

 private:
  int64_t sampling_start_us_ = 0;
  int64_t sampling_us_ = 0;
};

/// Returns the counts and times as one line of JSON.
std::string stats_to_json_string(const Stats& stats);

/// Prints "PyTorchObserver " and that line to stdout, for tools that read it, and logs rates.
void print_report(const Stats& stats);

}  // namespace llm
}  // namespace extension
}  // namespace executorch

namespace executorch {
namespace llm {
using ::executorch::extension::llm::print_report;
using ::executorch::extension::llm::Stats;
}  // namespace llm
}  // namespace executorch
