// SPDX-License-Identifier: BSD-3-Clause
// Native functions that load modules, read their metadata and free them.
#include "jni_support.h"

namespace executorch {
namespace android {

Options make_options(JNIEnv* env, jobjectArray data_paths, jint load_mode, jobjectArray backend_options) {
  et_error* error = nullptr;
  et_options* made = nullptr;
  if (throw_if(env, et_options_create(&made, &error), error)) {
    return nullptr;
  }
  Options options(made);
  if (throw_if(env, et_options_set_load_mode(made, load_mode, &error), error)) {
    return nullptr;
  }
  for (const std::string& path : to_strings(env, data_paths)) {
    if (throw_if(env, et_options_add_data_file(made, path.c_str(), &error), error)) {
      return nullptr;
    }
  }
  if (et_has_etdump() && throw_if(env, et_options_set_etdump(made, true, &error), error)) {
    return nullptr;
  }
  const auto names = to_strings(env, static_cast<jobjectArray>(env->GetObjectArrayElement(backend_options, 0)));
  const auto keys = to_strings(env, static_cast<jobjectArray>(env->GetObjectArrayElement(backend_options, 1)));
  std::vector<jint> values(names.size());
  env->GetIntArrayRegion(static_cast<jintArray>(env->GetObjectArrayElement(backend_options, 2)), 0,
                         static_cast<jsize>(values.size()), values.data());
  for (size_t i = 0; i < names.size(); ++i) {
    if (throw_if(env, et_options_set_backend_int(made, names[i].c_str(), keys[i].c_str(), values[i], &error), error)) {
      return nullptr;
    }
  }
  return options;
}

namespace {

/// Returns the handle of the module that `load(options, &module, &error)` creates.
template <typename Load>
jlong load_with(JNIEnv* env, jobjectArray data_paths, jint load_mode, jobjectArray backend_options, Load&& load) {
  const Options options = make_options(env, data_paths, load_mode, backend_options);
  if (options == nullptr) {
    return 0;
  }
  et_module* module = nullptr;
  et_error* error = nullptr;
  throw_if(env, load(options.get(), &module, &error), error);
  return static_cast<jlong>(reinterpret_cast<intptr_t>(module));
}

jlong load_file(JNIEnv* env, jclass, jbyteArray path, jobjectArray data_paths, jint mode, jobjectArray options) {
  return load_with(env, data_paths, mode, options, [&](const et_options* given, et_module** out, et_error** error) {
    return et_module_load_file(to_string(env, path).c_str(), given, out, error);
  });
}

jlong load_buffer(JNIEnv* env, jclass, jobject bytes, jobjectArray data_paths, jint mode, jobjectArray options) {
  return load_with(env, data_paths, mode, options, [&](const et_options* given, et_module** out, et_error** error) {
    return et_module_load_buffer(env->GetDirectBufferAddress(bytes),
                                 static_cast<size_t>(env->GetDirectBufferCapacity(bytes)), let_go, hold(env, bytes),
                                 given, out, error);
  });
}

jlong load_bundled_file(JNIEnv* env, jclass, jbyteArray path, jobjectArray data_paths, jint mode,
                        jobjectArray options) {
  return load_with(env, data_paths, mode, options, [&](const et_options* given, et_module** out, et_error** error) {
    return et_module_load_bundled_file(to_string(env, path).c_str(), given, out, error);
  });
}

jint bundled_case_count(JNIEnv* env, jclass, jlong module, jbyteArray method) {
  return static_cast<jint>(et_module_bundled_case_count(to_module(module), to_string(env, method).c_str()));
}

void verify_bundled(JNIEnv* env, jclass, jlong module, jbyteArray method, jint index, jdouble rtol, jdouble atol) {
  et_error* error = nullptr;
  const std::string name = to_string(env, method);
  const auto number = static_cast<size_t>(index);
  throw_if(env, et_module_verify_bundled(to_module(module), name.c_str(), number, rtol, atol, &error), error);
}

/// Null with an exception pending.
jbyteArray take_etdump(JNIEnv* env, jclass, jlong module) {
  et_bytes* bytes = nullptr;
  et_error* error = nullptr;
  if (throw_if(env, et_module_take_etdump(to_module(module), &bytes, &error), error)) {
    return nullptr;
  }
  const jbyteArray array = to_bytes(env, static_cast<const char*>(et_bytes_data(bytes)), et_bytes_size(bytes));
  et_bytes_free(bytes);
  return array;
}

jlong load_descriptor(JNIEnv* env, jclass, jint descriptor, jlong offset, jlong length, jobjectArray data_paths,
                      jint mode, jobjectArray options) {
  return load_with(env, data_paths, mode, options, [&](const et_options* given, et_module** out, et_error** error) {
    return et_module_load_fd(descriptor, static_cast<uint64_t>(offset), static_cast<uint64_t>(length), given, out,
                             error);
  });
}

void free_module(JNIEnv*, jclass, jlong module) {
  et_module_free(to_module(module));
}

void load_method(JNIEnv* env, jclass, jlong module, jbyteArray method) {
  et_error* error = nullptr;
  throw_if(env, et_module_load_method(to_module(module), to_string(env, method).c_str(), &error), error);
}

jobjectArray methods(JNIEnv* env, jclass, jlong handle) {
  const et_module* module = to_module(handle);
  return to_byte_arrays(env, et_module_method_count(module),
                        [module](size_t i) { return et_method_meta_name(et_module_method_at(module, i)); });
}

/// Null with an exception pending for an unknown name.
const et_method_meta* find_method(JNIEnv* env, jlong module, jbyteArray method) {
  const et_method_meta* meta = nullptr;
  et_error* error = nullptr;
  throw_if(env, et_module_method(to_module(module), to_string(env, method).c_str(), &meta, &error), error);
  return meta;
}

jobjectArray method_backends(JNIEnv* env, jclass, jlong module, jbyteArray method) {
  const et_method_meta* meta = find_method(env, module, method);
  return meta == nullptr ? nullptr : to_byte_arrays(env, et_method_meta_backend_count(meta), [meta](size_t i) {
    return et_method_meta_backend(meta, i);
  });
}

jlongArray method_values(JNIEnv* env, jclass, jlong module, jbyteArray method, jboolean outputs) {
  const et_method_meta* meta = find_method(env, module, method);
  if (meta == nullptr) {
    return nullptr;
  }
  std::vector<jlong> packed;
  const size_t count = outputs ? et_method_meta_output_count(meta) : et_method_meta_input_count(meta);
  for (size_t i = 0; i < count; ++i) {
    et_value_info info;
    et_error* error = nullptr;
    const et_status status =
        outputs ? et_method_meta_output(meta, i, &info, &error) : et_method_meta_input(meta, i, &info, &error);
    if (throw_if(env, status, error)) {
      return nullptr;
    }
    packed.push_back(info.tag);
    if (info.tag == ET_TAG_TENSOR) {
      packed.push_back(info.dtype);
      packed.push_back(static_cast<jlong>(info.rank));
      packed.insert(packed.end(), info.sizes, info.sizes + info.rank);
    }
  }
  const jlongArray array = env->NewLongArray(static_cast<jsize>(packed.size()));
  if (array != nullptr && !packed.empty()) {
    env->SetLongArrayRegion(array, 0, static_cast<jsize>(packed.size()), packed.data());
  }
  return array;
}

}  // namespace

const std::vector<JNINativeMethod> kModuleFunctions = {
    ET_NATIVE("loadFile", "([B[[BI[Ljava/lang/Object;)J", load_file),
    ET_NATIVE("loadBundledFile", "([B[[BI[Ljava/lang/Object;)J", load_bundled_file),
    ET_NATIVE("bundledCaseCount", "(J[B)I", bundled_case_count),
    ET_NATIVE("verifyBundled", "(J[BIDD)V", verify_bundled),
    ET_NATIVE("takeEtdump", "(J)[B", take_etdump),
    ET_NATIVE("loadBuffer", "(Ljava/nio/ByteBuffer;[[BI[Ljava/lang/Object;)J", load_buffer),
    ET_NATIVE("loadDescriptor", "(IJJ[[BI[Ljava/lang/Object;)J", load_descriptor),
    ET_NATIVE("freeModule", "(J)V", free_module),
    ET_NATIVE("loadMethod", "(J[B)V", load_method),
    ET_NATIVE("methods", "(J)[[B", methods),
    ET_NATIVE("methodBackends", "(J[B)[[B", method_backends),
    ET_NATIVE("methodValues", "(J[BZ)[J", method_values),
};

}  // namespace android
}  // namespace executorch
