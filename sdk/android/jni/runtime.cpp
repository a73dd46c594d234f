// SPDX-License-Identifier: BSD-3-Clause
// Native functions for the whole process: operators, backends, threads and the log.
#include <cstdio>
#include <deque>
#include <mutex>

#ifdef __ANDROID__
#include <android/log.h>
#endif

#include "jni_support.h"

namespace executorch {
namespace android {
namespace {

// Enough lines to see what led to an error, and few enough to send them with a crash report.
constexpr size_t kLogLines = 256;

/// The last lines of the log. Never destroyed: threads may log while the process ends.
struct LogBuffer {
  std::mutex mutex;
  std::deque<std::string> lines;
};

LogBuffer& log_buffer() {
  static auto* buffer = new LogBuffer;
  return *buffer;
}

void keep_line(et_log_level level, const char* file, size_t line, const char* message, void*) {
#ifdef __ANDROID__
  static constexpr android_LogPriority kPriorities[] = {ANDROID_LOG_DEBUG, ANDROID_LOG_INFO, ANDROID_LOG_ERROR,
                                                        ANDROID_LOG_FATAL};
  __android_log_write(kPriorities[level], "ExecuTorch", message);
#else
  if (level == ET_LOG_LEVEL_FATAL) {
    std::fprintf(stderr, "%s:%zu: %s\n", file, line, message);
  }
#endif
  // Called by C code, which no exception may leave: if memory is exhausted, the line is dropped.
  try {
    std::string text(1, "DIEF"[level]);
    text += " " + std::string(file) + ":" + std::to_string(line) + " " + message;
    LogBuffer& buffer = log_buffer();
    const std::lock_guard<std::mutex> lock(buffer.mutex);
    if (buffer.lines.size() == kLogLines) {
      buffer.lines.pop_front();
    }
    buffer.lines.push_back(std::move(text));
  } catch (const std::bad_alloc&) {
  }
}

jobjectArray read_log(JNIEnv* env, jclass) {
  std::deque<std::string> lines;
  {
    LogBuffer& buffer = log_buffer();
    const std::lock_guard<std::mutex> lock(buffer.mutex);
    lines = buffer.lines;
  }
  return to_byte_arrays(env, lines.size(), [&lines](size_t i) { return lines[i].c_str(); });
}

jobjectArray operators(JNIEnv* env, jclass) {
  return to_byte_arrays(env, et_operator_count(), et_operator_name);
}

jboolean records_events(JNIEnv*, jclass) {
  return et_has_etdump() ? JNI_TRUE : JNI_FALSE;
}

jobjectArray backends(JNIEnv* env, jclass) {
  return to_byte_arrays(env, et_backend_count(), et_backend_name);
}

void set_thread_count(JNIEnv* env, jclass, jint count) {
  et_error* error = nullptr;
  throw_if(env, et_set_thread_count(static_cast<size_t>(count), &error), error);
}

jint thread_count(JNIEnv*, jclass) {
  return static_cast<jint>(et_thread_count());
}

}  // namespace

void start_log_buffer() {
  et_set_log_sink(keep_line, nullptr, ET_LOG_LEVEL_DEBUG, nullptr);
}

const std::vector<JNINativeMethod> kRuntimeFunctions = {
    ET_NATIVE("setThreadCount", "(I)V", set_thread_count),
    ET_NATIVE("threadCount", "()I", thread_count),
    ET_NATIVE("operators", "()[[B", operators),
    ET_NATIVE("backends", "()[[B", backends),
    ET_NATIVE("recordsEvents", "()Z", records_events),
    ET_NATIVE("readLog", "()[[B", read_log),
};

}  // namespace android
}  // namespace executorch
