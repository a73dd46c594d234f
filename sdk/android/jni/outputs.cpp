// SPDX-License-Identifier: BSD-3-Clause
// Converts the outputs of methods to Java values; tensors are not copied.
#include <array>
#include <cstring>

#include "jni_support.h"

namespace executorch {
namespace android {
namespace {

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

/// The items of a list as an array of Java; null with an exception pending.
jobject list_to_java(JNIEnv* env, const et_value& value, jobject run) {
  static_assert(sizeof(jlong) == sizeof(int64_t) && sizeof(jboolean) == sizeof(uint8_t),
                "arrays are copied as they are");
  const et_span& span = value.payload.as_span;
  const auto size = static_cast<jsize>(span.size);
  switch (value.tag) {
    case ET_TAG_LIST_BOOL: {
      const jbooleanArray array = env->NewBooleanArray(size);
      if (array != nullptr && size > 0) {
        env->SetBooleanArrayRegion(array, 0, size, static_cast<const jboolean*>(span.data));
      }
      return array;
    }
    case ET_TAG_LIST_DOUBLE: {
      const jdoubleArray array = env->NewDoubleArray(size);
      if (array != nullptr && size > 0) {
        env->SetDoubleArrayRegion(array, 0, size, static_cast<const jdouble*>(span.data));
      }
      return array;
    }
    case ET_TAG_LIST_INT: {
      const jlongArray array = env->NewLongArray(size);
      if (array != nullptr && size > 0) {
        env->SetLongArrayRegion(array, 0, size, static_cast<const jlong*>(span.data));
      }
      return array;
    }
    case ET_TAG_LIST_TENSOR:
    case ET_TAG_LIST_OPTIONAL_TENSOR: {
      const auto* const tensors = static_cast<const et_tensor* const*>(span.data);
      const jobjectArray array = env->NewObjectArray(size, java.tensor, nullptr);
      for (jsize i = 0; array != nullptr && i < size; ++i) {
        if (tensors[i] == nullptr) {
          continue;  // absent
        }
        const jobject tensor = to_java(env, tensors[i], run);
        if (tensor == nullptr) {
          return nullptr;
        }
        env->SetObjectArrayElement(array, i, tensor);
        env->DeleteLocalRef(tensor);
      }
      return array;
    }
    default: {
      const std::string text =
          "an output is of type " + std::string(et_tag_name(value.tag)) + ", which EValue does not have";
      throw_error(env, ET_STATUS_NOT_SUPPORTED, text.c_str());
      return nullptr;
    }
  }
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
    default:
      content = list_to_java(env, value, run);
      if (content == nullptr) {
        return nullptr;
      }
  }
  const jobject made = env->NewObject(java.evalue, java.evalue_init, static_cast<jint>(value.tag), bits, content);
  env->DeleteLocalRef(content);
  return made;
}

}  // namespace

jobjectArray to_java(JNIEnv* env, et_result* result, jobject run) {
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

}  // namespace android
}  // namespace executorch
