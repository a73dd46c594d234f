// SPDX-License-Identifier: BSD-3-Clause
#include "weights_file.h"

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <random>
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

#include "xnnpack/hardware-config.h"

namespace executorch {
namespace backends {
namespace xnnpack {

namespace {

constexpr size_t kLanes = 8;

/// Reversible for a given value: what differs once differs until a later value happens to undo it.
uint64_t mix(uint64_t state, uint64_t value) {
  state = (state ^ value) * 0x9E3779B97F4A7C15u;
  return state ^ (state >> 32);
}

uint64_t word_at(const uint8_t* bytes) {
  uint64_t word = 0;
  std::memcpy(&word, bytes, sizeof(word));
  return word;
}

}  // namespace

ContentName random_seed() {
  std::random_device device;
  const auto draw = [&] { return (static_cast<uint64_t>(device()) << 32) ^ device(); };
  const uint64_t first = draw();
  return {first, draw()};
}

ContentName name_content(const ContentName& seed, const void* data, size_t size) {
  // Multiplications of one lane wait for each other, those of eight do not.
  uint64_t lanes[kLanes];
  for (size_t i = 0; i < kLanes; ++i) {
    lanes[i] = mix(seed[i % 2], seed[1 - i % 2] + i);
  }
  const auto mix_block = [&](const uint8_t* block) {
    for (size_t i = 0; i < kLanes; ++i) {
      lanes[i] = mix(lanes[i], word_at(block + i * sizeof(uint64_t)));
    }
  };
  constexpr size_t kBlock = kLanes * sizeof(uint64_t);
  const auto* bytes = static_cast<const uint8_t*>(data);
  size_t left = size;
  for (; left >= kBlock; left -= kBlock, bytes += kBlock) {
    mix_block(bytes);
  }
  uint8_t rest[kBlock] = {};
  if (left > 0) {
    std::memcpy(rest, bytes, left);
  }
  mix_block(rest);
  ContentName name = {mix(seed[0], size), mix(seed[1], size)};
  for (const uint64_t lane : lanes) {
    name = {mix(name[0], lane), mix(name[1], lane + name[0])};
  }
  return name;
}

#if defined(__unix__) || defined(__APPLE__)

namespace {

constexpr uint64_t kAlignment = 128;  // the most that kernels of XNNPACK want
constexpr char kMagic[8] = {'X', 'N', 'N', 'P', 'A', 'C', 'K', 'W'};
constexpr uint64_t kFormat = 1;

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

void log_no_file(const std::string& path, const char* why) {
  ET_LOG(Error, "XNNPACK: the file of packed weights %s cannot be used: %s; weights are packed again on each start",
         path.c_str(), why);
}

}  // namespace

std::unique_ptr<WeightsFile> WeightsFile::open(const std::string& path, bool writes) {
  for (int attempt = 0; attempt < 2; ++attempt) {
    const int descriptor = ::open(path.c_str(), (writes ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0 && errno != ENOENT) {
      log_no_file(path, std::strerror(errno));
      return nullptr;
    }
    if (descriptor >= 0) {
      ContentName seed{};
      const Kind kind = read_header(descriptor, &seed);
      if (kind == Kind::Ours) {
        std::unique_ptr<WeightsFile> file(new WeightsFile(path, descriptor, writes));
        file->seed_ = seed;
        file->end_ = sizeof(FileHeader);
        const FileLock lock(descriptor, LOCK_SH);
        file->read_records();
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

void WeightsFile::read_records() {
  const uint64_t file_size = size_of(descriptor_);
  RecordHeader header{};
  while (file_size >= end_ && file_size - end_ >= sizeof(header) &&
         read_all(descriptor_, &header, sizeof(header), end_) && header.name == name_of(header, seed_)) {
    const uint64_t offset = end_ + sizeof(header);
    if (header.packing > UINT32_MAX || header.size > file_size - offset || round_up(header.size) > file_size - offset) {
      return;
    }
    records_[{static_cast<uint32_t>(header.packing), header.filter, header.bias}] = {offset, header.size,
                                                                                     header.content};
    end_ = offset + round_up(header.size);
  }
}

std::shared_ptr<const MappedBytes> WeightsFile::map(const Record& record) const {
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const uint64_t start = record.offset / page * page;
  const auto length = static_cast<size_t>(record.offset - start + round_up(record.size));
  void* const mapping = mmap(nullptr, length, PROT_READ, MAP_SHARED, descriptor_, static_cast<off_t>(start));
  if (mapping == MAP_FAILED) {
    return nullptr;
  }
  return std::make_shared<const MappedBytes>(mapping, length,
                                             static_cast<const uint8_t*>(mapping) + (record.offset - start),
                                             static_cast<size_t>(record.size));
}

std::shared_ptr<const MappedBytes> WeightsFile::map_whole(const Record& record) const {
  auto mapped = map(record);
  return mapped != nullptr && name_content(seed_, mapped->data, mapped->size) == record.content ? mapped : nullptr;
}

std::shared_ptr<const MappedBytes> WeightsFile::find(const PackedKey& key) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = records_.find(key);
  if (found == records_.end()) {
    return nullptr;
  }
  auto mapped = map_whole(found->second);
  if (mapped != nullptr) {
    return mapped;
  }
  ET_LOG(Error, "XNNPACK: %s holds weights that are damaged; they are packed again", path_.c_str());
  records_.erase(found);
  return nullptr;
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
  read_records();  // that others have added
  const Record record = {end_ + sizeof(RecordHeader), size, name_content(seed_, data, size)};
  const auto known = records_.find(key);
  if (known != records_.end() && known->second.size == size && known->second.content == record.content) {
    if (auto mapped = map_whole(known->second)) {
      return mapped;
    }
  }
  if (!write_record(key, data, record)) {
    ET_LOG(Error,
           "XNNPACK: packed weights of %zu bytes cannot be written to %s: %s; those that are not in it are packed "
           "on each start",
           size, path_.c_str(), std::strerror(errno));
    writes_ = false;
    return nullptr;
  }
  records_[key] = record;
  end_ = record.offset + round_up(size);
  return map(record);
}

MappedBytes::~MappedBytes() {
  munmap(mapping, mapping_size);
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
MappedBytes::~MappedBytes() = default;

#endif

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
