// SPDX-License-Identifier: BSD-3-Clause
#include "model_cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include <executorch/extension/file_cache/sha256.h>
#include <executorch/runtime/platform/log.h>

namespace executorch {
namespace backends {
namespace coreml {

namespace fs = std::filesystem;

using runtime::Error;
using runtime::Result;

namespace {

constexpr char kModel[] = "model.mlmodelc";
constexpr char kSize[] = "size";
constexpr char kWork[] = ".work-";
constexpr std::time_t kStale = 24 * 60 * 60;  // seconds

bool is_key(const std::string& key) {
  return !key.empty() && key.size() <= 128 && key.find_first_not_of("0123456789abcdef") == std::string::npos;
}

/// Writes a new file, and flushes it to the disk.
Error write_file(const std::string& path, const void* data, size_t size) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  ET_CHECK_OR_RETURN_ERROR(file >= 0, AccessFailed, "%s cannot be made: %s", path.c_str(), std::strerror(errno));
  const auto* bytes = static_cast<const char*>(data);
  bool is_written = true;
  while (is_written && size > 0) {
    const ssize_t count = ::write(file, bytes, size);
    if (count < 0 && errno == EINTR) {
      continue;
    }
    is_written = count > 0;
    bytes += is_written ? count : 0;
    size -= is_written ? static_cast<size_t>(count) : 0;
  }
  is_written = is_written && ::fsync(file) == 0;
  const int reason = errno;
  is_written = ::close(file) == 0 && is_written;
  ET_CHECK_OR_RETURN_ERROR(is_written, AccessFailed, "%s cannot be written: %s", path.c_str(), std::strerror(reason));
  return Error::Ok;
}

Error make_folder(const std::string& path) {
  std::error_code error;
  fs::create_directory(path, error);
  ET_CHECK_OR_RETURN_ERROR(!error, AccessFailed, "the folder %s cannot be made: %s", path.c_str(),
                           error.message().c_str());
  return Error::Ok;
}

// The iterators of std::filesystem, and what it builds on them, may end the process if memory runs out.

/// The entries of a folder, one after another. Takes no memory of the C++ heap.
class Entries final {
 public:
  /// `name` in the folder that is open as `parent`, or a path with AT_FDCWD. A link is not followed.
  Entries(int parent, const char* name) {
    const int file = ::openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    opened_ = file >= 0 ? ::fdopendir(file) : nullptr;
    if (file >= 0 && opened_ == nullptr) {
      ::close(file);
    }
  }
  ~Entries() {
    if (opened_ != nullptr) {
      ::closedir(opened_);
    }
  }
  Entries(const Entries&) = delete;
  Entries& operator=(const Entries&) = delete;

  /// Whether no entry so far was unreadable.
  bool is_readable() const { return opened_ != nullptr && !has_failed_; }

  /// The name of the next entry; null after the last one, and if the folder does not exist.
  const char* next() {
    const dirent* entry = nullptr;
    do {
      errno = 0;
      entry = opened_ != nullptr ? ::readdir(opened_) : nullptr;
      has_failed_ = entry == nullptr && errno != 0;
    } while (entry != nullptr && (std::strcmp(entry->d_name, ".") == 0 || std::strcmp(entry->d_name, "..") == 0));
    return entry != nullptr ? entry->d_name : nullptr;
  }
  int file() const { return ::dirfd(opened_); }

 private:
  DIR* opened_ = nullptr;
  bool has_failed_ = false;
};

/// The size of all files in a folder, in bytes, without files that cannot be read.
uint64_t bytes_in(int parent, const char* name) {
  uint64_t total = 0;
  Entries entries(parent, name);
  while (const char* const entry = entries.next()) {
    struct stat status{};
    if (::fstatat(entries.file(), entry, &status, AT_SYMLINK_NOFOLLOW) == 0) {
      total += S_ISDIR(status.st_mode)   ? bytes_in(entries.file(), entry)
               : S_ISREG(status.st_mode) ? static_cast<uint64_t>(status.st_size)
                                         : 0;
    }
  }
  return total;
}

uint64_t bytes_in(const std::string& folder) {
  return bytes_in(AT_FDCWD, folder.c_str());
}

/// Removes a file, or a folder with what is in it.
void remove_all(int parent, const char* name) {
  if (::unlinkat(parent, name, 0) == 0) {
    return;
  }
  {
    Entries entries(parent, name);
    while (const char* const entry = entries.next()) {
      remove_all(entries.file(), entry);
    }
  }
  ::unlinkat(parent, name, AT_REMOVEDIR);
}

void remove_all(const std::string& path) {
  remove_all(AT_FDCWD, path.c_str());
}

Error copy_file(const std::string& from, const std::string& to, size_t size) {
  const int file = ::open(from.c_str(), O_RDONLY | O_CLOEXEC);
  void* const data = file >= 0 && size > 0 ? ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0) : MAP_FAILED;
  const bool is_read = file >= 0 && (size == 0 || data != MAP_FAILED);
  const int reason = errno;
  const Error error = is_read ? write_file(to, data, size) : Error::AccessFailed;
  if (size > 0 && is_read) {
    ::munmap(data, size);
  }
  if (file >= 0) {
    ::close(file);
  }
  ET_CHECK_OR_RETURN_ERROR(is_read, AccessFailed, "%s cannot be read: %s", from.c_str(), std::strerror(reason));
  return error;
}

Error copy_folder(const std::string& from, const std::string& to) {
  ET_CHECK_OK_OR_RETURN_ERROR(make_folder(to));
  Entries entries(AT_FDCWD, (from + "/.").c_str());
  while (const char* const name = entries.next()) {
    struct stat status{};
    const bool is_found = ::fstatat(entries.file(), name, &status, AT_SYMLINK_NOFOLLOW) == 0;
    const std::string inner = std::string("/") + name;
    if (is_found && S_ISDIR(status.st_mode)) {
      ET_CHECK_OK_OR_RETURN_ERROR(copy_folder(from + inner, to + inner));
    } else {
      ET_CHECK_OR_RETURN_ERROR(is_found && S_ISREG(status.st_mode), AccessFailed,
                               "%s%s of a compiled model is neither a file nor a folder, or cannot be read",
                               from.c_str(), inner.c_str());
      ET_CHECK_OK_OR_RETURN_ERROR(copy_file(from + inner, to + inner, static_cast<size_t>(status.st_size)));
    }
  }
  ET_CHECK_OR_RETURN_ERROR(entries.is_readable(), AccessFailed, "the folder %s cannot be read", from.c_str());
  return Error::Ok;
}

/// A folder for a model that is being made. It is removed with the object.
class Work final {
 public:
  explicit Work(const std::string& folder) : path_(folder + "/" + kWork + "XXXXXX") {
    is_made_ = ::mkdtemp(path_.data()) != nullptr;
  }
  ~Work() { remove_all(path_); }
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;

  bool is_made() const { return is_made_; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  bool is_made_ = false;
};

/// Removes a folder with the object, unless it was moved away.
class Leftover final {
 public:
  explicit Leftover(const std::string& path) : path_(path) {}
  ~Leftover() { remove_all(path_); }
  Leftover(const Leftover&) = delete;
  Leftover& operator=(const Leftover&) = delete;

 private:
  const std::string& path_;
};

/// Moves a folder; a copy if the new place is on another file system.
Error move_folder(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) == 0) {
    return Error::Ok;
  }
  ET_CHECK_OR_RETURN_ERROR(errno == EXDEV, AccessFailed, "the compiled model %s cannot be moved to the cache: %s",
                           from.c_str(), std::strerror(errno));
  return copy_folder(from, to);
}

}  // namespace

Error write_folder(const Folder& folder, const std::string& path) {
  ET_CHECK_OK_OR_RETURN_ERROR(make_folder(path));
  for (const std::string& inner : folder.folders) {
    ET_CHECK_OK_OR_RETURN_ERROR(make_folder(path + "/" + inner));
  }
  for (const File& file : folder.files) {
    ET_CHECK_OK_OR_RETURN_ERROR(write_file(path + "/" + file.path, file.data, file.size));
  }
  return Error::Ok;
}

Result<std::unique_ptr<ModelCache>> ModelCache::open(const std::string& folder, uint64_t limit) {
  std::error_code error;
  fs::create_directories(folder, error);
  ET_CHECK_OR_RETURN_ERROR(!error && fs::is_directory(folder, error), AccessFailed,
                           "the cache folder %s cannot be made: %s", folder.c_str(), error.message().c_str());
  const std::time_t now = std::time(nullptr);
  Entries entries(AT_FDCWD, (folder + "/.").c_str());  // which may be a link
  while (const char* const name = entries.next()) {
    struct stat status{};
    if (std::strncmp(name, kWork, sizeof(kWork) - 1) == 0 &&
        ::fstatat(entries.file(), name, &status, AT_SYMLINK_NOFOLLOW) == 0 && now - status.st_mtime > kStale) {
      remove_all(entries.file(), name);
    }
  }
  return std::unique_ptr<ModelCache>(new ModelCache(folder, limit));
}

std::string ModelCache::find(const std::string& key) const {
  if (!is_key(key)) {
    return "";
  }
  const fs::path entry = fs::path(folder_) / key;
  std::error_code error;
  if (!fs::is_directory(entry / kModel, error) || !fs::is_regular_file(entry / kSize, error)) {
    return "";
  }
  fs::last_write_time(entry / kSize, fs::file_time_type::clock::now(), error);  // a read-only cache works too
  return (entry / kModel).string();
}

Result<std::string> ModelCache::add(const std::string& key, const Folder& payload, const std::string& package,
                                    const Compile& compile) const {
  ET_CHECK_OR_RETURN_ERROR(is_key(key), InvalidArgument, "the key of a cached model has other than hexadecimal digits");
  const Work work(folder_);
  ET_CHECK_OR_RETURN_ERROR(work.is_made(), AccessFailed, "no folder can be made in the cache %s: %s", folder_.c_str(),
                           std::strerror(errno));
  ET_CHECK_OK_OR_RETURN_ERROR(write_folder(payload, work.path() + "/payload"));
  const Result<std::string> compiled = compile(work.path() + "/payload/" + package);
  ET_CHECK_OK_OR_RETURN_ERROR(compiled.error());
  const Leftover leftover(*compiled);  // Core ML's compiler makes it outside of the cache
  const std::string entry = work.path() + "/entry";
  ET_CHECK_OK_OR_RETURN_ERROR(make_folder(entry));
  ET_CHECK_OK_OR_RETURN_ERROR(move_folder(*compiled, entry + "/" + kModel));
  const std::string size = std::to_string(bytes_in(entry));
  ET_CHECK_OK_OR_RETURN_ERROR(write_file(entry + "/" + kSize, size.data(), size.size()));
  std::error_code error;
  fs::rename(entry, fs::path(folder_) / key, error);
  std::string found = find(key);  // another process may have been faster
  if (found.empty() && error) {
    remove(key);  // the entry is not a complete model
    error.clear();
    fs::rename(entry, fs::path(folder_) / key, error);
    found = find(key);
  }
  ET_CHECK_OR_RETURN_ERROR(!found.empty(), AccessFailed, "the compiled model cannot be kept in %s: %s", folder_.c_str(),
                           error.message().c_str());
  keep_limit(key);
  return found;
}

void ModelCache::remove(const std::string& key) const {
  const Work work(folder_);
  if (is_key(key) && work.is_made()) {  // the entry disappears at once; its files are removed with `work`
    std::error_code error;
    fs::rename(fs::path(folder_) / key, work.path() + "/removed", error);
  }
}

void ModelCache::keep_limit(const std::string& newest) const {
  struct Entry {
    fs::file_time_type used;
    std::string key;
    uint64_t size;
  };
  std::vector<Entry> entries;
  uint64_t total = 0;
  Entries names(AT_FDCWD, (folder_ + "/.").c_str());
  while (const char* const name = names.next()) {
    const std::string key = name;
    std::error_code none;
    const auto used = fs::last_write_time(fs::path(folder_) / key / kSize, none);
    if (is_key(key) && !none) {
      const uint64_t size = bytes_in(names.file(), name);
      total += size;
      entries.push_back({used, key, size});
    }
  }
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.used < b.used; });
  for (const Entry& entry : entries) {
    if (total <= limit_) {
      return;
    }
    if (entry.key != newest) {
      remove(entry.key);
      total -= entry.size;
    }
  }
}

std::string cache_key(const void* payload, size_t size, const std::string& system) {
  const extension::Sha256 content = extension::sha256(payload, size);
  std::string named(reinterpret_cast<const char*>(content.data()), content.size());
  named += system;
  const extension::Sha256 hash = extension::sha256(named.data(), named.size());
  constexpr char kDigits[] = "0123456789abcdef";
  std::string key;
  for (const uint8_t byte : hash) {
    key += kDigits[byte >> 4];
    key += kDigits[byte & 15];
  }
  return key;
}

}  // namespace coreml
}  // namespace backends
}  // namespace executorch
