// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/llm/runner/stats.h>

#include <cinttypes>
#include <sstream>

#include <executorch/runtime/platform/log.h>

namespace executorch {
namespace extension {
namespace llm {

Stats& Stats::operator=(const Stats& other) {
  model_load_start_ms = other.model_load_start_ms;
  model_load_end_ms = other.model_load_end_ms;
  inference_start_ms = other.inference_start_ms;
  token_encode_end_ms = other.token_encode_end_ms;
  model_execution_start_ms = other.model_execution_start_ms;
  model_execution_end_ms = other.model_execution_end_ms;
  prompt_eval_end_ms = other.prompt_eval_end_ms;
  first_token_ms = other.first_token_ms;
  inference_end_ms = other.inference_end_ms;
  aggregate_sampling_time_ms = other.aggregate_sampling_time_ms;
  num_prompt_tokens = other.num_prompt_tokens;
  num_generated_tokens = other.num_generated_tokens;
  gpu_total_bytes = other.gpu_total_bytes;
  gpu_free_before_load_bytes = other.gpu_free_before_load_bytes;
  gpu_free_after_load_bytes = other.gpu_free_after_load_bytes;
  gpu_free_after_generate_bytes = other.gpu_free_after_generate_bytes;
  gpu_peak_usage_mb = other.gpu_peak_usage_mb;
  sampling_start_us_ = other.sampling_start_us_;
  sampling_us_ = other.sampling_us_;
  return *this;
}

void Stats::reset(bool all_stats) {
  Stats fresh;
  if (!all_stats) {
    fresh.model_load_start_ms = model_load_start_ms;
    fresh.model_load_end_ms = model_load_end_ms;
    fresh.gpu_total_bytes = gpu_total_bytes;
    fresh.gpu_free_before_load_bytes = gpu_free_before_load_bytes;
    fresh.gpu_free_after_load_bytes = gpu_free_after_load_bytes;
  }
  *this = fresh;
}

std::string stats_to_json_string(const Stats& stats) {
  std::ostringstream json;
  json.imbue(std::locale::classic());  // an application's locale may group digits
  json << "{\"prompt_tokens\":" << stats.num_prompt_tokens << ",\"generated_tokens\":" << stats.num_generated_tokens
       << ",\"model_load_start_ms\":" << stats.model_load_start_ms
       << ",\"model_load_end_ms\":" << stats.model_load_end_ms << ",\"inference_start_ms\":" << stats.inference_start_ms
       << ",\"token_encode_end_ms\":" << stats.token_encode_end_ms
       << ",\"model_execution_start_ms\":" << stats.model_execution_start_ms
       << ",\"model_execution_end_ms\":" << stats.model_execution_end_ms
       << ",\"inference_end_ms\":" << stats.inference_end_ms << ",\"prompt_eval_end_ms\":" << stats.prompt_eval_end_ms
       << ",\"first_token_ms\":" << stats.first_token_ms
       << ",\"aggregate_sampling_time_ms\":" << stats.aggregate_sampling_time_ms;
  const auto add_if_known = [&json](const char* name, uint64_t bytes) {
    if (bytes != static_cast<uint64_t>(-1)) {
      json << ",\"" << name << "\":" << bytes;
    }
  };
  add_if_known("gpu_total_bytes", stats.gpu_total_bytes);
  add_if_known("gpu_free_before_load_bytes", stats.gpu_free_before_load_bytes);
  add_if_known("gpu_free_after_load_bytes", stats.gpu_free_after_load_bytes);
  add_if_known("gpu_free_after_generate_bytes", stats.gpu_free_after_generate_bytes);
  if (stats.gpu_peak_usage_mb >= 0) {
    json << ",\"gpu_peak_usage_mb\":" << stats.gpu_peak_usage_mb;
  }
  json << ",\"SCALING_FACTOR_UNITS_PER_SECOND\":" << stats.SCALING_FACTOR_UNITS_PER_SECOND << "}";
  return json.str();
}

void print_report(const Stats& stats) {
  std::printf("PyTorchObserver %s\n", stats_to_json_string(stats).c_str());
  std::fflush(stdout);
  const auto seconds = [](long milliseconds) { return static_cast<double>(milliseconds) / 1000.0; };
  const auto log_rate = [&](const std::string& what, int64_t tokens, long milliseconds) {
    const double time = seconds(milliseconds);
    ET_LOG(Info, "\t%s:\t\t%f (seconds)\t\tRate:\t%f (tokens/second)", what.c_str(), time,
           time > 0 ? static_cast<double>(tokens) / time : 0.0);
  };
  const int64_t generated = stats.num_generated_tokens;
  ET_LOG(Info, "\tPrompt Tokens: %" PRId64 "    Generated Tokens: %" PRId64, stats.num_prompt_tokens, generated);
  ET_LOG(Info, "\tModel Load Time:\t\t%f (seconds)", seconds(stats.model_load_end_ms - stats.model_load_start_ms));
  log_rate("Total inference time", generated, stats.inference_end_ms - stats.inference_start_ms);
  log_rate("\tPrompt evaluation", stats.num_prompt_tokens, stats.prompt_eval_end_ms - stats.inference_start_ms);
  log_rate("\tGenerated " + std::to_string(generated) + " tokens", generated,
           stats.inference_end_ms - stats.prompt_eval_end_ms);
  ET_LOG(Info, "\tTime to first generated token:\t%f (seconds)",
         seconds(stats.first_token_ms - stats.inference_start_ms));
  ET_LOG(Info, "\tSampling time over %" PRId64 " tokens:\t%f (seconds)", stats.num_prompt_tokens + generated,
         seconds(stats.aggregate_sampling_time_ms));
}

}  // namespace llm
}  // namespace extension
}  // namespace executorch
