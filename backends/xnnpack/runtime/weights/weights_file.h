// SPDX-License-Identifier: BSD-3-Clause
// Packed weights in a file, which the next start maps.
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

#include "payload/content_name.h"

namespace executorch {
namespace backends {
namespace xnnpack {

/// How weights are packed, and the names of the filter and of the bias.
using PackedKey = std::tuple<uint32_t, ContentName, ContentName>;

struct FileMapping;
/// Bytes of a file that are mapped as long as the object exists.
struct MappedBytes;

/**
 * A file of packed weights. Thread-safe, and processes may use one file at the same time.
 *
 * The file is a header and a sequence of records, each a key, a size, the hash of the content, the hash of these
 * fields, and the content. A record is valid if both hashes are right: the remains of a crash, a full disk or another
 * program are ignored and overwritten by the next record. The hash of a content is checked only if the file is not
 * marked as complete, see commit(): a start then reads only the headers. Records are never changed and the
 * file is never truncated, so mapped bytes stay valid. Integers have the machine's byte order: the header names the
 * machine, and the version of XNNPACK.
 *
 * Whoever may write the file can change the weights of models. A file is therefore opened only if it is a regular file,
 * no symbolic link, that the user of the process owns and nobody else may write; it belongs in a folder of the
 * application. Everything else is refused with a line in the log, and weights are packed in memory.
 */
class WeightsFile final {
 public:
  /**
   * Opens or makes it.
   *
   * A file of another machine or version is replaced, if `writes`; one that is no file of packed weights is left alone.
   * @returns Null (logged) when there can be none: the reason is in the log, and a start takes longer.
   */
  static std::unique_ptr<WeightsFile> open(const std::string& path, bool writes);

  ~WeightsFile();
  WeightsFile(const WeightsFile&) = delete;
  WeightsFile& operator=(const WeightsFile&) = delete;

  /// For the names of contents: drawn at random when the file was made.
  const ContentName& seed() const { return seed_; }

  /// Null when it is not there. Reads the content, to see that it is whole, unless it was committed before the file was
  /// opened.
  std::shared_ptr<const MappedBytes> find(const PackedKey& key);

  /// Whether there is a record of this filter and bias, packed in any way.
  bool may_have(const ContentName& filter, const ContentName& bias);

  /// Writes a record. Null when there is no place or no right to write, which is logged once.
  std::shared_ptr<const MappedBytes> add(const PackedKey& key, const void* data, size_t size);

  /**
   * Writes what was added to the disk, and then marks the file as whole up to its end: the nanoseconds of its
   * modification time are drawn from the seed and the size. Whatever writes to it later changes that time, so that
   * contents are read again before they are used, and committed when all are found to be right. Does nothing when there
   * is nothing to commit, or no right to. A file system without nanoseconds, or that loses them, makes starts slower.
   */
  void commit();

  /// Whether records may be added.
  bool writes() const { return writes_; }

 private:
  struct Record {
    uint64_t offset, size;
    ContentName content;
    /// Whether the content is known to be whole.
    bool is_whole;
  };

  WeightsFile(std::string path, int descriptor, bool writes)
      : path_(std::move(path)), descriptor_(descriptor), writes_(writes) {}

  /// Finds the records from end_ on, whose contents are whole if the caller says so.
  void read_records(bool are_whole);
  bool write_record(const PackedKey& key, const void* data, const Record& record);
  /// Maps the bytes [start, end) of the file. Null when that is not possible.
  std::shared_ptr<const FileMapping> map(uint64_t start, uint64_t end) const;
  /// Among the other records, in one mapping.
  std::shared_ptr<const MappedBytes> map_with_others(const Record& record);
  /// Whether the content is what its record says.
  bool check(const MappedBytes& content, Record& record) const;

  const std::string path_;
  const int descriptor_;
  bool writes_;
  ContentName seed_{};
  std::mutex mutex_;
  std::map<PackedKey, Record> records_;
  /// Filters and biases of the records.
  std::set<std::pair<ContentName, ContentName>> originals_;
  /// Of all records that there were when it was made.
  std::weak_ptr<const FileMapping> mapping_;
  /// Behind the last record that is whole.
  uint64_t end_ = 0;
  /// Whether the file is marked as whole.
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
  /// Where it begins in the file.
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

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
