// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/c_api/call.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <shared_mutex>

#include <executorch/extension/c_api/utf8.h>
#include <executorch/runtime/platform/platform.h>
#include <executorch/runtime/platform/runtime.h>

struct et_error {
  et_status status;
  std::string message;
};

namespace executorch {
namespace extension {
namespace c_api {

using runtime::Error;

namespace {

struct Sink {
  et_log_sink function = nullptr;
  void* context = nullptr;
  et_log_level min_level = ET_LOG_LEVEL_DEBUG;
};

// Calls of a sink hold this lock as readers, so that replacing the sink waits until they have returned.
std::shared_mutex sink_mutex;
Sink sink;
runtime::pal_emit_log_message_method platform_log = nullptr;

thread_local LogCapture* innermost_capture = nullptr;
thread_local bool inside_sink = false;

/// The error object for the case that there is no memory for another one. Never freed.
et_error out_of_memory{ET_STATUS_MEMORY_ALLOCATION_FAILED, "out of memory"};

et_log_level level_of(et_pal_log_level_t level) {
  switch (level) {
    case kDebug:
      return ET_LOG_LEVEL_DEBUG;
    case kError:
      return ET_LOG_LEVEL_ERROR;
    case kFatal:
      return ET_LOG_LEVEL_FATAL;
    default:
      return ET_LOG_LEVEL_INFO;
  }
}

void emit_log_message(et_timestamp_t timestamp, et_pal_log_level_t pal_level, const char* file, const char* function,
                      size_t line, const char* message, size_t length) {
  const et_log_level level = level_of(pal_level);
  const bool captured = innermost_capture != nullptr && level >= ET_LOG_LEVEL_ERROR;
  if (captured) {
    innermost_capture->add(message, length);
  }
  if (inside_sink) {
    return;  // do not send a sink the log lines that it causes itself
  }
  std::shared_lock<std::shared_mutex> lock(sink_mutex);
  if (sink.function != nullptr) {
    if (level >= sink.min_level) {
      inside_sink = true;
      sink.function(level, file, line, message, sink.context);
      inside_sink = false;
    }
  } else if (!captured || level == ET_LOG_LEVEL_FATAL) {
    platform_log(timestamp, pal_level, file, function, line, message, length);
  }
}

/// The message of an error without log lines, as when logging is compiled out.
const char* describe(Error status) {
  switch (status) {
    case Error::InvalidArgument:
      return "InvalidArgument: an argument has a wrong value";
    case Error::InvalidProgram:
      return "InvalidProgram: the program is damaged, cut off or of another version";
    case Error::InvalidExternalData:
      return "InvalidExternalData: the data file is damaged or does not fit the program";
    case Error::OperatorMissing:
      return "OperatorMissing: this build lacks operators that the program uses";
    case Error::NotFound:
      return "NotFound: the program uses a backend, or data, that is not there";
    case Error::MemoryAllocationFailed:
      return "MemoryAllocationFailed: out of memory";
    case Error::AccessFailed:
      return "AccessFailed: the file cannot be read";
    default:
      return runtime::error_name(status);
  }
}

}  // namespace

void initialize() {
  static const bool done = [] {
    runtime::runtime_init();
    platform_log = runtime::get_pal_impl()->emit_log_message;
    return runtime::register_pal(runtime::PalImpl::create(emit_log_message, __FILE__));
  }();
  (void)done;
}

LogCapture::LogCapture() : outer_(innermost_capture) {
  innermost_capture = this;
}

LogCapture::~LogCapture() {
  innermost_capture = outer_;
}

void LogCapture::add(const char* message, size_t length) noexcept {
#if ET_HAS_EXCEPTIONS
  try {
    lines_.emplace_back(message, length);
  } catch (...) {
    // The status says that memory ran out; a missing line is acceptable.
  }
#else
  lines_.emplace_back(message, length);
#endif
}

et_status LogCapture::finish(Error status, et_error** error) noexcept {
  const auto number = static_cast<et_status>(status);
  if (status == Error::Ok) {
    return number;
  }
  if (error == nullptr) {
    const std::shared_lock<std::shared_mutex> lock(sink_mutex);
    if (sink.function == nullptr) {
      for (const std::string& line : lines_) {
        platform_log(runtime::pal_current_ticks(), kError, "c_api", "", 0, line.data(), line.size());
      }
    }
    return number;
  }
#if ET_HAS_EXCEPTIONS
  try {
#endif
    auto result = std::make_unique<et_error>();
    result->status = number;
    for (const std::string& line : lines_) {
      result->message += (result->message.empty() ? "" : "\n") + valid_utf8(line);
    }
    if (result->message.empty()) {
      result->message = describe(status);
    }
    *error = result.release();
#if ET_HAS_EXCEPTIONS
  } catch (...) {
    *error = &out_of_memory;
  }
#endif
  return number;
}

}  // namespace c_api
}  // namespace extension
}  // namespace executorch

using executorch::extension::c_api::call;
using executorch::runtime::Error;

uint32_t et_c_api_version(void) {
  return ET_C_API_VERSION;
}

const char* et_status_name(et_status status) {
  return executorch::runtime::error_name(static_cast<Error>(status));
}

et_status et_error_status(const et_error* error) {
  return error != nullptr ? error->status : et_status{ET_STATUS_OK};
}

const char* et_error_message(const et_error* error) {
  return error != nullptr ? error->message.c_str() : nullptr;
}

void et_error_free(et_error* error) {
  if (error != &executorch::extension::c_api::out_of_memory) {
    delete error;
  }
}

et_status et_set_log_sink(et_log_sink function, void* context, et_log_level min_level, et_error** error) {
  using namespace executorch::extension::c_api;
  return call(error, [&] {
    ET_CHECK_OR_RETURN_ERROR(!inside_sink, InvalidState, "the log sink cannot be replaced from within a log sink");
    ET_CHECK_OR_RETURN_ERROR(min_level >= ET_LOG_LEVEL_DEBUG && min_level <= ET_LOG_LEVEL_FATAL, InvalidArgument,
                             "expected a level from 0 (debug) to 3 (fatal), found %d", static_cast<int>(min_level));
    const std::unique_lock<std::shared_mutex> lock(sink_mutex);
    sink = {function, context, min_level};
    return Error::Ok;
  });
}
