// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <xnnpack.h>

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "shapes.h"
#include "weights_file.h"

namespace executorch {
namespace backends {
namespace xnnpack {

/// Packed weights of one operator, in memory or in a mapped file.
struct PackedWeights;

/// All packed weights of the process that a delegate uses, so that delegates with the same weights, of one program or
/// of several, pack them once; with a file, once for all starts. Thread-safe.
class WeightsStore final {
 public:
  /// What tells original weights apart: their contents and shape.
  using Name = ContentName;
  using Key = PackedKey;

  /// @param file Where packed weights are looked for, and added to if it takes them; may be null.
  explicit WeightsStore(std::unique_ptr<WeightsFile> file = nullptr);

  /// Begins with numbers drawn at random, for the process or for the file, so that nobody can make weights with the
  /// same name.
  Name name(const void* data, size_t size, const Shape& shape) const;

  /// Null when nobody has them.
  std::shared_ptr<PackedWeights> find(const Key& key);

  /// What others use for the key, which is `weights` when nobody did, in the file if it takes them.
  std::shared_ptr<PackedWeights> add(const Key& key, std::shared_ptr<PackedWeights> weights);

 private:
  /// Null when nobody in the process has them.
  std::shared_ptr<PackedWeights> find_in_process(const Key& key);

  const std::unique_ptr<WeightsFile> file_;
  const Name seed_;
  std::mutex mutex_;
  std::map<Key, std::weak_ptr<PackedWeights>> weights_;
};

/// The packed weights of one delegate, for XNNPACK. Must live as long as its runtime.
class DelegateWeights final {
 public:
  explicit DelegateWeights(WeightsStore& store);
  DelegateWeights(const DelegateWeights&) = delete;
  DelegateWeights& operator=(const DelegateWeights&) = delete;

  /// Lets weights at `data` be shared. Others stay the delegate's own, and those that are shared in two ways.
  /// @param shape Sizes and whatever else changes how they are packed.
  void share(const void* data, size_t size, const Shape& shape);

  /// Forgets where the weights were, when all are packed.
  void finish() { names_.clear(); }

  xnn_weights_cache_t provider() { return &provider_; }

 private:
  static size_t look_up(void* context, const xnn_weights_cache_look_up_key* key);
  static void* reserve(void* context, size_t size);
  static size_t look_up_or_insert(void* context, const xnn_weights_cache_look_up_key* key, void* data, size_t size);
  static void* address(void* context, size_t offset);

  /// Whether both the filter and the bias have names.
  bool key_of(const xnn_weights_cache_look_up_key& key, WeightsStore::Key* result) const;

  WeightsStore& store_;
  xnn_weights_cache_provider provider_;
  std::unordered_map<const void*, WeightsStore::Name> names_;
  std::shared_ptr<PackedWeights> reserved_;
  /// XNNPACK's offsets are positions here.
  std::vector<std::shared_ptr<PackedWeights>> used_;
};

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
