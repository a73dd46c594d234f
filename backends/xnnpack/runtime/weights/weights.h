// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <xnnpack.h>

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/shapes.h"
#include "weights/weights_file.h"

namespace executorch {
namespace backends {
namespace xnnpack {

/// Packed weights of one operator, in memory or in a mapped file.
struct PackedWeights;

/// A filter or bias before packing.
struct OriginalWeights {
  /// Null while the weights are not in memory.
  const void* data = nullptr;
  size_t size = 0;
  /// The sizes, and every other number on which the packed layout depends.
  Shape shape;
  /// The bytes of the scales of per-channel or per-group integers, which are packed with the weights.
  std::string_view scales;
  /// Whether other delegates may use the packed weights.
  bool is_shareable = true;
  /// The SHA-256 by which the program names the weights, if it does. It may be false, so it must be compared with the
  /// digest of the bytes before packed weights are stored under it.
  std::optional<Sha256> digest;
  /// The first bytes of weights with a digest, at most kStart. They are part of the cache key, so that most weights
  /// that were replaced under the same name get another key without being read whole.
  std::string start;

  static constexpr size_t kStart = 1024;
};

/// The packed weights of all delegates in the process. Delegates with the same weights, in one program or in several,
/// share one packed copy; with a file, later processes use it as well. Thread-safe.
class WeightsStore final {
 public:
  /// A hash of original weights: their contents, shape and scales.
  using Name = ContentName;
  using Key = PackedKey;

  /// @param file The file in which packed weights are looked up, and to which they are added if it is writable; may be
  /// null.
  explicit WeightsStore(std::unique_ptr<WeightsFile> file = nullptr);

  /// Whether name() uses the digest in the program instead of the bytes, so that weights in the file need not be read.
  /// Before adding packed weights, the caller then has to compare the digest with the bytes.
  bool trusts_digests() const { return file_ != nullptr; }

  /// The hash of `weights`. Its seed is random, per process or per file, so that an attacker cannot construct other
  /// weights with the same hash. nullopt for weights that are not shareable, and for weights that are not in memory and
  /// have no usable digest.
  std::optional<Name> name(const OriginalWeights& weights) const;

  /// Whether the file may hold these weights, packed for any kernel.
  bool may_have(const Name& filter, const Name& bias) const;

  /// Null if the weights are not packed.
  std::shared_ptr<PackedWeights> find(const Key& key);

  /// Adds `weights`, also to the file if it is writable.
  /// @returns The packed weights that all delegates use for the key: those of an earlier call if still in use.
  std::shared_ptr<PackedWeights> add(const Key& key, std::shared_ptr<PackedWeights> weights);

  /// Marks the file as complete, so that the next process need not verify the hash of each record.
  void commit();

 private:
  /// Null if no delegate of the process uses such weights.
  std::shared_ptr<PackedWeights> find_in_process(const Key& key);

  const std::unique_ptr<WeightsFile> file_;
  const Name seed_;
  std::mutex mutex_;
  std::map<Key, std::weak_ptr<PackedWeights>> weights_;
};

/// The packed weights of one delegate, as an xnn_weights_cache. Must outlive the delegate's runtime.
class DelegateWeights {
 public:
  /// @param store Null if the delegate shares no weights.
  explicit DelegateWeights(WeightsStore* store);
  DelegateWeights(const DelegateWeights&) = delete;
  DelegateWeights& operator=(const DelegateWeights&) = delete;

  /// Until end(), XNNPACK's calls refer to these weights, which must outlive end(). A null filter means that weights
  /// are not shared.
  void begin(const OriginalWeights* filter, const OriginalWeights* bias);
  void end() { begin(nullptr, nullptr); }

  /// Whether, since begin(), XNNPACK has tried to pack weights that are not in memory. The reservation then failed, as
  /// if memory had run out; read the weights and create the operator again.
  bool are_missing() const { return are_missing_; }

  /// Bytes of the packed weights that were found since begin(); 0 if none were.
  size_t found_size() const { return found_size_; }

  /// Bytes that XNNPACK expected, since begin(), of packed weights that it had found; 0 if it passed no size.
  size_t needed_size() const { return needed_size_; }

  /// Makes XNNPACK pack the weights of begin() even if packed ones exist.
  void ignore_found() {
    ignores_found_ = true;
    found_size_ = needed_size_ = 0;
  }

  /// Whether memory ran out where XNNPACK does not check it: the runtime must not run.
  bool lacks_weights() const { return lacks_weights_; }

  xnn_weights_cache_t provider() { return &provider_; }

 protected:
  struct Names {
    WeightsStore::Name filter, bias;
  };

  WeightsStore* store() const { return store_; }
  /// The names of the weights of begin(); nullopt if they are not shared or cannot be named yet.
  const std::optional<Names>& names() const { return names_; }

 private:
  static size_t look_up(void* context, const xnn_weights_cache_look_up_key* key);
  static void* reserve(void* context, size_t size);
  static size_t look_up_or_insert(void* context, const xnn_weights_cache_look_up_key* key, void* data, size_t size);
  static void* address(void* context, size_t offset);

  std::optional<Names> find_names() const;
  /// nullopt if the weights are not shared.
  std::optional<WeightsStore::Key> key_of(const xnn_weights_cache_look_up_key& key) const;
  bool is_in_memory() const;
  size_t use(std::shared_ptr<PackedWeights> weights);
  std::shared_ptr<PackedWeights> share(const xnn_weights_cache_look_up_key& key, std::shared_ptr<PackedWeights> packed);

  WeightsStore* const store_;
  xnn_weights_cache_provider provider_;
  const OriginalWeights* filter_ = nullptr;
  const OriginalWeights* bias_ = nullptr;
  std::optional<Names> names_;
  /// Whether XNNPACK has looked up the weights before packing them. It does so for some operators only.
  bool is_asked_for_ = false;
  bool are_missing_ = false;
  bool ignores_found_ = false;
  bool lacks_weights_ = false;
  size_t found_size_ = 0;
  size_t needed_size_ = 0;
  std::shared_ptr<PackedWeights> reserved_;
  /// The offsets that XNNPACK gets are indices into this vector.
  std::vector<std::shared_ptr<PackedWeights>> used_;
};

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
