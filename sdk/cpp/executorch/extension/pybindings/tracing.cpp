// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/pybindings/tracing.h>

#include <cerrno>
#include <cstdlib>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <pybind11/pybind11.h>

#include <executorch/extension/file_cache/replace_file.h>
#include <executorch/runtime/core/event_tracer_hooks.h>

namespace py = pybind11;

namespace executorch {
namespace extension {
namespace pybindings {

namespace {

using Dump = std::unique_ptr<void, decltype(&std::free)>;

[[noreturn]] void throw_os_error(int number, const std::string& path) {
  errno = number;
  PyErr_SetFromErrnoWithFilename(PyExc_OSError, path.c_str());
  throw py::error_already_set();
}

void write_file(const std::string& path, const void* data, size_t size) {
  if (const std::error_code error = replace_file(path, data, size)) {
    // Python has the numbers of the C library, on Windows too.
    throw_os_error(error.default_error_condition().value(), path);
  }
}

}  // namespace

void check_has_event_tracer() {
  if (!runtime::internal::event_tracer_enabled()) {
    PyErr_SetString(PyExc_NotImplementedError,
                    "this build has no event tracer: load the program with enable_etdump=False, or build the package "
                    "with EXECUTORCH_ENABLE_EVENT_TRACER=ON");
    throw py::error_already_set();
  }
}

DebugBuffer::DebugBuffer(size_t size)
    : memory_(static_cast<uint8_t*>(::operator new(size, std::align_val_t(kAlignment)))), size_(size) {
  clear();
}

void DebugBuffer::clear() {
  sink_ = std::move(etdump::BufferDataSink::create(memory_.get(), size_, kAlignment).get());
  needed_ = 0;
  missed_ = 0;
}

runtime::Result<size_t> DebugBuffer::write(const void* ptr, size_t length) {
  needed_ = (needed_ + kAlignment - 1) / kAlignment * kAlignment + length;
  // Instead of a log line for each tensor, Tracing::write() warns once. No tensor is recorded after the first that does
  // not fit.
  if (needed_ > size_) {
    ++missed_;
    return runtime::Error::OutOfResources;
  }
  return sink_.write(ptr, length);
}

Tracing::Tracing(size_t debug_buffer_size) {
  if (debug_buffer_size > 0) {
    debug_buffer_ = std::make_unique<DebugBuffer>(debug_buffer_size);
    etdump_.set_data_sink(debug_buffer_.get());
    etdump_.set_event_tracer_debug_level(runtime::EventTracerDebugLogLevel::kIntermediateOutputs);
  }
}

void Tracing::begin() {
  if (is_written_) {
    etdump_.reset();
    if (debug_buffer_ != nullptr) {
      debug_buffer_->clear();
    }
    is_written_ = false;
  }
}

void Tracing::write(const std::string& path, const std::optional<std::string>& debug_buffer_path) {
  std::unique_lock<std::mutex> locked(mutex_, std::defer_lock);
  {
    const py::gil_scoped_release release;
    locked.lock();
  }
  const etdump::ETDumpResult result = etdump_.get_etdump_data();
  const Dump dump(result.buf, &std::free);
  if (result.buf == nullptr) {
    throw std::runtime_error("there are no events to write: load or run a method first");
  }
  write_file(path, result.buf, result.size);
  if (debug_buffer_ != nullptr && debug_buffer_path) {
    write_file(*debug_buffer_path, debug_buffer_->data(), debug_buffer_->get_used_bytes());
  }
  is_written_ = true;
  if (debug_buffer_ != nullptr && debug_buffer_->missed() > 0) {
    const std::string text = "the debug buffer of " + std::to_string(debug_buffer_->size()) +
                             " bytes had no room for the last " + std::to_string(debug_buffer_->missed()) +
                             " values; load the program with a debug_buffer_size of at least " +
                             std::to_string(debug_buffer_->needed_bytes()) + ", or run it fewer times before writing";
    if (PyErr_WarnEx(PyExc_RuntimeWarning, text.c_str(), 1) != 0) {
      throw py::error_already_set();
    }
  }
}

}  // namespace pybindings
}  // namespace extension
}  // namespace executorch
