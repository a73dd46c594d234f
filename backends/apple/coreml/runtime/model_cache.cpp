// SPDX-License-Identifier: BSD-3-Clause
#include "model_cache.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
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
constexpr auto kStale = std::chrono::hours(24);

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

/// The size of all files in a folder, in bytes, without files that cannot be read.
uint64_t bytes_in(const fs::path& folder) {
  uint64_t total = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code none;
    if (entry->is_regular_file(none)) {
      const uint64_t size = entry->file_size(none);
      total += none ? 0 : size;
    }
  }
  return total;
}

/// A folder for a model that is being made. It is removed with the object.
class Work final {
 public:
  explicit Work(const std::string& folder) : path_(folder + "/" + kWork + "XXXXXX") {
    is_made_ = ::mkdtemp(path_.data()) != nullptr;
  }
  ~Work() {
    std::error_code error;
    fs::remove_all(path_, error);
  }
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;

  bool is_made() const { return is_made_; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  bool is_made_ = false;
};

/// Moves a folder, also to another file system.
Error move_folder(const std::string& from, const std::string& to) {
  std::error_code error;
  fs::rename(from, to, error);
  if (error) {
    error.clear();
    fs::copy(from, to, fs::copy_options::recursive, error);
    std::error_code none;
    fs::remove_all(from, none);
  }
  ET_CHECK_OR_RETURN_ERROR(!error, AccessFailed, "the compiled model %s cannot be moved to the cache: %s", from.c_str(),
                           error.message().c_str());
  return Error::Ok;
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
  const auto now = fs::file_time_type::clock::now();
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code none;
    const auto changed = entry->last_write_time(none);
    if (!none && entry->path().filename().string().rfind(kWork, 0) == 0 && now - changed > kStale) {
      fs::remove_all(entry->path(), none);
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
  if (is_key(key) && work.is_made()) {  // it disappears at once, and then its files do
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
  std::error_code error;
  for (fs::directory_iterator entry(folder_, error), end; !error && entry != end; entry.increment(error)) {
    const std::string key = entry->path().filename().string();
    std::error_code none;
    const auto used = fs::last_write_time(entry->path() / kSize, none);
    if (is_key(key) && !none) {
      const uint64_t size = bytes_in(entry->path());
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
