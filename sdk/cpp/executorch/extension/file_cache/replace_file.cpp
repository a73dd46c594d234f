// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/file_cache/replace_file.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include <executorch/extension/file_cache/content_name.h>

#if defined(_WIN32)
#include <filesystem>
#elif defined(__unix__) || defined(__APPLE__)
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#define EXECUTORCH_HAS_POSIX_FILES
#endif

namespace executorch {
namespace extension {

namespace {

std::error_code last_error() {
  return {errno != 0 ? errno : EIO, std::generic_category()};
}

#if defined(_WIN32)

std::FILE* open_existing(const std::string& path) {
  return _wfopen(std::filesystem::u8path(path).c_str(), L"wb");
}

std::FILE* open_new(const std::string& path, unsigned /*mode*/) {
  return _wfopen(std::filesystem::u8path(path).c_str(), L"wbx");
}

bool is_written_in_place(const std::string& path) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(std::filesystem::u8path(path), error);
  return !error && std::filesystem::exists(status) && !std::filesystem::is_regular_file(status);
}

std::error_code follow_link(std::string& path) {
  std::error_code error;
  const std::filesystem::path link = std::filesystem::u8path(path);
  if (std::filesystem::is_symlink(std::filesystem::symlink_status(link, error))) {
    path = std::filesystem::canonical(link, error).u8string();
    return error;
  }
  return {};
}

// Replaces an existing file, which std::rename() need not do.
std::error_code move_file(const std::string& from, const std::string& to) {
  std::error_code error;
  std::filesystem::rename(std::filesystem::u8path(from), std::filesystem::u8path(to), error);
  return error;
}

void remove_file(const std::string& path) {
  std::error_code error;
  std::filesystem::remove(std::filesystem::u8path(path), error);
}

#else

#if defined(EXECUTORCH_HAS_POSIX_FILES)
/// A stream over a descriptor, which is closed if there is no memory for it.
std::FILE* stream_of(int descriptor) {
  std::FILE* const file = descriptor < 0 ? nullptr : ::fdopen(descriptor, "wb");
  if (descriptor >= 0 && file == nullptr) {
    const int reason = errno;
    ::close(descriptor);
    errno = reason;
  }
  return file;
}
#endif

std::FILE* open_existing(const std::string& path) {
#if defined(EXECUTORCH_HAS_POSIX_FILES)
  // Without O_NONBLOCK, opening a pipe without a reader would block; writing to a pipe may block.
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC | O_NONBLOCK);
  if (descriptor >= 0) {
    (void)::fcntl(descriptor, F_SETFL, ::fcntl(descriptor, F_GETFL) & ~O_NONBLOCK);
  }
  return stream_of(descriptor);
#else
  return std::fopen(path.c_str(), "wb");
#endif
}

std::FILE* open_new(const std::string& path, unsigned mode) {
#if defined(EXECUTORCH_HAS_POSIX_FILES)
  const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  const int descriptor = ::open(path.c_str(), flags, static_cast<mode_t>(mode));
  std::FILE* const file = stream_of(descriptor);
  if (descriptor >= 0 && file == nullptr) {
    const int reason = errno;
    ::unlink(path.c_str());
    errno = reason;
  }
  return file;
#else
  (void)mode;
  return std::fopen(path.c_str(), "wbx");
#endif
}

bool is_written_in_place([[maybe_unused]] const std::string& path) {
#if defined(EXECUTORCH_HAS_POSIX_FILES)
  for (const char* const standard : {"/dev/std", "/dev/fd/", "/proc/"}) {
    if (path.rfind(standard, 0) == 0) {
      return true;
    }
  }
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode);
#else
  return false;
#endif
}

std::error_code follow_link([[maybe_unused]] std::string& path) {
#if defined(EXECUTORCH_HAS_POSIX_FILES)
  struct stat status{};
  const bool is_link = ::lstat(path.c_str(), &status) == 0 && S_ISLNK(status.st_mode);
  // Only links of this user or of root, so that no other user chooses which file is replaced.
  if (is_link && (status.st_uid == ::geteuid() || status.st_uid == 0)) {
    errno = 0;
    char* const target = ::realpath(path.c_str(), nullptr);
    if (target == nullptr) {
      return last_error();
    }
    path = target;
    std::free(target);
  }
#endif
  return {};
}

std::error_code move_file(const std::string& from, const std::string& to) {
  errno = 0;
  return std::rename(from.c_str(), to.c_str()) == 0 ? std::error_code() : last_error();
}

void remove_file(const std::string& path) {
  (void)std::remove(path.c_str());
}

#endif

/// Writes to a file, and closes it.
std::error_code write_parts(std::FILE* file, runtime::Span<const FilePart> parts) {
  std::error_code error;
  errno = 0;
  for (const FilePart& part : parts) {
    if (part.size > 0 && std::fwrite(part.data, 1, part.size, file) != part.size) {
      error = last_error();
      break;
    }
  }
  if (std::fclose(file) != 0 && !error) {
    error = last_error();
  }
  return error;
}

/// `path` and a suffix that cannot be predicted.
std::string name_beside(const std::string& path) {
  static const char digits[] = "0123456789abcdef";
  std::string name = path + ".";
  for (uint64_t rest = random_seed()[0], i = 0; i < 16; ++i, rest >>= 4) {
    name.push_back(digits[rest & 15]);
  }
  return name + ".new";
}

}  // namespace

std::error_code replace_file(const std::string& path, runtime::Span<const FilePart> parts, unsigned mode) {
  errno = 0;
  if (is_written_in_place(path)) {
    std::FILE* const file = open_existing(path);
    return file == nullptr ? last_error() : write_parts(file, parts);
  }
  std::string target = path;
  if (const std::error_code error = follow_link(target)) {
    return error;
  }
  const std::string made = name_beside(target);
  std::FILE* const file = open_new(made, mode);
  if (file == nullptr) {
    return last_error();
  }
  std::error_code error = write_parts(file, parts);
  if (!error) {
    error = move_file(made, target);
  }
  if (error) {
    remove_file(made);
  }
  return error;
}

std::error_code replace_file(const std::string& path, const void* data, size_t size, unsigned mode) {
  const FilePart part{data, size};
  return replace_file(path, {&part, 1}, mode);
}

}  // namespace extension
}  // namespace executorch
