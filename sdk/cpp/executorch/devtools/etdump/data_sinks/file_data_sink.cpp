// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/devtools/etdump/data_sinks/file_data_sink.h>

#include <cerrno>
#include <cstring>

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/platform/log.h>

#if defined(__unix__) || defined(__APPLE__)
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

namespace executorch {
namespace etdump {

using ::executorch::runtime::Result;

namespace {

/// Opens a new or an existing file; null with errno if that fails. Offsets into a pipe have no meaning, and opening one
/// would wait for a reader.
std::FILE* open_for_writing(const char* path) {
#if defined(__unix__) || defined(__APPLE__)
  const int descriptor = ::open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK, 0666);
  if (descriptor < 0) {
    return nullptr;
  }
  struct stat found{};
  const bool is_stream = ::fstat(descriptor, &found) == 0 && (S_ISFIFO(found.st_mode) || S_ISSOCK(found.st_mode));
  std::FILE* const file = is_stream ? nullptr : ::fdopen(descriptor, "wb");
  if (file == nullptr) {
    const int reason = is_stream ? ESPIPE : errno;
    ::close(descriptor);
    errno = reason;
  }
  return file;
#else
  return std::fopen(path, "wb");
#endif
}

}  // namespace

Result<FileDataSink> FileDataSink::create(const char* file_path) {
  ET_CHECK_OR_RETURN_ERROR(file_path != nullptr, InvalidArgument, "expected the path of a file for debug data");
  std::FILE* file = open_for_writing(file_path);
  ET_CHECK_OR_RETURN_ERROR(file != nullptr, AccessFailed, "%s: expected a file that can be written: %s", file_path,
                           std::strerror(errno));
  return FileDataSink(file);
}

FileDataSink::FileDataSink(FileDataSink&& other) noexcept = default;

FileDataSink::~FileDataSink() = default;

Result<size_t> FileDataSink::write(const void* ptr, size_t size) {
  ET_CHECK_OR_RETURN_ERROR(ptr != nullptr || size == 0, InvalidArgument, "expected a pointer to %zu bytes, found null",
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
