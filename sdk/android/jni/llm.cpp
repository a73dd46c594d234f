// SPDX-License-Identifier: BSD-3-Clause
// Native functions that make text with language models.
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include <executorch/extension/c_api/llm.h>

#include "jni_support.h"

namespace executorch {
namespace android {
namespace {

et_llm* to_llm(jlong handle) {
  return reinterpret_cast<et_llm*>(static_cast<intptr_t>(handle));
}

struct FreeConfig {
  void operator()(et_llm_config* config) const { et_llm_config_free(config); }
};
using Config = std::unique_ptr<et_llm_config, FreeConfig>;

jboolean has_llm(JNIEnv*, jclass) {
  return et_has_llm() ? JNI_TRUE : JNI_FALSE;
}

jlong load(JNIEnv* env, jclass, jbyteArray path, jbyteArray tokenizer, jobjectArray data_paths, jint load_mode,
           jobjectArray backend_options) {
  const Options options = make_options(env, data_paths, load_mode, backend_options);
  if (options == nullptr) {
    return 0;
  }
  const std::string tokenizer_path = tokenizer != nullptr ? to_string(env, tokenizer) : std::string();
  et_llm* llm = nullptr;
  et_error* error = nullptr;
  throw_if(env,
           et_llm_load_file(to_string(env, path).c_str(), tokenizer != nullptr ? tokenizer_path.c_str() : nullptr,
                            options.get(), &llm, &error),
           error);
  return static_cast<jlong>(reinterpret_cast<intptr_t>(llm));
}

/// Null with an exception pending. `grammar`: the grammar and its type.
Config make_config(JNIEnv* env, jobjectArray names, jlongArray values, jdouble temperature, jobjectArray grammar) {
  et_error* error = nullptr;
  et_llm_config* made = nullptr;
  if (throw_if(env, et_llm_config_create(&made, &error), error)) {
    return nullptr;
  }
  Config config(made);
  const std::vector<std::string> settings = to_strings(env, names);
  std::vector<jlong> numbers(settings.size());
  env->GetLongArrayRegion(values, 0, static_cast<jsize>(numbers.size()), numbers.data());
  for (size_t i = 0; i < settings.size(); ++i) {
    if (throw_if(env, et_llm_config_set_int(made, settings[i].c_str(), numbers[i], &error), error)) {
      return nullptr;
    }
  }
  if (throw_if(env, et_llm_config_set_double(made, "temperature", temperature, &error), error)) {
    return nullptr;
  }
  const std::vector<std::string> texts = to_strings(env, grammar);
  const char* const text_names[] = {"grammar", "grammar_type"};
  for (size_t i = 0; i < std::size(text_names) && i < texts.size(); ++i) {
    if (throw_if(env, et_llm_config_set_string(made, text_names[i], texts[i].c_str(), &error), error)) {
      return nullptr;
    }
  }
  return config;
}

/// A text with its size, because it may have a NUL inside. `text` must outlive the result.
et_llm_input text_part(const std::string& text) {
  return {ET_LLM_INPUT_TEXT, {}, text.data(), text.size()};
}

et_status generate_after_image(JNIEnv* env, et_llm* llm, jbyteArray image, jintArray sizes, const std::string& prompt,
                               const et_llm_config* config, TextReceiver* context, et_error** error) {
  const Elements<jbyteArray> pixels(env, image);
  if (pixels.data() == nullptr) {
    return ET_STATUS_MEMORY_ALLOCATION_FAILED;  // the exception of Java is thrown
  }
  et_llm_input parts[] = {{ET_LLM_INPUT_IMAGE, {}, pixels.data(), pixels.nbytes()}, text_part(prompt)};
  env->GetIntArrayRegion(sizes, 0, 3, parts[0].sizes);
  return et_llm_generate_inputs(llm, parts, std::size(parts), config, receive_text, context, error);
}

/// `image`: null, or pixels with three `sizes`.
void generate(JNIEnv* env, jclass, jlong llm, jbyteArray image, jintArray sizes, jbyteArray prompt, jobjectArray names,
              jlongArray values, jdouble temperature, jobjectArray grammar, jobject receiver) {
  const Config config = make_config(env, names, values, temperature, grammar);
  if (config == nullptr) {
    return;
  }
  const std::string text = to_string(env, prompt);
  const et_llm_input part = text_part(text);
  TextReceiver context{env, receiver};
  et_error* error = nullptr;
  const et_status status =
      image == nullptr ? et_llm_generate_inputs(to_llm(llm), &part, 1, config.get(), receive_text, &context, &error)
                       : generate_after_image(env, to_llm(llm), image, sizes, text, config.get(), &context, &error);
  if (env->ExceptionCheck()) {
    et_error_free(error);  // the exception of Java is thrown, usually the callback's
    return;
  }
  throw_if(env, status, error);
}

void prefill(JNIEnv* env, jclass, jlong llm, jbyteArray prompt) {
  const std::string text = to_string(env, prompt);
  const et_llm_input part = text_part(text);
  et_error* error = nullptr;
  throw_if(env, et_llm_prefill_inputs(to_llm(llm), &part, 1, &error), error);
}

void add(JNIEnv* env, jlong llm, jint type, jintArray sizes, const void* data, size_t size) {
  et_llm_input input = {type, {}, data, size};
  env->GetIntArrayRegion(sizes, 0, 3, input.sizes);
  et_error* error = nullptr;
  throw_if(env, et_llm_prefill_inputs(to_llm(llm), &input, 1, &error), error);
}

template <typename Array>
void prefill_array(JNIEnv* env, jclass, jlong llm, jint type, jintArray sizes, Array numbers) {
  const Elements<Array> elements(env, numbers);
  if (elements.data() != nullptr) {
    add(env, llm, type, sizes, elements.data(), elements.nbytes());
  }
}

/// `buffer` is direct.
void prefill_buffer(JNIEnv* env, jclass, jlong llm, jint type, jintArray sizes, jobject buffer) {
  add(env, llm, type, sizes, env->GetDirectBufferAddress(buffer),
      static_cast<size_t>(env->GetDirectBufferCapacity(buffer)));
}

void set_draft(JNIEnv* env, jclass, jlong llm, jlong draft) {
  et_error* error = nullptr;
  throw_if(env, et_llm_set_draft(to_llm(llm), to_llm(draft), &error), error);
}

void save_session(JNIEnv* env, jclass, jlong llm, jbyteArray path) {
  et_error* error = nullptr;
  throw_if(env, et_llm_save_session(to_llm(llm), to_string(env, path).c_str(), &error), error);
}

void load_session(JNIEnv* env, jclass, jlong llm, jbyteArray path) {
  et_error* error = nullptr;
  throw_if(env, et_llm_load_session(to_llm(llm), to_string(env, path).c_str(), &error), error);
}

void stop(JNIEnv*, jclass, jlong llm) {
  et_llm_stop(to_llm(llm));
}

void reset(JNIEnv* env, jclass, jlong llm) {
  et_error* error = nullptr;
  throw_if(env, et_llm_reset(to_llm(llm), &error), error);
}

jlong position(JNIEnv*, jclass, jlong llm) {
  return et_llm_position(to_llm(llm));
}

jlongArray stats(JNIEnv* env, jclass, jlong llm) {
  et_llm_stats found = {};
  et_error* error = nullptr;
  if (throw_if(env, et_llm_get_stats(to_llm(llm), &found, sizeof(found), &error), error)) {
    return nullptr;
  }
  const jlong numbers[] = {found.prompt_tokens,      found.generated_tokens,   found.model_load_start_ms,
                           found.model_load_end_ms,  found.inference_start_ms, found.token_encode_end_ms,
                           found.prompt_eval_end_ms, found.first_token_ms,     found.inference_end_ms,
                           found.sampling_ms};
  constexpr jsize kCount = sizeof(numbers) / sizeof(numbers[0]);
  const jlongArray array = env->NewLongArray(kCount);
  if (array != nullptr) {
    env->SetLongArrayRegion(array, 0, kCount, numbers);
  }
  return array;
}

/// Converts a text with a function of the C interface.
template <auto Function>
jbyteArray text_of(JNIEnv* env, jclass, jlong llm, jbyteArray given) {
  const char* made = nullptr;
  et_error* error = nullptr;
  if (throw_if(env, Function(to_llm(llm), to_string(env, given).c_str(), &made, &error), error)) {
    return nullptr;
  }
  return to_bytes(env, made, std::char_traits<char>::length(made));
}

void free_llm(JNIEnv*, jclass, jlong llm) {
  et_llm_free(to_llm(llm));
}

}  // namespace

const std::vector<JNINativeMethod> kLlmFunctions = {
    ET_NATIVE("hasLlm", "()Z", has_llm),
    ET_NATIVE("llmLoad", "([B[B[[BI[Ljava/lang/Object;)J", load),
    ET_NATIVE("llmGenerate", "(J[B[I[B[[B[JD[[BLorg/pytorch/executorch/Native$Receiver;)V", generate),
    ET_NATIVE("llmPrefill", "(J[B)V", prefill),
    ET_NATIVE("llmStop", "(J)V", stop),
    ET_NATIVE("llmReset", "(J)V", reset),
    ET_NATIVE("llmPosition", "(J)J", position),
    ET_NATIVE("llmStats", "(J)[J", stats),
    ET_NATIVE("llmApplyChatTemplate", "(J[B)[B", text_of<et_llm_apply_chat_template>),
    ET_NATIVE("llmParseToolCalls", "(J[B)[B", text_of<et_llm_parse_tool_calls>),
    ET_NATIVE("llmPrefillMedia", "(JI[I[B)V", prefill_array<jbyteArray>),
    ET_NATIVE("llmPrefillMedia", "(JI[I[F)V", prefill_array<jfloatArray>),
    ET_NATIVE("llmPrefillMedia", "(JI[ILjava/nio/ByteBuffer;)V", prefill_buffer),
    ET_NATIVE("llmSetDraft", "(JJ)V", set_draft),
    ET_NATIVE("llmSaveSession", "(J[B)V", save_session),
    ET_NATIVE("llmLoadSession", "(J[B)V", load_session),
    ET_NATIVE("llmFree", "(J)V", free_llm),
};

}  // namespace android
}  // namespace executorch
