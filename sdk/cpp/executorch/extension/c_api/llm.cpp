// SPDX-License-Identifier: BSD-3-Clause
// Text from language models.
#include <executorch/extension/c_api/llm.h>

#include <executorch/extension/c_api/call.h>
#include <executorch/extension/c_api/llm_state.h>
#include <executorch/extension/c_api/threads.h>

#ifdef ET_C_API_LLM
#include <algorithm>
#include <cstring>
#include <string>

#include <executorch/extension/llm/chat_template/chat_template.h>
#include <executorch/extension/llm/runner/llm_runner_helper.h>
#include <executorch/extension/llm/tool_calls/tool_calls.h>
#endif

using executorch::extension::c_api::call;
using executorch::extension::c_api::call_for;
using executorch::runtime::Error;

#ifdef ET_C_API_LLM

using executorch::runtime::Result;

using executorch::extension::c_api::Claim;
using executorch::extension::llm::ChatTemplate;
using executorch::extension::llm::GenerationConfig;

namespace {

/// A setting by its name.
template <typename Value>
struct Setting {
  const char* name;
  void (*set)(GenerationConfig& config, Value value);
};

int32_t as_int32(int64_t value) {
  return static_cast<int32_t>(std::clamp<int64_t>(value, INT32_MIN, INT32_MAX));
}

constexpr Setting<int64_t> kIntegers[] = {
    {"max_new_tokens", [](GenerationConfig& c, int64_t v) { c.max_new_tokens = as_int32(v); }},
    {"seq_len", [](GenerationConfig& c, int64_t v) { c.seq_len = as_int32(v); }},
    {"top_k", [](GenerationConfig& c, int64_t v) { c.top_k = as_int32(v); }},
    {"draft_tokens", [](GenerationConfig& c, int64_t v) { c.draft_tokens = as_int32(v); }},
    {"lookup_tokens", [](GenerationConfig& c, int64_t v) { c.lookup_tokens = as_int32(v); }},
    {"num_bos", [](GenerationConfig& c, int64_t v) { c.num_bos = as_int32(v); }},
    {"num_eos", [](GenerationConfig& c, int64_t v) { c.num_eos = as_int32(v); }},
    {"seed", [](GenerationConfig& c, int64_t v) { c.seed = static_cast<uint64_t>(v); }},
    {"echo", [](GenerationConfig& c, int64_t v) { c.echo = v != 0; }},
    {"ignore_eos", [](GenerationConfig& c, int64_t v) { c.ignore_eos = v != 0; }},
};
constexpr Setting<double> kReals[] = {
    {"temperature", [](GenerationConfig& c, double v) { c.temperature = static_cast<float>(v); }},
    {"top_p", [](GenerationConfig& c, double v) { c.top_p = static_cast<float>(v); }},
    {"min_p", [](GenerationConfig& c, double v) { c.min_p = static_cast<float>(v); }},
    {"repetition_penalty", [](GenerationConfig& c, double v) { c.repetition_penalty = static_cast<float>(v); }},
    {"presence_penalty", [](GenerationConfig& c, double v) { c.presence_penalty = static_cast<float>(v); }},
    {"frequency_penalty", [](GenerationConfig& c, double v) { c.frequency_penalty = static_cast<float>(v); }},
};

constexpr Setting<const char*> kTexts[] = {
    {"grammar", [](GenerationConfig& c, const char* v) { c.grammar = v; }},
    {"grammar_type", [](GenerationConfig& c, const char* v) { c.grammar_type = v; }},
};

template <typename Value, size_t kCount>
Error set(et_llm_config* config, const char* name, Value value, const Setting<Value> (&settings)[kCount]) {
  ET_CHECK_NOT_NULL(config);
  ET_CHECK_NOT_NULL(name);
  std::string names;
  for (const Setting<Value>& setting : settings) {
    if (std::strcmp(setting.name, name) == 0) {
      setting.set(config->values, value);
      return Error::Ok;
    }
    names += (names.empty() ? "" : ", ") + std::string(setting.name);
  }
  ET_LOG(Error, "there is no setting '%s' of this type; there are: %s", name, names.c_str());
  return Error::InvalidArgument;
}

Result<std::string> chat_template_of(const et_llm& llm) {
  auto source = executorch::extension::llm::load_embedded_chat_template(*llm.module);
  ET_CHECK_OR_RETURN_ERROR(source.error() != Error::NotFound, NotFound,
                           "the program contains no chat template: export it with export.embed_tokenizer=true from a "
                           "checkpoint that has one");
  return source;
}

Error parse_tool_calls(et_llm& llm, const char* answer, const char** out) {
  namespace llm_runtime = executorch::extension::llm;
  ET_ASSIGN_OR_RETURN(source, chat_template_of(llm));
  const auto format = llm_runtime::tool_call_format(source);
  ET_CHECK_OR_RETURN_ERROR(format.ok(), NotSupported, "the program's chat template has no known form of tool calls");
  ET_ASSIGN_OR_RETURN(parsed, llm_runtime::parse_tool_calls(answer, *format));
  llm.rendered = llm_runtime::to_json(parsed);
  *out = llm.rendered.c_str();
  return Error::Ok;
}

Error apply_chat_template(et_llm& llm, const char* variables, const char** out) {
  if (!llm.chat_template) {
    auto source = chat_template_of(llm);
    ET_CHECK_OK_OR_RETURN_ERROR(source.error());
    auto parsed = ChatTemplate::parse(*source);
    ET_CHECK_OK_OR_RETURN_ERROR(parsed.error());
    llm.chat_template.emplace(std::move(*parsed));
  }
  auto rendered = llm.chat_template->render(variables);
  ET_CHECK_OK_OR_RETURN_ERROR(rendered.error());
  llm.rendered = std::move(*rendered);
  *out = llm.rendered.c_str();
  return Error::Ok;
}

}  // namespace

#endif

bool et_has_llm(void) {
#ifdef ET_C_API_LLM
  return true;
#else
  return false;
#endif
}

et_status et_llm_config_create(et_llm_config** out, et_error** error) {
  return call_for(out, error, [&]() -> Error {
    ET_WITH_LLM({
      *out = new et_llm_config;
      (*out)->values.echo = false;
      return Error::Ok;
    })
  });
}

et_status et_llm_config_set_int([[maybe_unused]] et_llm_config* config, [[maybe_unused]] const char* name,
                                [[maybe_unused]] int64_t value, et_error** error) {
  return call(error, [&]() -> Error { ET_WITH_LLM(return set(config, name, value, kIntegers);) });
}

et_status et_llm_config_set_double([[maybe_unused]] et_llm_config* config, [[maybe_unused]] const char* name,
                                   [[maybe_unused]] double value, et_error** error) {
  return call(error, [&]() -> Error { ET_WITH_LLM(return set(config, name, value, kReals);) });
}

et_status et_llm_config_set_string([[maybe_unused]] et_llm_config* config, [[maybe_unused]] const char* name,
                                   [[maybe_unused]] const char* value, et_error** error) {
  return call(error, [&]() -> Error {
    ET_WITH_LLM({
      ET_CHECK_NOT_NULL(value);
      return set(config, name, value, kTexts);
    })
  });
}

et_status et_llm_config_add_stop([[maybe_unused]] et_llm_config* config, [[maybe_unused]] const char* text,
                                 et_error** error) {
  return call(error, [&]() -> Error {
    ET_WITH_LLM({
      ET_CHECK_NOT_NULL(config);
      ET_CHECK_NOT_NULL(text);
      config->values.stop.emplace_back(text);
      return Error::Ok;
    })
  });
}

et_status et_llm_config_add_logit_bias([[maybe_unused]] et_llm_config* config, [[maybe_unused]] uint64_t token,
                                       [[maybe_unused]] double bias, et_error** error) {
  return call(error, [&]() -> Error {
    ET_WITH_LLM({
      ET_CHECK_NOT_NULL(config);
      config->values.logit_bias.emplace_back(token, static_cast<float>(bias));
      return Error::Ok;
    })
  });
}

void et_llm_config_free(et_llm_config* config) {
  delete config;
}

void et_llm_free(et_llm* llm) {
  delete llm;
}

et_status et_llm_generate([[maybe_unused]] et_llm* llm, [[maybe_unused]] const char* prompt,
                          [[maybe_unused]] const et_llm_config* config, [[maybe_unused]] et_llm_text text,
                          [[maybe_unused]] void* context, et_error** error) {
  return call(error, [&]() -> Error {
    ET_WITH_LLM({
      ET_CHECK_NOT_NULL(llm);
      ET_CHECK_NOT_NULL(prompt);
      return executorch::extension::c_api::generate(*llm, std::string(prompt), config, text, context);
    })
  });
}

et_status et_llm_prefill([[maybe_unused]] et_llm* llm, [[maybe_unused]] const char* prompt, et_error** error) {
  return call(error, [&]() -> Error {
    ET_WITH_LLM({
      ET_CHECK_NOT_NULL(llm);
      ET_CHECK_NOT_NULL(prompt);
      const Claim claim(*llm);
      ET_CHECK_OK_OR_RETURN_ERROR(claim.check());
      const executorch::extension::c_api::ThreadsInUse threads;
      return llm->runner->prefill(std::string(prompt)).error();
    })
  });
}

void et_llm_stop([[maybe_unused]] et_llm* llm) {
#ifdef ET_C_API_LLM
  if (llm != nullptr) {
    llm->runner->stop();
  }
#endif
}

et_status et_llm_reset([[maybe_unused]] et_llm* llm, et_error** error) {
  return call(error, [&]() -> Error {
    ET_WITH_LLM({
      ET_CHECK_NOT_NULL(llm);
      const Claim claim(*llm);
      ET_CHECK_OK_OR_RETURN_ERROR(claim.check());
      llm->runner->reset();
      return Error::Ok;
    })
  });
}

int64_t et_llm_position([[maybe_unused]] const et_llm* llm) {
#ifdef ET_C_API_LLM
  return llm != nullptr ? llm->runner->position() : 0;
#else
  return 0;
#endif
}

et_status et_llm_apply_chat_template([[maybe_unused]] et_llm* llm, [[maybe_unused]] const char* variables,
                                     const char** out, et_error** error) {
  return call_for(out, error, [&]() -> Error {
    ET_WITH_LLM({
      ET_CHECK_NOT_NULL(llm);
      ET_CHECK_NOT_NULL(variables);
      const Claim claim(*llm);
      ET_CHECK_OK_OR_RETURN_ERROR(claim.check());
      return apply_chat_template(*llm, variables, out);
    })
  });
}

et_status et_llm_set_draft([[maybe_unused]] et_llm* llm, [[maybe_unused]] et_llm* draft, et_error** error) {
  return call(error, [&]() -> Error {
    ET_WITH_LLM({
      ET_CHECK_NOT_NULL(llm);
      ET_CHECK_NOT_NULL(draft);
      const Claim claim(*llm);
      ET_CHECK_OK_OR_RETURN_ERROR(claim.check());
      ET_CHECK_OR_RETURN_ERROR(draft != llm, InvalidArgument, "a model cannot draft for itself");
      {
        const Claim of_draft(*draft);
        ET_CHECK_OK_OR_RETURN_ERROR(of_draft.check());
        ET_CHECK_OK_OR_RETURN_ERROR(llm->runner->set_draft(draft->runner));
      }
      delete draft;  // the runner, which owns its module, stays in use
      return Error::Ok;
    })
  });
}

et_status et_llm_parse_tool_calls([[maybe_unused]] et_llm* llm, [[maybe_unused]] const char* answer, const char** out,
                                  et_error** error) {
  return call_for(out, error, [&]() -> Error {
    ET_WITH_LLM({
      ET_CHECK_NOT_NULL(llm);
      ET_CHECK_NOT_NULL(answer);
      const Claim claim(*llm);
      ET_CHECK_OK_OR_RETURN_ERROR(claim.check());
      return parse_tool_calls(*llm, answer, out);
    })
  });
}

et_status et_llm_get_stats([[maybe_unused]] const et_llm* llm, [[maybe_unused]] et_llm_stats* stats,
                           [[maybe_unused]] size_t size, et_error** error) {
  return call(error, [&]() -> Error {
    ET_WITH_LLM({
      ET_CHECK_NOT_NULL(llm);
      ET_CHECK_NOT_NULL(stats);
      // The caller's struct may be of another version, with more or fewer fields.
      std::memset(stats, 0, size);
      std::memcpy(stats, &llm->stats, std::min(size, sizeof(llm->stats)));
      return Error::Ok;
    })
  });
}
