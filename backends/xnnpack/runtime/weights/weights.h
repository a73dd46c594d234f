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

/// A filter or bias as the program has it.
struct OriginalWeights {
  /// Null while they are not in memory.
  const void* data = nullptr;
  size_t size = 0;
  /// Sizes and whatever else changes how they are packed.
  Shape shape;
  /// The bytes of their scales, where integers have several: they are packed along.
  std::string_view scales;
  /// Whether others may have them too.
  bool is_shareable = true;
  /// The name that the program gives them, when it is a SHA-256. It is true only if the bytes say so, too.
  std::optional<Sha256> digest;
  /// Their first bytes, at most kStart of them, where there is a digest. They tell weights apart that were exchanged
  /// under the name of others.
  std::string start;

  static constexpr size_t kStart = 1024;
};

/// All packed weights of the process that a delegate uses, so that delegates with the same weights, of one program or
/// of several, pack them once; with a file, once for all starts. Thread-safe.
class WeightsStore final {
 public:
  /// What tells original weights apart: their contents and shape.
  using Name = ContentName;
  using Key = PackedKey;

  /// @param file Where packed weights are looked for, and added to if it takes them; may be null.
  explicit WeightsStore(std::unique_ptr<WeightsFile> file = nullptr);

  /// Whether weights are named by what the program calls them, so that those that are packed are not read. Whoever adds
  /// packed weights then checks that the program tells the truth.
  bool trusts_digests() const { return file_ != nullptr; }

  /// Begins with numbers drawn at random, for the process or for the file, so that nobody can make weights with the
  /// same name. Nothing for weights that cannot be shared, or have to be in memory for it and are not.
  std::optional<Name> name(const OriginalWeights& weights) const;

  /// Whether these weights may be packed already, in one way or another.
  bool may_have(const Name& filter, const Name& bias) const;

  /// Null if they are not packed.
  std::shared_ptr<PackedWeights> find(const Key& key);

  /// What others use for the key, which is `weights` when nobody did, in the file if it takes them.
  std::shared_ptr<PackedWeights> add(const Key& key, std::shared_ptr<PackedWeights> weights);

  /// Makes what was added last in the file, so that the next start need not read it to see that it is whole.
  void commit();

 private:
  /// Null if nothing in the process has packed them.
  std::shared_ptr<PackedWeights> find_in_process(const Key& key);

  const std::unique_ptr<WeightsFile> file_;
  const Name seed_;
  std::mutex mutex_;
  std::map<Key, std::weak_ptr<PackedWeights>> weights_;
};

/// The packed weights of one delegate, for XNNPACK. Must live as long as its runtime.
class DelegateWeights {
 public:
  /// @param store Null for weights that are not shared.
  explicit DelegateWeights(WeightsStore* store);
  DelegateWeights(const DelegateWeights&) = delete;
  DelegateWeights& operator=(const DelegateWeights&) = delete;

  /// What XNNPACK asks for until end() is about these weights, which stay where they are. Null: about the delegate's
  /// own.
  void begin(const OriginalWeights* filter, const OriginalWeights* bias);
  void end() { begin(nullptr, nullptr); }

  /// Whether weights were asked for, since begin(), that are neither packed nor in memory: XNNPACK was told that there
  /// is no memory, and has to be asked again when they are.
  bool are_missing() const { return are_missing_; }

  /// Bytes of the packed weights that were found since begin(); 0 when none were.
  size_t found_size() const { return found_size_; }

  /// Bytes that XNNPACK said, since begin(), that the weights which it found have; 0 when it did not say.
  size_t needed_size() const { return needed_size_; }

  /// Lets XNNPACK pack the weights of begin() itself, whatever is packed already.
  void ignore_found() {
    ignores_found_ = true;
    found_size_ = needed_size_ = 0;
  }

  xnn_weights_cache_t provider() { return &provider_; }

 protected:
  struct Names {
    WeightsStore::Name filter, bias;
  };

  WeightsStore* store() const { return store_; }
  /// Of the weights that begin() was told of. Nothing where they are the delegate's own, or have no name yet.
  const std::optional<Names>& names() const { return names_; }

 private:
  static size_t look_up(void* context, const xnn_weights_cache_look_up_key* key);
  static void* reserve(void* context, size_t size);
  static size_t look_up_or_insert(void* context, const xnn_weights_cache_look_up_key* key, void* data, size_t size);
  static void* address(void* context, size_t offset);

  std::optional<Names> find_names() const;
  /// Nothing where the weights are the delegate's own.
  std::optional<WeightsStore::Key> key_of(const xnn_weights_cache_look_up_key& key) const;
  bool is_in_memory() const;
  size_t use(std::shared_ptr<PackedWeights> weights);
  std::shared_ptr<PackedWeights> share(const xnn_weights_cache_look_up_key& key, std::shared_ptr<PackedWeights> packed);

  WeightsStore* const store_;
  xnn_weights_cache_provider provider_;
  const OriginalWeights* filter_ = nullptr;
  const OriginalWeights* bias_ = nullptr;
  std::optional<Names> names_;
  /// Whether XNNPACK has looked for the packed weights before it packs them. It does not for all operators.
  bool is_asked_for_ = false;
  bool are_missing_ = false;
  bool ignores_found_ = false;
  size_t found_size_ = 0;
  size_t needed_size_ = 0;
  std::shared_ptr<PackedWeights> reserved_;
  /// XNNPACK's offsets are positions here.
  std::vector<std::shared_ptr<PackedWeights>> used_;
};

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
