// SPDX-License-Identifier: BSD-3-Clause
// Native functions that transcribe speech.
#include <memory>
#include <string>
#include <vector>

#include <executorch/extension/c_api/asr.h>

#include "jni_support.h"

namespace executorch {
namespace android {
namespace {

et_asr* to_asr(jlong handle) {
  return reinterpret_cast<et_asr*>(static_cast<intptr_t>(handle));
}

struct FreeConfig {
  void operator()(et_asr_config* config) const { et_asr_config_free(config); }
};
using Config = std::unique_ptr<et_asr_config, FreeConfig>;

jboolean has_asr(JNIEnv*, jclass) {
  return et_has_asr() ? JNI_TRUE : JNI_FALSE;
}

/// Null for null.
std::unique_ptr<std::string> to_optional_string(JNIEnv* env, jbyteArray bytes) {
  return bytes != nullptr ? std::make_unique<std::string>(to_string(env, bytes)) : nullptr;
}

jlong load(JNIEnv* env, jclass, jbyteArray path, jbyteArray tokenizer, jbyteArray preprocessor, jobjectArray data_paths,
           jint load_mode, jobjectArray backend_options) {
  const Options options = make_options(env, data_paths, load_mode, backend_options);
  if (options == nullptr) {
    return 0;
  }
  const auto tokenizer_path = to_optional_string(env, tokenizer);
  const auto preprocessor_path = to_optional_string(env, preprocessor);
  et_asr* asr = nullptr;
  et_error* error = nullptr;
  throw_if(env,
           et_asr_load_file(to_string(env, path).c_str(), tokenizer_path ? tokenizer_path->c_str() : nullptr,
                            preprocessor_path ? preprocessor_path->c_str() : nullptr, options.get(), &asr, &error),
           error);
  return static_cast<jlong>(reinterpret_cast<intptr_t>(asr));
}

/// The program's settings, overridden by the caller's; null with an exception pending. A `start_token` of 0 and a
/// `prompt` of null leave the program's.
Config make_config(JNIEnv* env, et_asr* asr, jlong max_new_tokens, jdouble temperature, jlong start_token,
                   jlongArray prompt, bool word_times = false) {
  et_asr_config* made = nullptr;
  et_error* error = nullptr;
  if (throw_if(env, et_asr_config_create(asr, &made, &error), error)) {
    return nullptr;
  }
  Config config(made);
  if (throw_if(env, et_asr_config_set_int(made, "max_new_tokens", max_new_tokens, &error), error) ||
      throw_if(env, et_asr_config_set_double(made, "temperature", temperature, &error), error) ||
      throw_if(env, et_asr_config_set_bool(made, "word_times", word_times, &error), error)) {
    return nullptr;
  }
  if (start_token != 0 &&
      throw_if(env, et_asr_config_set_int(made, "decoder_start_token_id", start_token, &error), error)) {
    return nullptr;
  }
  if (prompt == nullptr) {
    return config;
  }
  std::vector<jlong> numbers(static_cast<size_t>(env->GetArrayLength(prompt)));
  env->GetLongArrayRegion(prompt, 0, static_cast<jsize>(numbers.size()), numbers.data());
  const std::vector<int64_t> tokens(numbers.begin(), numbers.end());
  if (throw_if(env, et_asr_config_set_tokens(made, "prompt_token_ids", tokens.data(), tokens.size(), &error), error)) {
    return nullptr;
  }
  return config;
}

/// Calls `transcribe(config, context, error)` and throws its error, or the callback's exception.
template <typename Transcribe>
void transcribe_with(JNIEnv* env, const Config& config, jobject receiver, const Transcribe& transcribe) {
  if (config == nullptr) {
    return;
  }
  TextReceiver context{env, receiver};
  et_error* error = nullptr;
  const et_status status = transcribe(config.get(), &context, &error);
  if (env->ExceptionCheck()) {
    et_error_free(error);
    return;
  }
  throw_if(env, status, error);
}

void transcribe_file(JNIEnv* env, jclass, jlong asr, jbyteArray wav_path, jlong max_new_tokens, jdouble temperature,
                     jlong start_token, jlongArray prompt, jobject receiver) {
  const Config config = make_config(env, to_asr(asr), max_new_tokens, temperature, start_token, prompt);
  transcribe_with(env, config, receiver, [&](const et_asr_config* settings, void* context, et_error** error) {
    return et_asr_transcribe_file(to_asr(asr), to_string(env, wav_path).c_str(), settings, receive_text, context,
                                  error);
  });
}

void transcribe_samples(JNIEnv* env, jclass, jlong asr, jfloatArray samples, jlong max_new_tokens, jdouble temperature,
                        jlong start_token, jlongArray prompt, jobject receiver) {
  const Config config = make_config(env, to_asr(asr), max_new_tokens, temperature, start_token, prompt);
  transcribe_with(env, config, receiver, [&](const et_asr_config* settings, void* context, et_error** error) {
    const Elements<jfloatArray> sound(env, samples);
    // If memory is exhausted, Java's exception is thrown.
    return sound.data() == nullptr ? et_status{ET_STATUS_MEMORY_ALLOCATION_FAILED}
                                   : et_asr_transcribe_samples(to_asr(asr), sound.data(), sound.size(), settings,
                                                               receive_text, context, error);
  });
}

/// Gives a segment to the TextReceiver `context`, whose object is a SegmentReceiver.
bool receive_segment(const et_asr_segment* segment, void* context) {
  const auto& receiver = *static_cast<TextReceiver*>(context);
  JNIEnv* const env = receiver.env;
  const jbyteArray text = to_bytes(env, segment->text, segment->text_size);
  std::vector<jdouble> numbers;
  for (size_t i = 0; i < segment->word_count; ++i) {
    numbers.push_back(segment->words[i].start);
    numbers.push_back(segment->words[i].end);
  }
  const auto count = static_cast<jsize>(numbers.size());
  const jdoubleArray times = text == nullptr ? nullptr : env->NewDoubleArray(count);
  const jobjectArray words = times == nullptr ? nullptr : to_byte_arrays(env, segment->word_count, [&](size_t i) {
    return std::string_view(segment->words[i].text, segment->words[i].text_size);
  });
  if (words == nullptr) {
    return false;  // an exception is pending
  }
  env->SetDoubleArrayRegion(times, 0, count, numbers.data());
  const jboolean goes_on = env->CallBooleanMethod(receiver.object, java.segment_receiver_receive, segment->start,
                                                  segment->end, text, times, words);
  if (env->ExceptionCheck()) {
    return false;
  }
  env->DeleteLocalRef(text);
  env->DeleteLocalRef(times);
  env->DeleteLocalRef(words);
  return goes_on == JNI_TRUE;
}

void segments_of_file(JNIEnv* env, jclass, jlong asr, jbyteArray wav_path, jlong max_new_tokens, jdouble temperature,
                      jlong start_token, jlongArray prompt, jboolean word_times, jobject receiver) {
  const Config config =
      make_config(env, to_asr(asr), max_new_tokens, temperature, start_token, prompt, word_times == JNI_TRUE);
  transcribe_with(env, config, receiver, [&](const et_asr_config* settings, void* context, et_error** error) {
    return et_asr_segments_file(to_asr(asr), to_string(env, wav_path).c_str(), settings, receive_segment, context,
                                error);
  });
}

void segments_of_samples(JNIEnv* env, jclass, jlong asr, jfloatArray samples, jlong max_new_tokens, jdouble temperature,
                         jlong start_token, jlongArray prompt, jboolean word_times, jobject receiver) {
  const Config config =
      make_config(env, to_asr(asr), max_new_tokens, temperature, start_token, prompt, word_times == JNI_TRUE);
  transcribe_with(env, config, receiver, [&](const et_asr_config* settings, void* context, et_error** error) {
    const Elements<jfloatArray> sound(env, samples);
    return sound.data() == nullptr ? et_status{ET_STATUS_MEMORY_ALLOCATION_FAILED}
                                   : et_asr_segments_samples(to_asr(asr), sound.data(), sound.size(), settings,
                                                             receive_segment, context, error);
  });
}

jint sampling_rate(JNIEnv* env, jclass, jlong asr) {
  int32_t rate = 0;
  et_error* error = nullptr;
  throw_if(env, et_asr_sampling_rate(to_asr(asr), &rate, &error), error);
  return rate;
}

jlong token_id(JNIEnv* env, jclass, jlong asr, jbyteArray token) {
  int64_t found = 0;
  et_error* error = nullptr;
  throw_if(env, et_asr_token_id(to_asr(asr), to_string(env, token).c_str(), &found, &error), error);
  return found;
}

jlong detect_language(JNIEnv* env, jclass, jlong asr, jfloatArray samples) {
  const Elements<jfloatArray> sound(env, samples);
  int64_t token = 0;
  et_error* error = nullptr;
  if (sound.data() != nullptr) {
    throw_if(env, et_asr_detect_language(to_asr(asr), sound.data(), sound.size(), &token, nullptr, &error), error);
  }
  return token;
}

void stop(JNIEnv*, jclass, jlong asr) {
  et_asr_stop(to_asr(asr));
}

void free_asr(JNIEnv*, jclass, jlong asr) {
  et_asr_free(to_asr(asr));
}

}  // namespace

const std::vector<JNINativeMethod> kAsrFunctions = {
    ET_NATIVE("hasAsr", "()Z", has_asr),
    ET_NATIVE("asrLoad", "([B[B[B[[BI[Ljava/lang/Object;)J", load),
    ET_NATIVE("asrTranscribe", "(J[BJDJ[JLorg/pytorch/executorch/Native$Receiver;)V", transcribe_file),
    ET_NATIVE("asrTranscribe", "(J[FJDJ[JLorg/pytorch/executorch/Native$Receiver;)V", transcribe_samples),
    ET_NATIVE("asrSegments", "(J[BJDJ[JZLorg/pytorch/executorch/Native$SegmentReceiver;)V", segments_of_file),
    ET_NATIVE("asrSegments", "(J[FJDJ[JZLorg/pytorch/executorch/Native$SegmentReceiver;)V", segments_of_samples),
    ET_NATIVE("asrSamplingRate", "(J)I", sampling_rate),
    ET_NATIVE("asrTokenId", "(J[B)J", token_id),
    ET_NATIVE("asrDetectLanguage", "(J[F)J", detect_language),
    ET_NATIVE("asrStop", "(J)V", stop),
    ET_NATIVE("asrFree", "(J)V", free_asr),
};

}  // namespace android
}  // namespace executorch
