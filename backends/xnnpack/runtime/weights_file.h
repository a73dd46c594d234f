// SPDX-License-Identifier: BSD-3-Clause
// Packed weights in a file, which the next start maps.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>

namespace executorch {
namespace backends {
namespace xnnpack {

/// What tells contents apart; all zeros stand for none.
using ContentName = std::array<uint64_t, 2>;

/// For names that nobody can foresee.
ContentName random_seed();

/// The name of `size` bytes, which begins with `seed`. Reads 64 bytes a step, as fast as memory gives them.
ContentName name_content(const ContentName& seed, const void* data, size_t size);

/// How weights are packed, and the names of the filter and of the bias.
using PackedKey = std::tuple<uint32_t, ContentName, ContentName>;

/// Bytes of a file that are mapped while an object of these lives.
struct MappedBytes;

/**
 * A file of packed weights. Thread-safe, and processes may use one file at the same time.
 *
 * The file is a header and records behind one another, each a key, a size, the name of the content, the name of all
 * that, and the content. A record counts when both names are right: what a crash, a full disk or a broken disk leaves
 * is not found, and overwritten by the next record. Nothing in it is changed afterwards and the file is never made
 * shorter, so what is mapped stays. Integers are the machine's own: the header names the machine, and the version of
 * XNNPACK.
 *
 * Whoever may write the file can give a model other weights: it belongs into a folder of the application.
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

  /// Null when it is not there. Reads the content once, to see that it is whole.
  std::shared_ptr<const MappedBytes> find(const PackedKey& key);

  /// Writes a record. Null when there is no place or no right to write, which is logged once.
  std::shared_ptr<const MappedBytes> add(const PackedKey& key, const void* data, size_t size);

  /// Whether records may be added.
  bool writes() const { return writes_; }

 private:
  struct Record {
    uint64_t offset, size;
    ContentName content;
  };

  WeightsFile(std::string path, int descriptor, bool writes)
      : path_(std::move(path)), descriptor_(descriptor), writes_(writes) {}

  /// Finds the records from end_ on.
  void read_records();
  bool write_record(const PackedKey& key, const void* data, const Record& record);
  std::shared_ptr<const MappedBytes> map(const Record& record) const;
  /// Null when the content is not what its record says.
  std::shared_ptr<const MappedBytes> map_whole(const Record& record) const;

  const std::string path_;
  const int descriptor_;
  bool writes_;
  ContentName seed_{};
  std::mutex mutex_;
  std::map<PackedKey, Record> records_;
  /// Behind the last record that is whole.
  uint64_t end_ = 0;
};

struct MappedBytes {
  MappedBytes(void* base, size_t length, const void* content, size_t bytes)
      : data(content), size(bytes), mapping(base), mapping_size(length) {}
  ~MappedBytes();
  MappedBytes(const MappedBytes&) = delete;
  MappedBytes& operator=(const MappedBytes&) = delete;

  /// At a multiple of 128 bytes.
  const void* const data;
  const size_t size;

 private:
  void* const mapping;
  const size_t mapping_size;
};

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
