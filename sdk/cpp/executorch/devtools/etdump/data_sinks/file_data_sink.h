// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdio>
#include <memory>

#include <executorch/devtools/etdump/data_sinks/data_sink_base.h>

namespace executorch {
namespace etdump {

/// Stores payloads in a file, which the destructor closes.
class FileDataSink : public DataSinkBase {
 public:
  /// Creates or empties the file. Errors: AccessFailed.
  static ::executorch::runtime::Result<FileDataSink> create(const char* file_path);

  ~FileDataSink() override;
  FileDataSink(const FileDataSink&) = delete;
  FileDataSink& operator=(const FileDataSink&) = delete;
  FileDataSink(FileDataSink&& other) noexcept;
  FileDataSink& operator=(FileDataSink&& other) = default;

  /// Errors: AccessFailed after close() and when the file cannot be written.
  ::executorch::runtime::Result<size_t> write(const void* ptr, size_t size) override;

  size_t get_used_bytes() const override { return used_; }

  /// Writes the buffered bytes and closes the file; nothing can be written after that.
  void close();

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  explicit FileDataSink(std::FILE* file) : file_(file) {}

  std::unique_ptr<std::FILE, Close> file_;
  size_t used_ = 0;
};

}  // namespace etdump
}  // namespace executorch
