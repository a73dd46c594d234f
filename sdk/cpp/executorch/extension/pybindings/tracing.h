// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>

#include <executorch/devtools/etdump/etdump_flatcc.h>

namespace executorch {
namespace extension {
namespace pybindings {

/// Throws NotImplementedError in a build whose runtime calls no event tracers.
void check_has_event_tracer();

/// A memory buffer for the elements of recorded tensors. It counts the tensors that do not fit.
class DebugBuffer final : public etdump::DataSinkBase {
 public:
  /// Throws std::bad_alloc.
  explicit DebugBuffer(size_t size);

  /// Errors: OutOfResources if the data does not fit; then nothing is written.
  runtime::Result<size_t> write(const void* ptr, size_t length) override;
  size_t get_used_bytes() const override { return sink_.get_used_bytes(); }

  /// Forgets all elements.
  void clear();

  const uint8_t* data() const { return memory_.get(); }
  size_t size() const { return size_; }
  /// The buffer size that would have been enough since the last clear(), not counting tensors of a list after one that
  /// did not fit.
  size_t needed_bytes() const { return needed_; }
  /// Number of values that did not fit.
  size_t missed() const { return missed_; }

 private:
  /// The alignment of each tensor's elements, in bytes.
  static constexpr size_t kAlignment = 64;
  struct Free {
    void operator()(uint8_t* memory) const { ::operator delete(memory, std::align_val_t(kAlignment)); }
  };

  std::unique_ptr<uint8_t, Free> memory_;
  size_t size_;
  size_t needed_ = 0;
  size_t missed_ = 0;
  etdump::BufferDataSink sink_;
};

/**
 * The events of a program and of all of its methods. Events are recorded while mutex() is held: methods that are traced
 * together run one after the other.
 */
class Tracing final {
 public:
  /// @param debug_buffer_size Bytes for the tensors that instructions and methods return; with 0, none are recorded.
  explicit Tracing(size_t debug_buffer_size);

  /// Where the runtime records events.
  runtime::EventTracer* tracer() { return &etdump_; }
  std::mutex& mutex() { return mutex_; }

  /// Call before events are recorded, with the mutex held. Discards events that have been written to a file.
  void begin();

  /// Writes the events since the last time as an ETDump and the recorded tensors, if any, to files. Call with the GIL.
  /// The files are written whole or not at all. Throws std::runtime_error when there are no events, and OSError.
  void write(const std::string& path, const std::optional<std::string>& debug_buffer_path);

 private:
  std::mutex mutex_;
  etdump::ETDumpGen etdump_;
  std::unique_ptr<DebugBuffer> debug_buffer_;
  bool is_written_ = false;
};

}  // namespace pybindings
}  // namespace extension
}  // namespace executorch
