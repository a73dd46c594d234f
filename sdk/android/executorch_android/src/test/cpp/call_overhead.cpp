// SPDX-License-Identifier: BSD-3-Clause
// What CallOverhead.kt compares with: the same program on the same inputs through Module, in the same process.
#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include <jni.h>

#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor.h>
#include <executorch/extension/threadpool/threadpool.h>

using executorch::extension::Module;
using executorch::extension::TensorPtr;
using executorch::runtime::EValue;

namespace {

struct Program {
  explicit Program(const std::string& path) : module(path, Module::LoadMode::File) {}

  Module module;
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

/// With one thread. 0 if the program cannot be loaded, or takes something else than tensors.
JNIEXPORT jlong JNICALL Java_org_pytorch_executorch_InCpp_open(JNIEnv* env, jclass, jstring path) {
  const char* text = env->GetStringUTFChars(path, nullptr);
  auto program = std::make_unique<Program>(text);
  env->ReleaseStringUTFChars(path, text);
  executorch::extension::threadpool::get_threadpool()->_unsafe_reset_threadpool(1);
  const auto meta = program->module.method_meta("forward");
  if (!meta.ok()) {
    return 0;
  }
  for (size_t i = 0; i < meta->num_inputs(); ++i) {
    const auto info = meta->input_tensor_meta(i);
    if (!info.ok()) {
      return 0;
    }
    program->tensors.push_back(
        executorch::extension::ones({info->sizes().begin(), info->sizes().end()}, info->scalar_type()));
    program->inputs.emplace_back(program->tensors.back());
  }
  return reinterpret_cast<jlong>(program.release());
}

/// Nanoseconds of CPU time that `calls` calls took; -1 if one failed.
JNIEXPORT jlong JNICALL Java_org_pytorch_executorch_InCpp_run(JNIEnv*, jclass, jlong handle, jint calls) {
  auto& program = *reinterpret_cast<Program*>(handle);
  const jlong start = nanoseconds(CLOCK_THREAD_CPUTIME_ID);
  for (jint i = 0; i < calls; ++i) {
    if (!program.module.forward(program.inputs).ok()) {
      return -1;
    }
  }
  return nanoseconds(CLOCK_THREAD_CPUTIME_ID) - start;
}

/// CPU time of the calling thread, or of all of them: the garbage collector and the compiler, too.
JNIEXPORT jlong JNICALL Java_org_pytorch_executorch_InCpp_now(JNIEnv*, jclass, jboolean process) {
  return nanoseconds(process != 0 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_THREAD_CPUTIME_ID);
}

}  // extern "C"
