// SPDX-License-Identifier: BSD-3-Clause
// Speech recognition.
#include <executorch/extension/c_api/asr.h>

#include <executorch/extension/c_api/call.h>
#include <executorch/extension/c_api/options.h>
#include <executorch/extension/c_api/threads.h>

#include <executorch/runtime/platform/log.h>

#ifdef ET_C_API_ASR
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include <executorch/extension/asr/runner/runner.h>
#include <executorch/extension/c_api/claim.h>
#endif

using executorch::extension::c_api::call;
using executorch::extension::c_api::call_for;
using executorch::runtime::Error;

#ifdef ET_C_API_ASR

using executorch::extension::Module;
using executorch::extension::asr::AsrRunner;
using executorch::extension::asr::AsrTranscribeConfig;
using executorch::extension::asr::Segment;
using executorch::extension::c_api::Claim;
using executorch::runtime::Result;

struct et_asr {
  std::unique_ptr<AsrRunner> runner;
  std::atomic<bool> busy{false};
  static constexpr const char* kBusy = "the runner is in another call: wait for its end, or call et_asr_stop";
};

struct et_asr_config {
  AsrTranscribeConfig values;
};

/// Expands to its arguments in a build with models of speech.
#define ET_WITH_ASR(...) __VA_ARGS__

namespace {

std::unique_ptr<Module> module_of(const char* path, const et_options& options, bool with_data) {
  return std::make_unique<Module>(path, with_data ? options.data_files : std::vector<std::string>(),
                                  executorch::extension::c_api::load_mode_of(options));
}

Error load_file(const char* path, const char* tokenizer_path, const char* preprocessor_path, const et_options* given,
                et_asr** out) {
  ET_CHECK_NOT_NULL(path);
  const et_options options = given != nullptr ? *given : et_options();
  ET_CHECK_OR_RETURN_ERROR(options.data_buffers.empty(), NotSupported,
                           "a model of speech takes its weights from files, found %zu data buffers: use "
                           "et_options_add_data_file",
                           options.data_buffers.size());
  auto made = std::make_unique<et_asr>();
  made->runner =
      std::make_unique<AsrRunner>(module_of(path, options, true), tokenizer_path != nullptr ? tokenizer_path : "");
  ET_CHECK_OK_OR_RETURN_ERROR(made->runner->load());
  if (preprocessor_path != nullptr) {
    auto preprocessor = module_of(preprocessor_path, options, false);
    ET_CHECK_OK_OR_RETURN_ERROR(preprocessor->load_method("forward"));
    made->runner->set_preprocessor(std::move(preprocessor));
  }
  *out = made.release();
  return Error::Ok;
}

using Tokens = std::vector<int64_t>;

Tokens* tokens_of(AsrTranscribeConfig& config, const std::string& name) {
  return name == "prompt_token_ids"           ? &config.prompt_token_ids
         : name == "suppress_token_ids"       ? &config.suppress_token_ids
         : name == "begin_suppress_token_ids" ? &config.begin_suppress_token_ids
                                              : nullptr;
}

Error no_such_setting(const char* name, const char* names) {
  ET_LOG(Error, "there is no setting '%s' of this type; there are: %s", name, names);
  return Error::InvalidArgument;
}

Error set_int(AsrTranscribeConfig& config, const char* name, int64_t value) {
  if (std::string(name) == "max_new_tokens") {
    config.max_new_tokens = value;
  } else if (std::string(name) == "decoder_start_token_id") {
    config.decoder_start_token_id = value;
  } else {
    return no_such_setting(name, "max_new_tokens, decoder_start_token_id");
  }
  return Error::Ok;
}

Error set_tokens(AsrTranscribeConfig& config, const char* name, Tokens tokens) {
  if (std::string(name) == "eos_token_ids") {
    config.eos_token_ids = std::unordered_set<int64_t>(tokens.begin(), tokens.end());
    return Error::Ok;
  }
  Tokens* const list = tokens_of(config, name);
  if (list == nullptr) {
    return no_such_setting(name, "prompt_token_ids, suppress_token_ids, begin_suppress_token_ids, eos_token_ids");
  }
  *list = std::move(tokens);
  return Error::Ok;
}

/// Calls `transcribe(config)` with the caller's config, or else the program's.
template <typename Transcribe>
Error run(et_asr& asr, const et_asr_config* given, const Transcribe& transcribe) {
  const Claim claim(asr);
  ET_CHECK_OK_OR_RETURN_ERROR(claim.check());
  AsrTranscribeConfig config;
  if (given != nullptr) {
    config = given->values;
  } else {
    ET_ASSIGN_OR_RETURN(found, asr.runner->default_config());
    config = std::move(found);
  }
  const executorch::extension::c_api::ThreadsInUse threads;
  return transcribe(config).error();
}

/// Returns a callback of the runner that calls `receive`, which may be null, until it returns false.
template <typename Given, typename Receive, typename Call>
std::function<void(const Given&)> until_false(et_asr& asr, Receive receive, const Call& call_it) {
  auto ended = std::make_shared<bool>(false);
  return [&asr, receive, call_it, ended](const Given& given) {
    if (receive != nullptr && !*ended && !call_it(given)) {
      *ended = true;
      asr.runner->stop();
    }
  };
}

std::function<void(const std::string&)> text_receiver(et_asr& asr, et_asr_text text, void* context) {
  return until_false<std::string>(
      asr, text, [text, context](const std::string& piece) { return text(piece.c_str(), piece.size(), context); });
}

std::function<void(const Segment&)> segment_receiver(et_asr& asr, et_asr_segment_callback receive, void* context) {
  return until_false<Segment>(asr, receive, [receive, context](const Segment& segment) {
    std::vector<et_asr_word> words;
    words.reserve(segment.words.size());
    for (const auto& word : segment.words) {
      words.push_back({word.start, word.end, word.text.c_str(), word.text.size()});
    }
    const et_asr_segment given{segment.start,       segment.end,  segment.text.c_str(),
                               segment.text.size(), words.data(), words.size()};
    return receive(&given, context);
  });
}

}  // namespace

#else

struct et_asr {};
struct et_asr_config {};

namespace {

Error built_without_asr() {
  ET_LOG(Error,
         "this library was built without models of speech: configure it with "
         "-DEXECUTORCH_BUILD_EXTENSION_ASR_RUNNER=ON");
  return Error::NotSupported;
}

}  // namespace

#define ET_WITH_ASR(...) return built_without_asr();

#endif

bool et_has_asr(void) {
#ifdef ET_C_API_ASR
  return true;
#else
  return false;
#endif
}

et_status et_asr_load_file([[maybe_unused]] const char* path, [[maybe_unused]] const char* tokenizer_path,
                           [[maybe_unused]] const char* preprocessor_path, [[maybe_unused]] const et_options* options,
                           et_asr** out, et_error** error) {
  return call_for(out, error, [&]() -> Error {
    ET_WITH_ASR(return load_file(path, tokenizer_path, preprocessor_path, options, out);)
  });
}

void et_asr_free(et_asr* asr) {
  delete asr;
}

et_status et_asr_sampling_rate([[maybe_unused]] et_asr* asr, [[maybe_unused]] int32_t* out, et_error** error) {
  return call(error, [&]() -> Error {
    ET_WITH_ASR({
      ET_CHECK_NOT_NULL(asr);
      ET_CHECK_NOT_NULL(out);
      const Claim claim(*asr);
      ET_CHECK_OK_OR_RETURN_ERROR(claim.check());
      ET_ASSIGN_OR_RETURN(rate, asr->runner->sampling_rate());
      *out = static_cast<int32_t>(rate);
      return Error::Ok;
    })
  });
}

et_status et_asr_token_id([[maybe_unused]] et_asr* asr, [[maybe_unused]] const char* token,
                          [[maybe_unused]] int64_t* out, et_error** error) {
  return call(error, [&]() -> Error {
    ET_WITH_ASR({
      ET_CHECK_NOT_NULL(asr);
      ET_CHECK_NOT_NULL(token);
      ET_CHECK_NOT_NULL(out);
      ET_ASSIGN_OR_RETURN(found, asr->runner->token_id(token));
      *out = found;
      return Error::Ok;
    })
  });
}

et_status et_asr_config_create([[maybe_unused]] et_asr* asr, et_asr_config** out, et_error** error) {
  return call_for(out, error, [&]() -> Error {
    ET_WITH_ASR({
      ET_CHECK_NOT_NULL(asr);
      const Claim claim(*asr);
      ET_CHECK_OK_OR_RETURN_ERROR(claim.check());
      ET_ASSIGN_OR_RETURN(values, asr->runner->default_config());
      *out = new et_asr_config{std::move(values)};
      return Error::Ok;
    })
  });
}

et_status et_asr_config_set_int([[maybe_unused]] et_asr_config* config, [[maybe_unused]] const char* name,
                                [[maybe_unused]] int64_t value, et_error** error) {
  return call(error, [&]() -> Error {
    ET_WITH_ASR({
      ET_CHECK_NOT_NULL(config);
      ET_CHECK_NOT_NULL(name);
      return set_int(config->values, name, value);
    })
  });
}

et_status et_asr_config_set_bool([[maybe_unused]] et_asr_config* config, [[maybe_unused]] const char* name,
                                 [[maybe_unused]] bool value, et_error** error) {
  return call(error, [&]() -> Error {
    ET_WITH_ASR({
      ET_CHECK_NOT_NULL(config);
      ET_CHECK_NOT_NULL(name);
      if (std::string(name) != "word_times") {
        return no_such_setting(name, "word_times");
      }
      config->values.word_times = value;
      return Error::Ok;
    })
  });
}

et_status et_asr_config_set_double([[maybe_unused]] et_asr_config* config, [[maybe_unused]] const char* name,
                                   [[maybe_unused]] double value, et_error** error) {
  return call(error, [&]() -> Error {
    ET_WITH_ASR({
      ET_CHECK_NOT_NULL(config);
      ET_CHECK_NOT_NULL(name);
      if (std::string(name) != "temperature") {
        return no_such_setting(name, "temperature");
      }
      config->values.temperature = static_cast<float>(value);
      return Error::Ok;
    })
  });
}

et_status et_asr_config_set_tokens([[maybe_unused]] et_asr_config* config, [[maybe_unused]] const char* name,
                                   [[maybe_unused]] const int64_t* tokens, [[maybe_unused]] size_t count,
                                   et_error** error) {
  return call(error, [&]() -> Error {
    ET_WITH_ASR({
      ET_CHECK_NOT_NULL(config);
      ET_CHECK_NOT_NULL(name);
      ET_CHECK_OR_RETURN_ERROR(tokens != nullptr || count == 0, InvalidArgument,
                               "expected a pointer in `tokens`, found NULL");
      return set_tokens(config->values, name, count == 0 ? Tokens() : Tokens(tokens, tokens + count));
    })
  });
}

void et_asr_config_free(et_asr_config* config) {
  delete config;
}

et_status et_asr_transcribe_file([[maybe_unused]] et_asr* asr, [[maybe_unused]] const char* wav_path,
                                 [[maybe_unused]] const et_asr_config* config, [[maybe_unused]] et_asr_text text,
                                 [[maybe_unused]] void* context, et_error** error) {
  return call(error, [&]() -> Error {
    ET_WITH_ASR({
      ET_CHECK_NOT_NULL(asr);
      ET_CHECK_NOT_NULL(wav_path);
      const auto give = text_receiver(*asr, text, context);
      return run(*asr, config, [&](const AsrTranscribeConfig& settings) {
        return asr->runner->transcribe_file(wav_path, settings, give);
      });
    })
  });
}

et_status et_asr_transcribe_samples([[maybe_unused]] et_asr* asr, [[maybe_unused]] const float* samples,
                                    [[maybe_unused]] size_t count, [[maybe_unused]] const et_asr_config* config,
                                    [[maybe_unused]] et_asr_text text, [[maybe_unused]] void* context,
                                    et_error** error) {
  return call(error, [&]() -> Error {
    ET_WITH_ASR({
      ET_CHECK_NOT_NULL(asr);
      ET_CHECK_NOT_NULL(samples);
      const std::vector<float> sound(samples, samples + count);
      const auto give = text_receiver(*asr, text, context);
      return run(*asr, config, [&](const AsrTranscribeConfig& settings) {
        return asr->runner->transcribe_samples(sound, settings, give);
      });
    })
  });
}

et_status et_asr_segments_file([[maybe_unused]] et_asr* asr, [[maybe_unused]] const char* wav_path,
                               [[maybe_unused]] const et_asr_config* config,
                               [[maybe_unused]] et_asr_segment_callback segment, [[maybe_unused]] void* context,
                               et_error** error) {
  return call(error, [&]() -> Error {
    ET_WITH_ASR({
      ET_CHECK_NOT_NULL(asr);
      ET_CHECK_NOT_NULL(wav_path);
      const auto give = segment_receiver(*asr, segment, context);
      return run(*asr, config, [&](const AsrTranscribeConfig& settings) {
        return asr->runner->transcribe_file_segments(wav_path, settings, give);
      });
    })
  });
}

et_status et_asr_segments_samples([[maybe_unused]] et_asr* asr, [[maybe_unused]] const float* samples,
                                  [[maybe_unused]] size_t count, [[maybe_unused]] const et_asr_config* config,
                                  [[maybe_unused]] et_asr_segment_callback segment, [[maybe_unused]] void* context,
                                  et_error** error) {
  return call(error, [&]() -> Error {
    ET_WITH_ASR({
      ET_CHECK_NOT_NULL(asr);
      ET_CHECK_NOT_NULL(samples);
      const std::vector<float> sound(samples, samples + count);
      const auto give = segment_receiver(*asr, segment, context);
      return run(*asr, config, [&](const AsrTranscribeConfig& settings) {
        return asr->runner->transcribe_segments(sound, settings, give);
      });
    })
  });
}

et_status et_asr_detect_language([[maybe_unused]] et_asr* asr, [[maybe_unused]] const float* samples,
                                 [[maybe_unused]] size_t count, [[maybe_unused]] int64_t* token,
                                 [[maybe_unused]] double* probability, et_error** error) {
  return call(error, [&]() -> Error {
    ET_WITH_ASR({
      ET_CHECK_NOT_NULL(asr);
      ET_CHECK_NOT_NULL(samples);
      ET_CHECK_NOT_NULL(token);
      const Claim claim(*asr);
      ET_CHECK_OK_OR_RETURN_ERROR(claim.check());
      const executorch::extension::c_api::ThreadsInUse threads;
      ET_ASSIGN_OR_RETURN(found, asr->runner->detect_language({samples, samples + count}));
      *token = found.token_id;
      if (probability != nullptr) {
        *probability = found.probability;
      }
      return Error::Ok;
    })
  });
}

void et_asr_stop([[maybe_unused]] et_asr* asr) {
#ifdef ET_C_API_ASR
  if (asr != nullptr) {
    asr->runner->stop();
  }
#endif
}
