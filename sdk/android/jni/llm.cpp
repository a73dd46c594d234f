// SPDX-License-Identifier: BSD-3-Clause
// Native functions that make text with language models.
#include <iterator>
#include <memory>

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

/// The Java object that receives text. The callback runs in the thread that called et_llm_generate.
struct Receiver {
  JNIEnv* env;
  jobject object;
};

bool receive(const char* text, size_t size, void* context) {
  const auto& receiver = *static_cast<Receiver*>(context);
  JNIEnv* const env = receiver.env;
  const jbyteArray bytes = to_bytes(env, text, size);
  if (bytes == nullptr) {
    return false;  // OutOfMemoryError is pending
  }
  const jboolean goes_on = env->CallBooleanMethod(receiver.object, java.receiver_receive, bytes);
  if (env->ExceptionCheck()) {
    return false;
  }
  env->DeleteLocalRef(bytes);
  return goes_on == JNI_TRUE;
}

void generate(JNIEnv* env, jclass, jlong llm, jbyteArray prompt, jobjectArray names, jlongArray values,
              jdouble temperature, jobjectArray grammar, jobject receiver) {
  et_error* error = nullptr;
  et_llm_config* made = nullptr;
  if (throw_if(env, et_llm_config_create(&made, &error), error)) {
    return;
  }
  const std::unique_ptr<et_llm_config, FreeConfig> config(made);
  const std::vector<std::string> settings = to_strings(env, names);
  std::vector<jlong> numbers(settings.size());
  env->GetLongArrayRegion(values, 0, static_cast<jsize>(numbers.size()), numbers.data());
  for (size_t i = 0; i < settings.size(); ++i) {
    if (throw_if(env, et_llm_config_set_int(made, settings[i].c_str(), numbers[i], &error), error)) {
      return;
    }
  }
  if (throw_if(env, et_llm_config_set_double(made, "temperature", temperature, &error), error)) {
    return;
  }
  const std::vector<std::string> texts = to_strings(env, grammar);  // the grammar and its type
  const char* const text_names[] = {"grammar", "grammar_type"};
  for (size_t i = 0; i < std::size(text_names) && i < texts.size(); ++i) {
    if (throw_if(env, et_llm_config_set_string(made, text_names[i], texts[i].c_str(), &error), error)) {
      return;
    }
  }
  Receiver context{env, receiver};
  const et_status status =
      et_llm_generate(to_llm(llm), to_string(env, prompt).c_str(), made, receive, &context, &error);
  if (env->ExceptionCheck()) {
    et_error_free(error);  // the callback's exception is thrown
    return;
  }
  throw_if(env, status, error);
}

void prefill(JNIEnv* env, jclass, jlong llm, jbyteArray prompt) {
  et_error* error = nullptr;
  throw_if(env, et_llm_prefill(to_llm(llm), to_string(env, prompt).c_str(), &error), error);
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

jbyteArray apply_chat_template(JNIEnv* env, jclass, jlong llm, jbyteArray variables) {
  const char* prompt = nullptr;
  et_error* error = nullptr;
  if (throw_if(env, et_llm_apply_chat_template(to_llm(llm), to_string(env, variables).c_str(), &prompt, &error),
               error)) {
    return nullptr;
  }
  return to_bytes(env, prompt, std::char_traits<char>::length(prompt));
}

void free_llm(JNIEnv*, jclass, jlong llm) {
  et_llm_free(to_llm(llm));
}

}  // namespace

const std::vector<JNINativeMethod> kLlmFunctions = {
    ET_NATIVE("hasLlm", "()Z", has_llm),
    ET_NATIVE("llmLoad", "([B[B[[BI[Ljava/lang/Object;)J", load),
    ET_NATIVE("llmGenerate", "(J[B[[B[JD[[BLorg/pytorch/executorch/Native$Receiver;)V", generate),
    ET_NATIVE("llmPrefill", "(J[B)V", prefill),
    ET_NATIVE("llmStop", "(J)V", stop),
    ET_NATIVE("llmReset", "(J)V", reset),
    ET_NATIVE("llmPosition", "(J)J", position),
    ET_NATIVE("llmStats", "(J)[J", stats),
    ET_NATIVE("llmApplyChatTemplate", "(J[B)[B", apply_chat_template),
    ET_NATIVE("llmFree", "(J)V", free_llm),
};

}  // namespace android
}  // namespace executorch
