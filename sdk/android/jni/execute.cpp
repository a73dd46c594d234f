// SPDX-License-Identifier: BSD-3-Clause
// Running methods: values from Java and back, tensors without a copy.
#include <algorithm>
#include <array>
#include <cstring>

#include "jni_support.h"

namespace executorch {
namespace android {
namespace {

constexpr size_t kMaxRank = 16;  // of et_tensor_wrap

/// The inputs of a run: tensors over the memory of Java's direct buffers.
class Inputs final {
 public:
  explicit Inputs(JNIEnv* env) : env_(env) {}
  Inputs(const Inputs&) = delete;
  Inputs& operator=(const Inputs&) = delete;
  ~Inputs() {
    for (et_tensor* tensor : tensors_) {
      et_tensor_free(tensor);
    }
  }

  /// False with an exception pending.
  bool read(jobjectArray inputs) {
    const jsize count = env_->GetArrayLength(inputs);
    values_.resize(static_cast<size_t>(count));
    texts_.resize(values_.size());
    for (jsize i = 0; i < count; ++i) {
      const jobject value = env_->GetObjectArrayElement(inputs, i);
      const bool done = read(value, static_cast<size_t>(i));
      env_->DeleteLocalRef(value);
      if (!done) {
        return false;
      }
    }
    return true;
  }

  const std::vector<et_value>& values() const { return values_; }

 private:
  bool read(jobject from, size_t index) {
    et_value& value = values_[index];
    value.tag = env_->GetIntField(from, java.evalue_tag);
    const jlong bits = env_->GetLongField(from, java.evalue_bits);
    switch (value.tag) {
      case ET_TAG_TENSOR: {
        const jobject tensor = env_->GetObjectField(from, java.evalue_content);
        const bool done = read_tensor(tensor, value);
        env_->DeleteLocalRef(tensor);
        return done;
      }
      case ET_TAG_STRING: {
        const auto text = static_cast<jbyteArray>(env_->CallObjectMethod(from, java.evalue_utf8));
        if (env_->ExceptionCheck()) {
          return false;
        }
        texts_[index] = to_string(env_, text);
        env_->DeleteLocalRef(text);
        value.payload.as_span = {texts_[index].data(), texts_[index].size()};
        return true;
      }
      case ET_TAG_DOUBLE:
        std::memcpy(&value.payload.as_double, &bits, sizeof(bits));
        return true;
      case ET_TAG_BOOL:
        value.payload.as_bool = bits != 0 ? 1 : 0;
        return true;
      default:
        value.payload.as_int = bits;
        return true;
    }
  }

  bool read_tensor(jobject from, et_value& value) {
    const auto shape = static_cast<jlongArray>(env_->GetObjectField(from, java.tensor_shape));
    const auto order = static_cast<jbyteArray>(env_->GetObjectField(from, java.tensor_order));
    const jobject storage = env_->GetObjectField(from, java.tensor_storage);
    const auto dtype = static_cast<et_dtype>(env_->GetIntField(from, java.tensor_dtype));
    const auto rank = static_cast<size_t>(env_->GetArrayLength(shape));
    // More than that is refused by et_tensor_wrap, which does not look at them.
    const auto known = static_cast<jsize>(std::min(rank, kMaxRank));
    std::array<jlong, kMaxRank> long_sizes{};
    std::array<int32_t, kMaxRank> sizes{};
    std::array<jbyte, kMaxRank> dims{};
    env_->GetLongArrayRegion(shape, 0, known, long_sizes.data());
    size_t nbytes = et_dtype_size(dtype);
    for (size_t i = 0; i < static_cast<size_t>(known); ++i) {
      sizes[i] = static_cast<int32_t>(long_sizes[i]);  // class Tensor saw to it
      nbytes *= static_cast<size_t>(long_sizes[i]);
    }
    if (order != nullptr) {
      env_->GetByteArrayRegion(order, 0, known, dims.data());
    }
    et_tensor* tensor = nullptr;
    et_error* error = nullptr;
    const et_status status = et_tensor_wrap(
        dtype, sizes.data(), rank, order != nullptr ? reinterpret_cast<const uint8_t*>(dims.data()) : nullptr,
        env_->GetDirectBufferAddress(storage), nbytes, let_go, hold(env_, storage), &tensor, &error);
    env_->DeleteLocalRef(storage);
    env_->DeleteLocalRef(order);
    env_->DeleteLocalRef(shape);
    if (throw_if(env_, status, error)) {
      return false;
    }
    tensors_.push_back(tensor);
    value.payload.as_tensor = tensor;
    return true;
  }

  JNIEnv* env_;
  std::vector<et_value> values_;
  std::vector<std::string> texts_;
  std::vector<et_tensor*> tensors_;
};

/// A Java Tensor over the memory of an output; null with an exception pending.
jobject to_java(JNIEnv* env, const et_tensor* tensor, jobject run) {
  const size_t rank = et_tensor_rank(tensor);
  const int32_t* sizes = et_tensor_sizes(tensor);
  const uint8_t* dims = et_tensor_dim_order(tensor);
  std::array<jlong, kMaxRank> long_sizes{};
  bool in_order = true;
  for (size_t i = 0; i < rank; ++i) {
    long_sizes[i] = sizes[i];
    in_order = in_order && dims[i] == i;
  }
  const jlongArray shape = env->NewLongArray(static_cast<jsize>(rank));
  if (shape == nullptr) {
    return nullptr;
  }
  env->SetLongArrayRegion(shape, 0, static_cast<jsize>(rank), long_sizes.data());
  jbyteArray order = nullptr;
  if (!in_order && (order = to_bytes(env, reinterpret_cast<const char*>(dims), rank)) == nullptr) {
    return nullptr;
  }
  // An empty tensor may have no memory; Java's buffers need an address.
  static uint8_t nothing = 0;
  void* const data = const_cast<void*>(et_tensor_data(tensor));
  const jobject bytes =
      env->NewDirectByteBuffer(data != nullptr ? data : &nothing, static_cast<jlong>(et_tensor_nbytes(tensor)));
  if (bytes == nullptr) {
    return nullptr;
  }
  const jobject made = env->CallStaticObjectMethod(
      java.tensor, java.tensor_of_run, static_cast<jint>(et_tensor_dtype(tensor)), shape, order, bytes, run);
  env->DeleteLocalRef(bytes);
  env->DeleteLocalRef(order);
  env->DeleteLocalRef(shape);
  return env->ExceptionCheck() ? nullptr : made;
}

jobject to_java(JNIEnv* env, const et_value& value, jobject run) {
  jlong bits = 0;
  jobject content = nullptr;
  switch (value.tag) {
    case ET_TAG_NONE:
      break;
    case ET_TAG_TENSOR:
      content = to_java(env, value.payload.as_tensor, run);
      if (content == nullptr) {
        return nullptr;
      }
      break;
    case ET_TAG_STRING: {
      const et_span& span = value.payload.as_span;
      const jbyteArray text = to_bytes(env, static_cast<const char*>(span.data), span.size);
      return text != nullptr ? env->NewObject(java.evalue, java.evalue_init_text, text) : nullptr;
    }
    case ET_TAG_DOUBLE:
      std::memcpy(&bits, &value.payload.as_double, sizeof(bits));
      break;
    case ET_TAG_INT:
      bits = value.payload.as_int;
      break;
    case ET_TAG_BOOL:
      bits = value.payload.as_bool;
      break;
    default: {
      const std::string text = "an output is of type " + std::string(et_tag_name(value.tag)) +
                               ", which EValue does not have: return its items one by one";
      throw_error(env, ET_STATUS_NOT_SUPPORTED, text.c_str());
      return nullptr;
    }
  }
  const jobject made = env->NewObject(java.evalue, java.evalue_init, static_cast<jint>(value.tag), bits, content);
  env->DeleteLocalRef(content);
  return made;
}

jobjectArray execute(JNIEnv* env, jclass, jlong module, jbyteArray method, jobjectArray arguments, jobject run) {
  et_result* result = nullptr;
  {
    Inputs inputs(env);
    if (!inputs.read(arguments)) {
      return nullptr;
    }
    et_error* error = nullptr;
    const auto& values = inputs.values();
    if (throw_if(env,
                 et_module_execute(to_module(module), to_string(env, method).c_str(), values.data(), values.size(),
                                   &result, &error),
                 error)) {
      return nullptr;
    }
  }
  // From here on `run` frees it, also when an exception follows.
  env->SetLongField(run, java.run_result, static_cast<jlong>(reinterpret_cast<intptr_t>(result)));
  const size_t count = et_result_size(result);
  const et_value* values = et_result_values(result);
  const jobjectArray outputs = env->NewObjectArray(static_cast<jsize>(count), java.evalue, nullptr);
  for (size_t i = 0; outputs != nullptr && i < count; ++i) {
    const jobject output = to_java(env, values[i], run);
    if (output == nullptr) {
      return nullptr;
    }
    env->SetObjectArrayElement(outputs, static_cast<jsize>(i), output);
    env->DeleteLocalRef(output);
  }
  return outputs;
}

void free_result(JNIEnv*, jclass, jlong result) {
  et_result_free(reinterpret_cast<et_result*>(static_cast<intptr_t>(result)));
}

}  // namespace

const std::vector<JNINativeMethod> kExecuteFunctions = {
    ET_NATIVE("execute",
              "(J[B[Lorg/pytorch/executorch/EValue;Lorg/pytorch/executorch/Run;)[Lorg/pytorch/executorch/EValue;",
              execute),
    ET_NATIVE("freeResult", "(J)V", free_result),
};

}  // namespace android
}  // namespace executorch
