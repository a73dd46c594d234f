// SPDX-License-Identifier: BSD-3-Clause
// Helpers that all native functions use: Java names, conversion of texts, and errors.
#pragma once

#include <jni.h>

#include <cstddef>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include <executorch/extension/c_api/executorch.h>

namespace executorch {
namespace android {

/// Classes, methods and fields of org.pytorch.executorch, found once in JNI_OnLoad.
struct JavaNames {
  JavaVM* vm = nullptr;
  jclass byte_array = nullptr;
  jclass evalue = nullptr;
  jmethodID evalue_init = nullptr;       // (tag, bits, content)
  jmethodID evalue_init_text = nullptr;  // (UTF-8)
  jmethodID evalue_utf8 = nullptr;
  jfieldID evalue_tag = nullptr;
  jfieldID evalue_bits = nullptr;
  jfieldID evalue_content = nullptr;
  jclass tensor = nullptr;
  jmethodID tensor_of_run = nullptr;
  jfieldID tensor_dtype = nullptr;
  jfieldID tensor_shape = nullptr;
  jfieldID tensor_order = nullptr;
  jfieldID tensor_storage = nullptr;
  jfieldID run_result = nullptr;
  jclass exception = nullptr;
  jmethodID exception_from_native = nullptr;
  jmethodID receiver_receive = nullptr;
  jmethodID segment_receiver_receive = nullptr;
};
extern JavaNames java;

/// Finds the names; false, with a Java exception pending, if one is missing: classes and library differ in version.
bool find_java_names(JNIEnv* env);

/// Throws ExecutorchRuntimeException with that code and message.
void throw_error(JNIEnv* env, et_status status, const char* text);

/// Throws the exception for `error` and frees it. Returns whether `status` is an error. `error` is a reference because
/// the call that returns `status`, in the same argument list, may set it.
bool throw_if(JNIEnv* env, et_status status, et_error* const& error);

/// The bytes of a Java array.
std::string to_string(JNIEnv* env, jbyteArray bytes);
std::vector<std::string> to_strings(JNIEnv* env, jobjectArray array);

/// Null, with a pending exception, if Java has no memory left.
jbyteArray to_bytes(JNIEnv* env, const char* data, size_t size);
inline std::string_view view_of(std::string_view text) {
  return text;
}
inline std::string_view view_of(const char* text) {
  return text != nullptr ? text : std::string_view();
}

/// Converts `count` texts, which `text(i)` returns as C strings or views.
template <typename Text>
jobjectArray to_byte_arrays(JNIEnv* env, size_t count, Text&& text) {
  jobjectArray array = env->NewObjectArray(static_cast<jsize>(count), java.byte_array, nullptr);
  for (size_t i = 0; array != nullptr && i < count; ++i) {
    const std::string_view value = view_of(text(i));
    const jbyteArray bytes = to_bytes(env, value.data(), value.size());
    if (bytes == nullptr) {
      return nullptr;
    }
    env->SetObjectArrayElement(array, static_cast<jsize>(i), bytes);
    env->DeleteLocalRef(bytes);
  }
  return array;
}

inline jbyte* elements_of(JNIEnv* env, jbyteArray array) {
  return env->GetByteArrayElements(array, nullptr);
}
inline jfloat* elements_of(JNIEnv* env, jfloatArray array) {
  return env->GetFloatArrayElements(array, nullptr);
}
inline void release(JNIEnv* env, jbyteArray array, jbyte* elements) {
  env->ReleaseByteArrayElements(array, elements, JNI_ABORT);
}
inline void release(JNIEnv* env, jfloatArray array, jfloat* elements) {
  env->ReleaseFloatArrayElements(array, elements, JNI_ABORT);
}

/// The elements of an array, which are only read. Android does not copy the elements of large arrays.
template <typename Array>
class Elements final {
 public:
  Elements(JNIEnv* env, Array array)
      : env_(env),
        array_(array),
        size_(static_cast<size_t>(env->GetArrayLength(array))),
        data_(elements_of(env, array)) {}
  Elements(const Elements&) = delete;
  Elements& operator=(const Elements&) = delete;
  ~Elements() {
    if (data_ != nullptr) {
      release(env_, array_, data_);
    }
  }

  /// Null, with a pending exception, if Java has no memory left.
  const auto* data() const { return data_; }
  size_t size() const { return size_; }
  size_t nbytes() const { return size_ * sizeof(*data_); }

 private:
  JNIEnv* env_;
  Array array_;
  size_t size_;
  decltype(elements_of(nullptr, Array{})) data_;
};

/// The Java object that receives text, for functions of the C interface that call back in the thread that called them.
struct TextReceiver {
  JNIEnv* env;
  jobject object;
};
/// Gives a piece of text to the TextReceiver `context`. False, to end the text, if Java has enough or an exception is
/// pending.
bool receive_text(const char* text, size_t size, void* context);

/// The outputs of a run as Java values; null with an exception pending. In both cases the Java object `run` takes over
/// `result` and frees it.
jobjectArray to_java(JNIEnv* env, et_result* result, jobject run);

struct FreeOptions {
  void operator()(et_options* options) const { et_options_free(options); }
};
using Options = std::unique_ptr<et_options, FreeOptions>;

/// The load options that a Java caller passed; null with an exception pending. `backend_options`: names of backends,
/// keys, values.
Options make_options(JNIEnv* env, jobjectArray data_paths, jint load_mode, jobjectArray backend_options);

constexpr size_t kMaxRank = 16;  // of et_tensor_wrap

inline et_module* to_module(jlong handle) {
  return reinterpret_cast<et_module*>(static_cast<intptr_t>(handle));
}

/// hold() keeps a Java object alive and returns the context for the et_release let_go(), which drops it.
void* hold(JNIEnv* env, jobject object);
void let_go(void* data, void* object);

/// Throws a Java exception of `class_name`, unless one is pending.
void throw_new(JNIEnv* env, const char* class_name, const char* text);

/// `call` is `Function` for Java: it converts C++ exceptions, which would end the process, to exceptions of Java.
template <auto Function>
struct Guarded;
template <typename Result, typename... Arguments, Result (*Function)(JNIEnv*, jclass, Arguments...)>
struct Guarded<Function> {
  static JNICALL Result call(JNIEnv* env, jclass owner, Arguments... arguments) {
    try {
      return Function(env, owner, arguments...);
    } catch (const std::bad_alloc&) {
      throw_new(env, "java/lang/OutOfMemoryError", "native code has no memory left");
    } catch (const std::exception& error) {
      throw_new(env, "java/lang/RuntimeException", error.what());
    }
    return Result();
  }
};

/// An entry of the tables below.
#define ET_NATIVE(name, signature, function)                                                                 \
  JNINativeMethod {                                                                                          \
    const_cast<char*>(name), const_cast<char*>(signature), reinterpret_cast<void*>(&Guarded<function>::call) \
  }

// The functions of the class Native, by file.
extern const std::vector<JNINativeMethod> kAsrFunctions;
extern const std::vector<JNINativeMethod> kModuleFunctions;
extern const std::vector<JNINativeMethod> kExecuteFunctions;
extern const std::vector<JNINativeMethod> kImageFunctions;
extern const std::vector<JNINativeMethod> kLlmFunctions;
extern const std::vector<JNINativeMethod> kRuntimeFunctions;

/// Begins to keep the last lines of the log.
void start_log_buffer();

}  // namespace android
}  // namespace executorch
