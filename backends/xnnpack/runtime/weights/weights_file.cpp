// SPDX-License-Identifier: BSD-3-Clause
#include "weights/weights_file.h"

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <utility>

#include <executorch/runtime/platform/log.h>

#if defined(__unix__) || defined(__APPLE__)
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

#include <xnnpack.h>

#include "private/xnnpack_kernels.h"

namespace executorch {
namespace backends {
namespace xnnpack {

#if defined(__unix__) || defined(__APPLE__)

namespace {

constexpr uint64_t kAlignment = 128;  // the most that kernels of XNNPACK want
constexpr char kMagic[8] = {'X', 'N', 'N', 'P', 'A', 'C', 'K', 'W'};
constexpr uint64_t kFormat = 2;

uint64_t round_up(uint64_t size) {
  return (size + kAlignment - 1) / kAlignment * kAlignment;
}

/// At the beginning of the file.
struct alignas(kAlignment) FileHeader {
  char magic[8];
  uint64_t format;
  ContentName machine;
  ContentName seed;
  ContentName name;  ///< of what stands before it
};

/// Before each content, at a multiple of kAlignment.
struct alignas(kAlignment) RecordHeader {
  uint64_t packing;
  ContentName filter, bias;
  uint64_t size;
  ContentName content;
  ContentName name;  ///< of what stands before it, beginning with the file's seed
};

static_assert(sizeof(FileHeader) == kAlignment && sizeof(RecordHeader) == kAlignment);

/// Where packed weights can be used: the same XNNPACK on a processor with the same instructions.
ContentName machine_name() {
  ContentName name = name_content({kFormat, sizeof(void*)}, xnn_experimental_get_build_identifier_data(),
                                  xnn_experimental_get_build_identifier_size());
  const auto* hardware = xnn_init_hardware_config();
  return hardware == nullptr ? name : name_content(name, hardware, sizeof(*hardware));
}

ContentName name_of(const FileHeader& header) {
  return name_content({}, &header, offsetof(FileHeader, name));
}

ContentName name_of(const RecordHeader& header, const ContentName& seed) {
  return name_content(seed, &header, offsetof(RecordHeader, name));
}

/// Calls `transfer`, pread or pwrite, until all is done. False, with errno, when that is not possible.
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

/// The nanoseconds of the modification time of a file of this size that is whole.
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

/// Of a file among processes; a lock that cannot be had, as on some network drives, is done without.
class FileLock final {
 public:
  FileLock(int descriptor, int kind) : descriptor_(descriptor) { (void)flock(descriptor_, kind); }
  ~FileLock() { (void)flock(descriptor_, LOCK_UN); }
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  const int descriptor_;
};

/// Makes an empty file of packed weights under a name of its own, and gives it the right one when it is whole.
bool make_file(const std::string& path) {
  FileHeader header{};
  std::memcpy(header.magic, kMagic, sizeof(kMagic));
  header.format = kFormat;
  header.machine = machine_name();
  header.seed = random_seed();
  header.name = name_of(header);
  const std::string made = path + "." + std::to_string(getpid()) + "." + std::to_string(header.seed[0]) + ".new";
  const int descriptor = ::open(made.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (descriptor < 0) {
    return false;
  }
  const bool written = write_all(descriptor, &header, sizeof(header), 0);
  const int failure = errno;
  close(descriptor);
  if (written && rename(made.c_str(), path.c_str()) == 0) {
    return true;
  }
  const int reason = written ? errno : failure;
  unlink(made.c_str());
  errno = reason;
  return false;
}

enum class Kind { Ours, Stale, Foreign };

/// Reads the header. An empty file is what a crash left of one.
Kind read_header(int descriptor, ContentName* seed) {
  FileHeader header{};
  if (!read_all(descriptor, &header, sizeof(header), 0)) {
    return size_of(descriptor) == 0 ? Kind::Stale : Kind::Foreign;
  }
  if (std::memcmp(header.magic, kMagic, sizeof(kMagic)) != 0) {
    return Kind::Foreign;
  }
  if (header.format != kFormat || header.name != name_of(header) || header.machine != machine_name()) {
    return Kind::Stale;
  }
  *seed = header.seed;
  return Kind::Ours;
}

/// Why an open file is not one that only this user can have written; null where it is. The mode and the owner are those
/// of the file that was opened, whatever its path names by now.
const char* why_untrusted(int descriptor) {
  struct stat status{};
  if (fstat(descriptor, &status) != 0) {
    return std::strerror(errno);
  }
  if (!S_ISREG(status.st_mode)) {
    return "it is not a regular file. Name a file";
  }
  if (status.st_uid != geteuid()) {
    return "another user owns it, who could give the model other weights. Name a file in a folder of the application";
  }
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return "its group or all users may write to it, and could give the model other weights. Remove the file, or run "
           "chmod go-w on it";
  }
  return nullptr;
}

void log_no_file(const std::string& path, const char* why) {
  ET_LOG(Error, "XNNPACK: the file of packed weights %s cannot be used: %s; weights are packed again on each start",
         path.c_str(), why);
}

}  // namespace

std::unique_ptr<WeightsFile> WeightsFile::open(const std::string& path, bool writes) {
  for (int attempt = 0; attempt < 2; ++attempt) {
    const int descriptor = ::open(path.c_str(), (writes ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    if (descriptor < 0 && errno != ENOENT) {
      log_no_file(path, errno == ELOOP ? "it is a symbolic link. Name the file itself" : std::strerror(errno));
      return nullptr;
    }
    if (descriptor >= 0) {
      if (const char* const why = why_untrusted(descriptor)) {
        close(descriptor);
        log_no_file(path, why);
        return nullptr;
      }
      ContentName seed{};
      const Kind kind = read_header(descriptor, &seed);
      if (kind == Kind::Ours) {
        std::unique_ptr<WeightsFile> file(new WeightsFile(path, descriptor, writes));
        file->seed_ = seed;
        file->end_ = sizeof(FileHeader);
        const FileLock lock(descriptor, LOCK_SH);
        file->is_committed_ = is_marked(descriptor, seed);
        file->read_records(file->is_committed_);
        return file;
      }
      close(descriptor);
      if (kind == Kind::Foreign) {
        log_no_file(path, "it is something else, and stays as it is. Name another file");
        return nullptr;
      }
    }
    if (!writes) {
      ET_LOG(Info, "XNNPACK: %s has no packed weights for this processor yet", path.c_str());
      return nullptr;
    }
    if (!make_file(path)) {
      log_no_file(path, std::strerror(errno));
      return nullptr;
    }
  }
  log_no_file(path, "another process replaces it");
  return nullptr;
}

WeightsFile::~WeightsFile() {
  close(descriptor_);
}

void WeightsFile::read_records(bool are_whole) {
  const uint64_t file_size = size_of(descriptor_);
  RecordHeader header{};
  while (file_size >= end_ && file_size - end_ >= sizeof(header) &&
         read_all(descriptor_, &header, sizeof(header), end_) && header.name == name_of(header, seed_)) {
    const uint64_t offset = end_ + sizeof(header);
    if (header.packing > UINT32_MAX || header.size > file_size - offset || round_up(header.size) > file_size - offset) {
      return;
    }
    records_[{static_cast<uint32_t>(header.packing), header.filter, header.bias}] = {offset, header.size,
                                                                                     header.content, are_whole};
    originals_.emplace(header.filter, header.bias);
    end_ = offset + round_up(header.size);
  }
}

std::shared_ptr<const FileMapping> WeightsFile::map(uint64_t start, uint64_t end) const {
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  start = start / page * page;
  const auto length = static_cast<size_t>(end - start);
  void* const mapping = mmap(nullptr, length, PROT_READ, MAP_SHARED, descriptor_, static_cast<off_t>(start));
  return mapping == MAP_FAILED ? nullptr : std::make_shared<const FileMapping>(mapping, length, start);
}

std::shared_ptr<const MappedBytes> WeightsFile::map_with_others(const Record& record) {
  auto mapping = mapping_.lock();
  if (mapping == nullptr || mapping->offset + mapping->size < record.offset + round_up(record.size)) {
    mapping = map(0, end_);
    mapping_ = mapping;
  }
  return mapping == nullptr ? nullptr : std::make_shared<const MappedBytes>(mapping, record.offset, record.size);
}

bool WeightsFile::check(const MappedBytes& content, Record& record) const {
  record.is_whole = record.is_whole || name_content(seed_, content.data, content.size) == record.content;
  return record.is_whole;
}

bool WeightsFile::may_have(const ContentName& filter, const ContentName& bias) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return originals_.count({filter, bias}) != 0;
}

std::shared_ptr<const MappedBytes> WeightsFile::find(const PackedKey& key) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = records_.find(key);
  if (found == records_.end()) {
    return nullptr;
  }
  auto mapped = map_with_others(found->second);
  if (mapped != nullptr && check(*mapped, found->second)) {
    return mapped;
  }
  // It stays among the records: while no other takes its place, nobody may say that the file is whole.
  ET_LOG(Error, "XNNPACK: %s holds weights that are damaged; they are packed again", path_.c_str());
  return nullptr;
}

void WeightsFile::commit() {
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

bool WeightsFile::write_record(const PackedKey& key, const void* data, const Record& record) {
  RecordHeader header{};
  header.packing = std::get<0>(key);
  header.filter = std::get<1>(key);
  header.bias = std::get<2>(key);
  header.size = record.size;
  header.content = record.content;
  header.name = name_of(header, seed_);
  const uint8_t nothing[kAlignment] = {};
  const uint64_t end = record.offset + record.size;
  // The header last: a record that is half written does not count.
  return write_all(descriptor_, data, static_cast<size_t>(record.size), record.offset) &&
         write_all(descriptor_, nothing, static_cast<size_t>(round_up(record.size) - record.size), end) &&
         write_all(descriptor_, &header, sizeof(header), record.offset - sizeof(header));
}

std::shared_ptr<const MappedBytes> WeightsFile::add(const PackedKey& key, const void* data, size_t size) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!writes_) {
    return nullptr;
  }
  const FileLock file_lock(descriptor_, LOCK_EX);
  read_records(false);  // that others have added
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
    ET_LOG(Error,
           "XNNPACK: packed weights of %zu bytes cannot be written to %s: %s; those that are not in it are packed "
           "on each start",
           size, path_.c_str(), std::strerror(errno));
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

std::unique_ptr<WeightsFile> WeightsFile::open(const std::string& path, bool) {
  ET_LOG(Error,
         "XNNPACK: the file of packed weights %s is not used: this system cannot map files; weights are packed on each "
         "start",
         path.c_str());
  return nullptr;
}
WeightsFile::~WeightsFile() = default;
std::shared_ptr<const MappedBytes> WeightsFile::find(const PackedKey&) {
  return nullptr;
}
std::shared_ptr<const MappedBytes> WeightsFile::add(const PackedKey&, const void*, size_t) {
  return nullptr;
}
bool WeightsFile::may_have(const ContentName&, const ContentName&) {
  return false;
}
void WeightsFile::commit() {}
FileMapping::~FileMapping() = default;

#endif

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
