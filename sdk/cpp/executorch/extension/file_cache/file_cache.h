// SPDX-License-Identifier: BSD-3-Clause
// A file for contents that take long to compute, such as packed weights. Later processes map the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include <executorch/extension/file_cache/content_name.h>

namespace executorch {
namespace extension {

/// The form of a content, such as a packed layout, and the names of the two sources from which it is computed, such as
/// a filter and a bias.
using CacheKey = std::tuple<uint32_t, ContentName, ContentName>;

/// The software to which a file belongs.
struct CacheOwner {
  const char* name;     ///< for messages
  char magic[8];        ///< magic: the first bytes of the file
  ContentName version;  ///< of the software, and of the processor that computes with the contents
};

struct FileMapping;
/// Bytes of a file that are mapped as long as the object exists.
struct MappedBytes;

/**
 * A file of computed contents. Thread-safe, and processes may use one file at the same time.
 *
 * The file is a header and a sequence of records, each a key, a size, the hash of the content, the hash of these
 * fields, and the content. A record is valid if both hashes are right: the remains of a crash, a full disk or another
 * program are ignored and overwritten by the next record. The hash of a content is checked only if the file is not
 * marked as complete, see commit(): a start then reads only the headers. Records are never changed and the
 * file is never truncated, so mapped bytes stay valid. Integers have the machine's byte order: the owner's version says
 * on which machines the file can be used.
 *
 * Whoever may write the file can change what models compute. A file is therefore opened only if it is a regular file,
 * not a symbolic link, owned by the user of the process and writable by no other user. It belongs in a folder of the
 * application. Everything else is refused with a line in the log.
 */
class FileCache final {
 public:
  /**
   * Opens or makes it.
   *
   * If `writes`, replaces a file of another version; one that does not begin with the owner's magic is left alone.
   * @param owner Must outlive the object.
   * @returns Null if the file cannot be used: the reason is in the log, and a start takes longer.
   */
  static std::unique_ptr<FileCache> open(const std::string& path, const CacheOwner& owner, bool writes);

  ~FileCache();
  FileCache(const FileCache&) = delete;
  FileCache& operator=(const FileCache&) = delete;

  /// The seed for names of contents. It is random and stored when the file is created.
  const ContentName& seed() const { return seed_; }

  /// The content of a key; null for an unknown key or damaged content. Verifies the hash of the content, unless the
  /// file was marked as complete when it was opened.
  std::shared_ptr<const MappedBytes> find(const CacheKey& key);

  /// Whether there is a record, in any form, that was computed from these two sources.
  bool may_have(const ContentName& first, const ContentName& second);

  /// Writes a record and maps it. Null if it cannot be written (the disk is full, or access is denied), which is logged
  /// once.
  std::shared_ptr<const MappedBytes> add(const CacheKey& key, const void* data, size_t size);

  /**
   * Flushes added records to the disk, and then marks the file as complete up to its end: the nanoseconds of its
   * modification time are derived from the seed and the size. A later writer changes that time; the contents are then
   * verified before use, and a commit follows when all are valid. Does nothing without changes or without write
   * permission. On a file system without nanoseconds, starts are slower.
   */
  void commit();

  /// Whether records may be added.
  bool writes() const { return writes_; }

 private:
  struct Record {
    uint64_t offset, size;
    ContentName content;
    /// Whether the hash of the content has been verified, or the file was marked as complete.
    bool is_whole;
  };

  FileCache(std::string path, const CacheOwner& owner, int descriptor, bool writes)
      : path_(std::move(path)), owner_(owner), descriptor_(descriptor), writes_(writes) {}

  /// Reads the headers of the records from end_ on. `are_whole`: whether their contents need no verification.
  void read_records(bool are_whole);
  bool write_record(const CacheKey& key, const void* data, const Record& record);
  /// Maps the bytes [start, end) of the file; null on failure.
  std::shared_ptr<const FileMapping> map(uint64_t start, uint64_t end) const;
  /// Returns the content as part of one mapping of all records.
  std::shared_ptr<const MappedBytes> map_with_others(const Record& record);
  /// Whether the content has the hash that its record states.
  bool check(const MappedBytes& content, Record& record) const;

  const std::string path_;
  const CacheOwner& owner_;
  const int descriptor_;
  bool writes_;
  ContentName seed_{};
  std::mutex mutex_;
  std::map<CacheKey, Record> records_;
  /// The sources of all records.
  std::set<std::pair<ContentName, ContentName>> originals_;
  /// The mapping of all records that existed when it was created.
  std::weak_ptr<const FileMapping> mapping_;
  /// The end of the last complete record.
  uint64_t end_ = 0;
  /// Whether the file is marked as complete.
  bool is_committed_ = false;
};

/// A part of a file in memory.
struct FileMapping {
  FileMapping(void* base, size_t length, uint64_t at) : data(base), size(length), offset(at) {}
  ~FileMapping();
  FileMapping(const FileMapping&) = delete;
  FileMapping& operator=(const FileMapping&) = delete;

  void* const data;
  const size_t size;
  /// Offset in the file.
  const uint64_t offset;
};

struct MappedBytes {
  MappedBytes(std::shared_ptr<const FileMapping> from, uint64_t offset, uint64_t bytes)
      : data(static_cast<const uint8_t*>(from->data) + (offset - from->offset)),
        size(static_cast<size_t>(bytes)),
        mapping(std::move(from)) {}

  /// At a multiple of 128 bytes.
  const void* const data;
  const size_t size;

 private:
  const std::shared_ptr<const FileMapping> mapping;
};

}  // namespace extension
}  // namespace executorch
