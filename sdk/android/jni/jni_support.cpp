// SPDX-License-Identifier: BSD-3-Clause
#include "jni_support.h"

namespace executorch {
namespace android {

JavaNames java;

namespace {

jclass find_class(JNIEnv* env, const char* name) {
  const jclass local = env->FindClass(name);
  return local != nullptr ? static_cast<jclass>(env->NewGlobalRef(local)) : nullptr;
}

}  // namespace

bool find_java_names(JNIEnv* env) {
  // Each step needs the previous ones, and JNI calls are not allowed while an exception is pending.
  const auto find = [env](jclass* out, const char* name) { return (*out = find_class(env, name)) != nullptr; };
  const auto method = [env](jmethodID* out, jclass owner, const char* name, const char* signature) {
    return (*out = env->GetMethodID(owner, name, signature)) != nullptr;
  };
  const auto field = [env](jfieldID* out, jclass owner, const char* name, const char* signature) {
    return (*out = env->GetFieldID(owner, name, signature)) != nullptr;
  };
  const auto static_method = [env](jmethodID* out, jclass owner, const char* name, const char* signature) {
    return (*out = env->GetStaticMethodID(owner, name, signature)) != nullptr;
  };
  jclass run = nullptr;
  jclass receiver = nullptr;
  jclass segment_receiver = nullptr;
  return find(&java.byte_array, "[B") && find(&java.evalue, "org/pytorch/executorch/EValue") &&
         find(&java.tensor, "org/pytorch/executorch/Tensor") && find(&run, "org/pytorch/executorch/Run") &&
         find(&java.exception, "org/pytorch/executorch/ExecutorchRuntimeException") &&
         method(&java.evalue_init, java.evalue, "<init>", "(IJLjava/lang/Object;)V") &&
         method(&java.evalue_init_text, java.evalue, "<init>", "([B)V") &&
         method(&java.evalue_utf8, java.evalue, "utf8", "()[B") && field(&java.evalue_tag, java.evalue, "tag", "I") &&
         field(&java.evalue_bits, java.evalue, "bits", "J") &&
         field(&java.evalue_content, java.evalue, "content", "Ljava/lang/Object;") &&
         static_method(&java.tensor_of_run, java.tensor, "ofRun",
                       "(I[J[BLjava/nio/ByteBuffer;Lorg/pytorch/executorch/Run;)Lorg/pytorch/executorch/Tensor;") &&
         field(&java.tensor_dtype, java.tensor, "dtypeCode", "I") &&
         field(&java.tensor_shape, java.tensor, "shape", "[J") &&
         field(&java.tensor_order, java.tensor, "order", "[B") &&
         field(&java.tensor_storage, java.tensor, "storage", "Ljava/nio/Buffer;") &&
         field(&java.run_result, run, "result", "J") &&
         static_method(&java.exception_from_native, java.exception, "fromNative",
                       "(I[B)Ljava/lang/RuntimeException;") &&
         find(&receiver, "org/pytorch/executorch/Native$Receiver") &&
         method(&java.receiver_receive, receiver, "receive", "([B)Z") &&
         find(&segment_receiver, "org/pytorch/executorch/Native$SegmentReceiver") &&
         method(&java.segment_receiver_receive, segment_receiver, "receive", "(DD[B[D[[B)Z");
}

void throw_error(JNIEnv* env, et_status status, const char* text) {
  const jbyteArray bytes = to_bytes(env, text, std::char_traits<char>::length(text));
  if (bytes == nullptr) {
    return;  // OutOfMemoryError is pending
  }
  const jobject exception =
      env->CallStaticObjectMethod(java.exception, java.exception_from_native, static_cast<jint>(status), bytes);
  if (!env->ExceptionCheck()) {
    env->Throw(static_cast<jthrowable>(exception));
  }
}

void throw_new(JNIEnv* env, const char* class_name, const char* text) {
  if (env->ExceptionCheck()) {
    return;
  }
  const jclass found = env->FindClass(class_name);
  if (found != nullptr) {
    env->ThrowNew(found, text);
  }
}

bool throw_if(JNIEnv* env, et_status status, et_error* const& error) {
  if (status == ET_STATUS_OK) {
    return false;
  }
  throw_error(env, status, et_error_message(error));
  et_error_free(error);
  return true;
}

std::string to_string(JNIEnv* env, jbyteArray bytes) {
  const jsize size = env->GetArrayLength(bytes);
  std::string text(static_cast<size_t>(size), '\0');
  env->GetByteArrayRegion(bytes, 0, size, reinterpret_cast<jbyte*>(&text[0]));
  return text;
}

std::vector<std::string> to_strings(JNIEnv* env, jobjectArray array) {
  std::vector<std::string> texts;
  const jsize size = env->GetArrayLength(array);
  for (jsize i = 0; i < size; ++i) {
    const auto bytes = static_cast<jbyteArray>(env->GetObjectArrayElement(array, i));
    texts.push_back(to_string(env, bytes));
    env->DeleteLocalRef(bytes);
  }
  return texts;
}

jbyteArray to_bytes(JNIEnv* env, const char* data, size_t size) {
  const jbyteArray bytes = env->NewByteArray(static_cast<jsize>(size));
  if (bytes != nullptr && size > 0) {
    env->SetByteArrayRegion(bytes, 0, static_cast<jsize>(size), reinterpret_cast<const jbyte*>(data));
  }
  return bytes;
}

bool receive_text(const char* text, size_t size, void* context) {
  const auto& receiver = *static_cast<TextReceiver*>(context);
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

void* hold(JNIEnv* env, jobject object) {
  return env->NewGlobalRef(object);
}

void let_go(void*, void* object) {
  JNIEnv* env = nullptr;
  if (java.vm->GetEnv(reinterpret_cast<void**>(&env), JNI_VERSION_1_6) == JNI_OK) {
    env->DeleteGlobalRef(static_cast<jobject>(object));
  }
}

}  // namespace android
}  // namespace executorch

using namespace executorch::android;

extern "C" JNIEXPORT jint JNICALL JNI_OnLoad(JavaVM* vm, void*) {
  JNIEnv* env = nullptr;
  if (vm->GetEnv(reinterpret_cast<void**>(&env), JNI_VERSION_1_6) != JNI_OK) {
    return JNI_ERR;
  }
  java.vm = vm;
  const jclass native = env->FindClass("org/pytorch/executorch/Native");
  if (native == nullptr || !find_java_names(env)) {
    return JNI_ERR;
  }
  // Registered here and not at the first call, so that a mismatch of class and library is noticed at once.
  for (const auto* functions :
       {&kAsrFunctions, &kModuleFunctions, &kExecuteFunctions, &kImageFunctions, &kLlmFunctions, &kRuntimeFunctions}) {
    if (env->RegisterNatives(native, functions->data(), static_cast<jint>(functions->size())) != JNI_OK) {
      return JNI_ERR;
    }
  }
  start_log_buffer();
  return JNI_VERSION_1_6;
}
