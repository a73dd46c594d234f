// SPDX-License-Identifier: BSD-3-Clause
// Native functions that run methods, and convert inputs from Java; tensors are not copied.
#include <algorithm>
#include <array>
#include <cstring>

#include "jni_support.h"

namespace executorch {
namespace android {
namespace {

et_cancellation* to_cancellation(jlong handle) {
  return reinterpret_cast<et_cancellation*>(static_cast<intptr_t>(handle));
}

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
    tensors_.reserve(values_.size());  // so that push_back cannot fail and leak a tensor
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
    // et_tensor_wrap refuses a larger rank before it reads the sizes, so no more of them are needed here.
    const auto known = static_cast<jsize>(std::min(rank, kMaxRank));
    std::array<jlong, kMaxRank> long_sizes{};
    std::array<int32_t, kMaxRank> sizes{};
    std::array<jbyte, kMaxRank> dims{};
    env_->GetLongArrayRegion(shape, 0, known, long_sizes.data());
    size_t nbytes = et_dtype_size(dtype);
    for (size_t i = 0; i < static_cast<size_t>(known); ++i) {
      sizes[i] = static_cast<int32_t>(long_sizes[i]);  // the Java class Tensor checks that it fits
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

jobjectArray execute(JNIEnv* env, jclass, jlong module, jbyteArray method, jobjectArray arguments, jobject run,
                     jlong cancellation) {
  et_result* result = nullptr;
  {
    Inputs inputs(env);
    if (!inputs.read(arguments)) {
      return nullptr;
    }
    et_error* error = nullptr;
    const auto& values = inputs.values();
    if (throw_if(env,
                 et_module_execute_cancellable(to_module(module), to_string(env, method).c_str(), values.data(),
                                               values.size(), to_cancellation(cancellation), &result, &error),
                 error)) {
      return nullptr;
    }
  }
  return to_java(env, result, run);
}

jobjectArray outputs(JNIEnv* env, jclass, jlong module, jbyteArray method, jobject run) {
  et_result* result = nullptr;
  et_error* error = nullptr;
  const et_status status = et_module_outputs(to_module(module), to_string(env, method).c_str(), &result, &error);
  return throw_if(env, status, error) ? nullptr : to_java(env, result, run);
}

/// The test case `index` of a bundled program.
jobjectArray execute_bundled(JNIEnv* env, jclass, jlong module, jbyteArray method, jint index, jobject run) {
  et_result* result = nullptr;
  et_error* error = nullptr;
  const std::string name = to_string(env, method);
  const et_status status =
      et_module_execute_bundled(to_module(module), name.c_str(), static_cast<size_t>(index), &result, &error);
  return throw_if(env, status, error) ? nullptr : to_java(env, result, run);
}

jlong new_cancellation(JNIEnv* env, jclass) {
  et_cancellation* made = nullptr;
  et_error* error = nullptr;
  throw_if(env, et_cancellation_create(&made, &error), error);
  return static_cast<jlong>(reinterpret_cast<intptr_t>(made));
}

void cancel(JNIEnv*, jclass, jlong cancellation) {
  et_cancellation_cancel(to_cancellation(cancellation));
}

void free_cancellation(JNIEnv*, jclass, jlong cancellation) {
  et_cancellation_free(to_cancellation(cancellation));
}

void free_result(JNIEnv*, jclass, jlong result) {
  et_result_free(reinterpret_cast<et_result*>(static_cast<intptr_t>(result)));
}

}  // namespace

const std::vector<JNINativeMethod> kExecuteFunctions = {
    ET_NATIVE("execute",
              "(J[B[Lorg/pytorch/executorch/EValue;Lorg/pytorch/executorch/Run;J)[Lorg/pytorch/executorch/EValue;",
              execute),
    ET_NATIVE("outputs", "(J[BLorg/pytorch/executorch/Run;)[Lorg/pytorch/executorch/EValue;", outputs),
    ET_NATIVE("executeBundled", "(J[BILorg/pytorch/executorch/Run;)[Lorg/pytorch/executorch/EValue;", execute_bundled),
    ET_NATIVE("newCancellation", "()J", new_cancellation),
    ET_NATIVE("cancel", "(J)V", cancel),
    ET_NATIVE("freeCancellation", "(J)V", free_cancellation),
    ET_NATIVE("freeResult", "(J)V", free_result),
};

}  // namespace android
}  // namespace executorch
