// SPDX-License-Identifier: BSD-3-Clause
// The calls that CallOverhead.kt compares with: they go directly to the C++ Module under a Kotlin Module. Both use the
// same weights, memory plan and input memory, so only the call differs.
#include <ctime>
#include <memory>
#include <vector>

#include <jni.h>

#include <executorch/extension/c_api/module_state.h>
#include <executorch/extension/tensor/tensor.h>

using executorch::extension::Module;
using executorch::extension::TensorPtr;
using executorch::runtime::EValue;

namespace {

struct Calls {
  Module& module;
  std::vector<TensorPtr> tensors;
  std::vector<EValue> inputs;
};

jlong nanoseconds(clockid_t clock) {
  timespec time = {};
  clock_gettime(clock, &time);
  return static_cast<jlong>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

extern "C" {

/// The C++ side of a Module, from its handle and the direct buffers of its inputs. 0 if an input is not a tensor.
JNIEXPORT jlong JNICALL Java_org_pytorch_executorch_InCpp_open(JNIEnv* env, jclass, jlong handle,
                                                               jobjectArray buffers) {
  auto calls = std::make_unique<Calls>(Calls{*reinterpret_cast<et_module*>(handle)->state->module, {}, {}});
  const auto meta = calls->module.method_meta("forward");
  if (!meta.ok() || meta->num_inputs() != static_cast<size_t>(env->GetArrayLength(buffers))) {
    return 0;
  }
  for (size_t i = 0; i < meta->num_inputs(); ++i) {
    const auto info = meta->input_tensor_meta(i);
    if (!info.ok()) {
      return 0;
    }
    void* const data = env->GetDirectBufferAddress(env->GetObjectArrayElement(buffers, static_cast<jsize>(i)));
    calls->tensors.push_back(
        executorch::extension::from_blob(data, {info->sizes().begin(), info->sizes().end()}, info->scalar_type()));
    calls->inputs.emplace_back(calls->tensors.back());
  }
  return reinterpret_cast<jlong>(calls.release());
}

/// Nanoseconds of CPU time that `count` calls took; -1 if one failed.
JNIEXPORT jlong JNICALL Java_org_pytorch_executorch_InCpp_run(JNIEnv*, jclass, jlong handle, jint count) {
  auto& calls = *reinterpret_cast<Calls*>(handle);
  const jlong start = nanoseconds(CLOCK_THREAD_CPUTIME_ID);
  for (jint i = 0; i < count; ++i) {
    if (!calls.module.forward(calls.inputs).ok()) {
      return -1;
    }
  }
  return nanoseconds(CLOCK_THREAD_CPUTIME_ID) - start;
}

/// CPU time of the calling thread, or of all threads, including the garbage collector and the JIT compiler.
JNIEXPORT jlong JNICALL Java_org_pytorch_executorch_InCpp_now(JNIEnv*, jclass, jboolean process) {
  return nanoseconds(process != 0 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_THREAD_CPUTIME_ID);
}

}  // extern "C"
