// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/file_cache/file_cache.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <system_error>
#include <utility>

#include <executorch/extension/file_cache/replace_file.h>
#include <executorch/runtime/platform/log.h>

#if defined(__unix__) || defined(__APPLE__)
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

namespace executorch {
namespace extension {

#if defined(__unix__) || defined(__APPLE__)

namespace {

constexpr uint64_t kAlignment = 128;  // of contents, in bytes: enough for the vector registers of every processor
constexpr uint64_t kFormat = 2;

uint64_t round_up(uint64_t size) {
  return (size + kAlignment - 1) / kAlignment * kAlignment;
}

/// The header at the beginning of the file.
struct alignas(kAlignment) FileHeader {
  char magic[8];
  uint64_t format;
  ContentName version;
  ContentName seed;
  ContentName name;  ///< hash of the fields before it
};

/// The header before each content, at a multiple of kAlignment.
struct alignas(kAlignment) RecordHeader {
  uint64_t form;
  ContentName first, second;  ///< names of the sources of the content
  uint64_t size;
  ContentName content;
  ContentName name;  ///< hash of the file's seed and the fields before it
};

static_assert(sizeof(FileHeader) == kAlignment && sizeof(RecordHeader) == kAlignment);

ContentName name_of(const FileHeader& header) {
  return name_content({}, &header, offsetof(FileHeader, name));
}

ContentName name_of(const RecordHeader& header, const ContentName& seed) {
  return name_content(seed, &header, offsetof(RecordHeader, name));
}

/// Calls `transfer`, pread or pwrite, until all bytes are transferred. On failure, returns false and leaves errno set.
template <typename Transfer, typename Byte>
bool transfer_all(Transfer transfer, int descriptor, Byte* bytes, size_t size, uint64_t offset) {
  while (size > 0) {
    const ssize_t count = transfer(descriptor, bytes, size, static_cast<off_t>(offset));
    if (count <= 0 && !(count < 0 && errno == EINTR)) {
      return false;
    }
    if (count > 0) {
      bytes += count, offset += static_cast<uint64_t>(count), size -= static_cast<size_t>(count);
    }
  }
  return true;
}

bool read_all(int descriptor, void* to, size_t size, uint64_t offset) {
  return transfer_all(pread, descriptor, static_cast<uint8_t*>(to), size, offset);
}

bool write_all(int descriptor, const void* from, size_t size, uint64_t offset) {
  return transfer_all(pwrite, descriptor, static_cast<const uint8_t*>(from), size, offset);
}

uint64_t size_of(int descriptor) {
  struct stat status{};
  return fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) ? static_cast<uint64_t>(status.st_size) : 0;
}

/// The nanoseconds of the modification time by which a file of this size is marked as complete.
long mark_of(const ContentName& seed, uint64_t size) {
  return static_cast<long>(name_content(seed, &size, sizeof(size))[0] % 1000000000);
}

#if defined(__APPLE__)
timespec modification_time(const struct stat& status) {
  return status.st_mtimespec;
}
#else
timespec modification_time(const struct stat& status) {
  return status.st_mtim;
}
#endif

bool is_marked(int descriptor, const ContentName& seed) {
  struct stat status{};
  return fstat(descriptor, &status) == 0 &&
         modification_time(status).tv_nsec == mark_of(seed, static_cast<uint64_t>(status.st_size));
}

bool mark(int descriptor, const ContentName& seed) {
  struct stat status{};
  if (fstat(descriptor, &status) != 0) {
    return false;
  }
  timespec times[2] = {{0, UTIME_OMIT}, modification_time(status)};
  times[1].tv_nsec = mark_of(seed, static_cast<uint64_t>(status.st_size));
  return futimens(descriptor, times) == 0;
}

/// Locks a file against other processes. Where locks do not work, as on some network drives, there is no lock.
class FileLock final {
 public:
  FileLock(int descriptor, int kind) : descriptor_(descriptor) { (void)flock(descriptor_, kind); }
  ~FileLock() { (void)flock(descriptor_, LOCK_UN); }
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  const int descriptor_;
};

/// Writes an empty file.
std::error_code make_file(const std::string& path, const CacheOwner& owner) {
  FileHeader header{};
  std::memcpy(header.magic, owner.magic, sizeof(header.magic));
  header.format = kFormat;
  header.version = owner.version;
  header.seed = random_seed();
  header.name = name_of(header);
  return replace_file(path, &header, sizeof(header), 0600);
}

enum class Kind { Ours, Stale, Foreign };

/// Reads the header. An empty file is the remains of a crash.
Kind read_header(int descriptor, const CacheOwner& owner, ContentName* seed) {
  FileHeader header{};
  if (!read_all(descriptor, &header, sizeof(header), 0)) {
    return size_of(descriptor) == 0 ? Kind::Stale : Kind::Foreign;
  }
  if (std::memcmp(header.magic, owner.magic, sizeof(header.magic)) != 0) {
    return Kind::Foreign;
  }
  if (header.format != kFormat || header.name != name_of(header) || header.version != owner.version) {
    return Kind::Stale;
  }
  *seed = header.seed;
  return Kind::Ours;
}

/// The reason why somebody else may have written to an open file; null if only this user may. It checks the descriptor,
/// because the path may name another file by now.
const char* why_untrusted(int descriptor) {
  struct stat status{};
  if (fstat(descriptor, &status) != 0) {
    return std::strerror(errno);
  }
  if (!S_ISREG(status.st_mode)) {
    return "it is not a regular file. Name a file";
  }
  if (status.st_uid != geteuid()) {
    return "another user owns it, who could change what models compute. Name a file in a folder of the application";
  }
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return "its group or all users may write to it, and could change what models compute. Remove the file, or run "
           "chmod go-w on it";
  }
  return nullptr;
}

void log_no_file(const std::string& path, const CacheOwner& owner, const char* why) {
  ET_LOG(Error, "%s: the cache file %s cannot be used: %s; its contents are computed again on each start", owner.name,
         path.c_str(), why);
}

}  // namespace

std::unique_ptr<FileCache> FileCache::open(const std::string& path, const CacheOwner& owner, bool writes) {
  for (int attempt = 0; attempt < 2; ++attempt) {
    const int descriptor = ::open(path.c_str(), (writes ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    if (descriptor < 0 && errno != ENOENT) {
      log_no_file(path, owner, errno == ELOOP ? "it is a symbolic link. Name the file itself" : std::strerror(errno));
      return nullptr;
    }
    if (descriptor >= 0) {
      if (const char* const why = why_untrusted(descriptor)) {
        close(descriptor);
        log_no_file(path, owner, why);
        return nullptr;
      }
      ContentName seed{};
      const Kind kind = read_header(descriptor, owner, &seed);
      if (kind == Kind::Ours) {
        std::unique_ptr<FileCache> file(new FileCache(path, owner, descriptor, writes));
        file->seed_ = seed;
        file->end_ = sizeof(FileHeader);
        const FileLock lock(descriptor, LOCK_SH);
        file->is_committed_ = is_marked(descriptor, seed);
        file->read_records(file->is_committed_);
        return file;
      }
      close(descriptor);
      if (kind == Kind::Foreign) {
        log_no_file(path, owner, "it is not a cache file, and is left unchanged. Name another file");
        return nullptr;
      }
    }
    if (!writes) {
      ET_LOG(Info, "%s: %s has no contents for this version and processor yet", owner.name, path.c_str());
      return nullptr;
    }
    if (const std::error_code error = make_file(path, owner)) {
      log_no_file(path, owner, error.message().c_str());
      return nullptr;
    }
  }
  log_no_file(path, owner, "another process replaces it");
  return nullptr;
}

FileCache::~FileCache() {
  close(descriptor_);
}

void FileCache::read_records(bool are_whole) {
  const uint64_t file_size = size_of(descriptor_);
  RecordHeader header{};
  while (file_size >= end_ && file_size - end_ >= sizeof(header) &&
         read_all(descriptor_, &header, sizeof(header), end_) && header.name == name_of(header, seed_)) {
    const uint64_t offset = end_ + sizeof(header);
    if (header.form > UINT32_MAX || header.size > file_size - offset || round_up(header.size) > file_size - offset) {
      return;
    }
    records_[{static_cast<uint32_t>(header.form), header.first, header.second}] = {offset, header.size, header.content,
                                                                                   are_whole};
    originals_.emplace(header.first, header.second);
    end_ = offset + round_up(header.size);
  }
}

std::shared_ptr<const FileMapping> FileCache::map(uint64_t start, uint64_t end) const {
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  start = start / page * page;
  const auto length = static_cast<size_t>(end - start);
  void* const mapping = mmap(nullptr, length, PROT_READ, MAP_SHARED, descriptor_, static_cast<off_t>(start));
  return mapping == MAP_FAILED ? nullptr : std::make_shared<const FileMapping>(mapping, length, start);
}

std::shared_ptr<const MappedBytes> FileCache::map_with_others(const Record& record) {
  auto mapping = mapping_.lock();
  if (mapping == nullptr || mapping->offset + mapping->size < record.offset + round_up(record.size)) {
    mapping = map(0, end_);
    mapping_ = mapping;
  }
  return mapping == nullptr ? nullptr : std::make_shared<const MappedBytes>(mapping, record.offset, record.size);
}

bool FileCache::check(const MappedBytes& content, Record& record) const {
  record.is_whole = record.is_whole || name_content(seed_, content.data, content.size) == record.content;
  return record.is_whole;
}

bool FileCache::may_have(const ContentName& first, const ContentName& second) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return originals_.count({first, second}) != 0;
}

std::shared_ptr<const MappedBytes> FileCache::find(const CacheKey& key) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = records_.find(key);
  if (found == records_.end()) {
    return nullptr;
  }
  auto mapped = map_with_others(found->second);
  if (mapped != nullptr && check(*mapped, found->second)) {
    return mapped;
  }
  // The record stays in the list until another one replaces it, so that the file is not marked as complete.
  ET_LOG(Error, "%s: %s has damaged contents; they are computed again", owner_.name, path_.c_str());
  return nullptr;
}

void FileCache::commit() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!writes_ || is_committed_) {
    return;
  }
  const FileLock file_lock(descriptor_, LOCK_EX);
  read_records(false);
  for (auto& [key, record] : records_) {
    const auto mapped = record.is_whole ? nullptr : map_with_others(record);
    if (!record.is_whole && (mapped == nullptr || !check(*mapped, record))) {
      return;
    }
  }
  is_committed_ = fsync(descriptor_) == 0 && mark(descriptor_, seed_);
}

bool FileCache::write_record(const CacheKey& key, const void* data, const Record& record) {
  RecordHeader header{};
  header.form = std::get<0>(key);
  header.first = std::get<1>(key);
  header.second = std::get<2>(key);
  header.size = record.size;
  header.content = record.content;
  header.name = name_of(header, seed_);
  const uint8_t nothing[kAlignment] = {};
  const uint64_t end = record.offset + record.size;
  // The header is written last, so that an incomplete record does not count.
  return write_all(descriptor_, data, static_cast<size_t>(record.size), record.offset) &&
         write_all(descriptor_, nothing, static_cast<size_t>(round_up(record.size) - record.size), end) &&
         write_all(descriptor_, &header, sizeof(header), record.offset - sizeof(header));
}

std::shared_ptr<const MappedBytes> FileCache::add(const CacheKey& key, const void* data, size_t size) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!writes_) {
    return nullptr;
  }
  const FileLock file_lock(descriptor_, LOCK_EX);
  read_records(false);  // added by other processes
  const Record record = {end_ + sizeof(RecordHeader), size, name_content(seed_, data, size), true};
  const auto known = records_.find(key);
  if (known != records_.end() && known->second.size == size && known->second.content == record.content) {
    auto mapped = map_with_others(known->second);
    if (mapped != nullptr && check(*mapped, known->second)) {
      return mapped;
    }
  }
  is_committed_ = false;
  if (!write_record(key, data, record)) {
    ET_LOG(Error, "%s: %zu bytes cannot be written to %s: %s; contents that are not in it are computed on each start",
           owner_.name, size, path_.c_str(), std::strerror(errno));
    writes_ = false;
    return nullptr;
  }
  records_[key] = record;
  originals_.emplace(std::get<1>(key), std::get<2>(key));
  end_ = record.offset + round_up(size);
  auto mapping = map(record.offset, end_);
  return mapping == nullptr ? nullptr : std::make_shared<const MappedBytes>(std::move(mapping), record.offset, size);
}

FileMapping::~FileMapping() {
  munmap(data, size);
}

#else

std::unique_ptr<FileCache> FileCache::open(const std::string& path, const CacheOwner& owner, bool) {
  ET_LOG(Error, "%s: the cache file %s is not used: this system cannot map files; contents are computed on each start",
         owner.name, path.c_str());
  return nullptr;
}
FileCache::~FileCache() = default;
std::shared_ptr<const MappedBytes> FileCache::find(const CacheKey&) {
  return nullptr;
}
std::shared_ptr<const MappedBytes> FileCache::add(const CacheKey&, const void*, size_t) {
  return nullptr;
}
bool FileCache::may_have(const ContentName&, const ContentName&) {
  return false;
}
void FileCache::commit() {}
FileMapping::~FileMapping() = default;

#endif

}  // namespace extension
}  // namespace executorch
