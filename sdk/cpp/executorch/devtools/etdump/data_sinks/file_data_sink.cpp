// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/devtools/etdump/data_sinks/file_data_sink.h>

#include <cerrno>
#include <cstring>

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/platform/log.h>

namespace executorch {
namespace etdump {

using ::executorch::runtime::Result;

Result<FileDataSink> FileDataSink::create(const char* file_path) {
  ET_CHECK_OR_RETURN_ERROR(file_path != nullptr, InvalidArgument, "expected the path of a file for debug data");
  std::FILE* file = std::fopen(file_path, "wb");
  ET_CHECK_OR_RETURN_ERROR(file != nullptr, AccessFailed, "%s: cannot be written: %s", file_path, std::strerror(errno));
  return FileDataSink(file);
}

FileDataSink::FileDataSink(FileDataSink&& other) noexcept = default;

FileDataSink::~FileDataSink() = default;

Result<size_t> FileDataSink::write(const void* ptr, size_t size) {
  ET_CHECK_OR_RETURN_ERROR(ptr != nullptr || size == 0, InvalidArgument, "%zu bytes at a null pointer were to be kept",
                           size);
  ET_CHECK_OR_RETURN_ERROR(file_ != nullptr, AccessFailed, "the file for debug data is closed");
  ET_CHECK_OR_RETURN_ERROR(size == 0 || std::fwrite(ptr, 1, size, file_.get()) == size, AccessFailed,
                           "%zu bytes of debug data could not be written: %s", size, std::strerror(errno));
  const size_t offset = used_;
  used_ += size;
  return offset;
}

void FileDataSink::close() {
  file_.reset();
}

}  // namespace etdump
}  // namespace executorch
