// SPDX-License-Identifier: BSD-3-Clause
#include <Python.h>

#include <executorch/extension/pybindings/log_capture.h>

#include <cstdio>

#include <executorch/runtime/platform/platform.h>

namespace executorch {
namespace extension {
namespace pybindings {

namespace {

thread_local LogCapture* innermost_capture = nullptr;

void emit_log_message(et_timestamp_t, et_pal_log_level_t level, const char* filename, const char*, size_t line,
                      const char* message, size_t length) {
  if (innermost_capture != nullptr && (level == kError || level == kFatal)) {
    innermost_capture->add(message, length);
    return;
  }
  // Python's sys.stderr is visible in notebooks. A thread without the GIL must not wait for it here, because the thread
  // that holds it may be waiting for this one.
  if (Py_IsInitialized() && PyGILState_Check()) {
    // Its format has no "%.*s", and "%s" must be UTF-8, which a name from a file need not be.
    PyObject* const text = PyUnicode_DecodeUTF8(message, static_cast<Py_ssize_t>(length), "replace");
    if (text == nullptr) {
      PyErr_Clear();  // out of memory
      return;
    }
    PySys_FormatStderr("%c [%s:%zu] %U\n", static_cast<int>(level), filename, line, text);
    Py_DECREF(text);
  } else {
    std::fprintf(stderr, "%c [%s:%zu] %.*s\n", static_cast<char>(level), filename, line, static_cast<int>(length),
                 message);
  }
}

}  // namespace

void register_log_sink() {
  runtime::register_pal(runtime::PalImpl::create(emit_log_message, __FILE__));
}

LogCapture::LogCapture() : outer_(innermost_capture) {
  innermost_capture = this;
}

LogCapture::~LogCapture() {
  innermost_capture = outer_;
}

}  // namespace pybindings
}  // namespace extension
}  // namespace executorch
