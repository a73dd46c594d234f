// SPDX-License-Identifier: BSD-3-Clause
#include <xnnpack.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <unistd.h>

#include <executorch/runtime/platform/runtime.h>

#include "choices.h"
#include "exact_buffer.h"
#include "paths.h"
#include "weights/weights.h"
#include "weights/weights_file.h"
#include "xnnpack_driver.h"

namespace executorch {
namespace fuzz {

using backends::xnnpack::ContentName;
using backends::xnnpack::name_content;
using backends::xnnpack::open_weights_file;
using backends::xnnpack::PackedKey;
using backends::xnnpack::WeightsFile;
using backends::xnnpack::WeightsStore;
using executorch::tests::kSeedsFolder;

namespace {

/// The size of both headers, and the offsets of fields in a record's header, as in extension/file_cache/file_cache.cpp.
constexpr size_t kHeaderSize = 128;
constexpr size_t kSizeAt = 40, kContentAt = 48, kNameAt = 64;
constexpr size_t kKeys = 4;

PackedKey key_of(size_t number) {
  return {static_cast<uint32_t>(number), {number + 1, 2}, {number % 2, 0}};
}

/// The payload of a delegate with layers that look up packed weights, and its outputs without a cache.
struct Layers {
  std::vector<uint8_t> payload, outputs;
};

const std::vector<Layers>& all_layers() {
  static const std::vector<Layers> layers = [] {
    std::vector<Layers> loaded;
    for (const char* name : {"/fp32.payload", "/int8.payload", "/qb4w.payload"}) {
      std::ifstream file(std::string(kSeedsFolder) + name, std::ios::binary);
      loaded.push_back({{std::istreambuf_iterator<char>(file), {}}, {}});
      loaded.back().outputs = outputs_of(loaded.back().payload, nullptr);
    }
    return loaded;
  }();
  return layers;
}

/// A file that is deleted with the object.
class TemporaryFile {
 public:
  TemporaryFile() {
    const char* folder = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    path_ = std::string(folder) + "/fuzz_packed_weights_" + std::to_string(getpid());
    unlink(path_.c_str());
  }
  ~TemporaryFile() { unlink(path_.c_str()); }
  const std::string& path() const { return path_; }

  std::vector<uint8_t> read() const {
    std::vector<uint8_t> bytes;
    if (std::FILE* file = std::fopen(path_.c_str(), "rb")) {
      uint8_t block[4096];
      for (size_t count; (count = std::fread(block, 1, sizeof(block), file)) > 0;) {
        bytes.insert(bytes.end(), block, block + count);
      }
      std::fclose(file);
    }
    return bytes;
  }
  void write(const std::vector<uint8_t>& bytes) const {
    if (std::FILE* file = std::fopen(path_.c_str(), "wb")) {
      if (!bytes.empty()) {
        std::fwrite(bytes.data(), 1, bytes.size(), file);
      }
      std::fclose(file);
    }
  }

 private:
  std::string path_;
};

class Player {
 public:
  explicit Player(Choices choices) : choices_(choices) {}

  Outcome run() {
    std::unique_ptr<WeightsFile> file = open_weights_file(disk_.path(), true);
    if (file == nullptr) {
      std::fprintf(stderr, "No file of packed weights can be made at %s\n", disk_.path().c_str());
      std::abort();
    }
    const ContentName seed = file->seed();
    for (size_t steps = 1 + choices_.below(8); steps > 0; --steps) {
      switch (choices_.below(7)) {
        case 0:
          if (file != nullptr && file->writes()) {
            add(*file);
          }
          break;
        case 1:
          append_record(seed);
          break;
        case 2:
          damage();
          break;
        case 3:
          if (file != nullptr) {
            file->commit();
          }
          break;
        case 4:
          run_layers();
          break;
        case 5:
          resize_records(seed);
          break;
        default:
          file = open_weights_file(disk_.path(), choices_.below(2) == 0);
          break;
      }
      if (file != nullptr) {
        look(*file);
      }
    }
    file = open_weights_file(disk_.path(), false);
    if (file != nullptr) {
      look(*file);
    }
    return file == nullptr ? Outcome::Refused : found_ > 0 ? Outcome::Executed : Outcome::Loaded;
  }

 private:
  std::vector<uint8_t> content() {
    return std::vector<uint8_t>(choices_.below(4) * 100 + choices_.byte(), choices_.byte());
  }

  void add(WeightsFile& file) {
    const size_t key = choices_.below(kKeys);
    const auto bytes = content();
    const ExactBuffer exact(bytes.data(), bytes.size());
    written_[key].push_back(bytes);
    if (const auto mapped = file.add(key_of(key), exact.data.get(), exact.bytes)) {
      check(key, mapped->data, mapped->size);
    }
  }

  /// Appends a record with valid hashes and one wrong number, as an attacker who knows the format could.
  void append_record(const ContentName& seed) {
    const size_t key = choices_.below(kKeys);
    const auto bytes = content();
    std::vector<uint8_t> record(kHeaderSize);
    const auto put = [&](size_t at, const void* from, size_t size) { std::memcpy(record.data() + at, from, size); };
    const auto [packing, filter, bias] = key_of(key);
    const uint64_t wide = packing;
    put(0, &wide, 8);
    put(8, &filter, 16);
    put(24, &bias, 16);
    uint64_t size = bytes.size();
    if (choices_.once_in(2)) {
      size = choices_.below(2) == 0 ? choices_.word() : size + choices_.byte();
    }
    put(kSizeAt, &size, 8);
    const ContentName named = name_content(seed, bytes.data(), bytes.size());
    put(kContentAt, &named, 16);
    const ContentName name = name_content(seed, record.data(), kNameAt);
    put(kNameAt, &name, 16);
    auto whole = disk_.read();
    whole.insert(whole.end(), record.begin(), record.end());
    whole.insert(whole.end(), bytes.begin(), bytes.end());
    whole.resize((whole.size() + kHeaderSize - 1) / kHeaderSize * kHeaderSize);
    written_[key].push_back(bytes);
    disk_.write(whole);
  }

  /// Truncates or extends the contents of some records, and recomputes their hashes.
  void resize_records(const ContentName& seed) {
    const auto whole = disk_.read();
    std::vector<uint8_t> changed(whole.begin(),
                                 whole.begin() + static_cast<std::ptrdiff_t>(std::min(whole.size(), kHeaderSize)));
    for (size_t at = kHeaderSize; at + kHeaderSize <= whole.size();) {
      const auto begin = whole.begin() + static_cast<std::ptrdiff_t>(at);
      std::vector<uint8_t> record(begin, begin + kHeaderSize);
      uint64_t size = 0;
      std::memcpy(&size, &record[kSizeAt], sizeof(size));
      if (size > whole.size() - at - kHeaderSize) {
        break;
      }
      std::vector<uint8_t> bytes(begin + kHeaderSize, begin + static_cast<std::ptrdiff_t>(kHeaderSize + size));
      at += (kHeaderSize + size + kHeaderSize - 1) / kHeaderSize * kHeaderSize;
      if (choices_.once_in(2)) {
        bytes.resize(choices_.below(2) == 0 ? choices_.word() % (size + 1) : size + 1 + choices_.byte(), 0x7f);
        size = bytes.size();
        std::memcpy(&record[kSizeAt], &size, sizeof(size));
        const ContentName content = name_content(seed, bytes.data(), bytes.size());
        std::memcpy(&record[kContentAt], &content, sizeof(content));
        const ContentName name = name_content(seed, record.data(), kNameAt);
        std::memcpy(&record[kNameAt], &name, sizeof(name));
        for (size_t key = 0; key < kKeys; ++key) {
          written_[key].push_back(bytes);
        }
      }
      changed.insert(changed.end(), record.begin(), record.end());
      changed.insert(changed.end(), bytes.begin(), bytes.end());
      changed.resize((changed.size() + kHeaderSize - 1) / kHeaderSize * kHeaderSize);
    }
    unlink(disk_.path().c_str());
    disk_.write(changed);
  }

  /// Runs a delegate, whose outputs must not depend on the file.
  void run_layers() {
    const Layers& layers = all_layers()[choices_.below(all_layers().size())];
    WeightsStore store(open_weights_file(disk_.path(), choices_.below(2) == 0));
    if (outputs_of(layers.payload, &store) != layers.outputs) {
      std::fprintf(stderr, "Layers with packed weights from a file give other results\n");
      std::abort();
    }
  }

  void damage() {
    auto whole = disk_.read();
    if (choices_.once_in(4)) {
      whole.resize(whole.size() * choices_.byte() / 255);
    } else if (!whole.empty()) {
      whole[static_cast<size_t>(choices_.word() % whole.size())] ^= choices_.byte();
    }
    // Replace the file instead of writing to it, because mapped weights would change.
    unlink(disk_.path().c_str());
    disk_.write(whole);
  }

  void look(WeightsFile& file) {
    for (size_t key = 0; key < kKeys; ++key) {
      if (const auto mapped = file.find(key_of(key))) {
        check(key, mapped->data, mapped->size);
        ++found_;
      }
    }
  }

  void check(size_t key, const void* data, size_t size) const {
    const auto known = written_.find(key);
    if (known != written_.end()) {
      for (const auto& bytes : known->second) {
        if (bytes.size() == size && (size == 0 || std::memcmp(bytes.data(), data, size) == 0)) {
          return;
        }
      }
    }
    std::fprintf(stderr, "%zu bytes were found under a key with which they were not written\n", size);
    std::abort();
  }

  Choices choices_;
  const TemporaryFile disk_;
  std::map<size_t, std::vector<std::vector<uint8_t>>> written_;
  size_t found_ = 0;
};

}  // namespace

Outcome run_packed_weights(const uint8_t* data, size_t size) {
  runtime::runtime_init();
  (void)xnn_initialize(nullptr);
  (void)all_layers();
  return Player(Choices(data, size)).run();
}

}  // namespace fuzz
}  // namespace executorch
