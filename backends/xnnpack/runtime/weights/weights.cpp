// SPDX-License-Identifier: BSD-3-Clause
#include "weights/weights.h"

#include <new>
#include <utility>

#include <executorch/runtime/platform/log.h>

#include "private/callbacks.h"

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace executorch {
namespace backends {
namespace xnnpack {

namespace {

constexpr size_t kAlignment = 128;  // the largest that XNNPACK's kernels require
constexpr size_t kNotFound = SIZE_MAX;
/// The size of a huge page on most processors. A GEMM reads all weights, and with small pages it misses the TLB often.
constexpr size_t kHugePage = 2 << 20;

struct FreeAligned {
  size_t alignment;
  void operator()(uint8_t* memory) const { ::operator delete(memory, std::align_val_t{alignment}); }
};
using AlignedBytes = std::unique_ptr<uint8_t, FreeAligned>;

/// Null if memory runs out. Asks Linux for huge pages, except for a last page that would be partly unused.
AlignedBytes allocate(size_t size) {
  const bool is_large = size >= kHugePage && sizeof(void*) > sizeof(uint32_t);  // 32 bits: address space is scarce
  const size_t alignment = is_large ? kHugePage : kAlignment;
  AlignedBytes memory(static_cast<uint8_t*>(::operator new(size, std::align_val_t{alignment}, std::nothrow)),
                      {alignment});
#if defined(__linux__) && defined(MADV_HUGEPAGE)
  if (is_large && memory != nullptr) {
    (void)madvise(memory.get(), size / kHugePage * kHugePage, MADV_HUGEPAGE);  // only advice
  }
#endif
  return memory;
}

/// Whether the digest of `weights`, which are in memory, is that of their bytes. True if there is no digest.
bool has_true_digest(const OriginalWeights& weights) {
  if (!weights.digest || sha256(weights.data, weights.size) == *weights.digest) {
    return true;
  }
  ET_LOG(Info,
         "XNNPACK: weights of %zu bytes are named by a SHA-256 "
         "that is not theirs; they are not added to the file "
         "of packed weights",
         weights.size);
  return false;
}

}  // namespace

struct PackedWeights {
  explicit PackedWeights(size_t bytes) : size(bytes), memory(allocate(bytes)) {}
  explicit PackedWeights(std::shared_ptr<const MappedBytes> bytes)
      : size(bytes->size), memory(nullptr, {kAlignment}), mapped(std::move(bytes)) {}

  /// XNNPACK writes only to memory that it has reserved, so a mapped file is never written to.
  void* data() const { return mapped != nullptr ? const_cast<void*>(mapped->data) : memory.get(); }

  size_t size;
  AlignedBytes memory;
  std::shared_ptr<const MappedBytes> mapped;
};

WeightsStore::WeightsStore(std::unique_ptr<WeightsFile> file)
    : file_(std::move(file)), seed_(file_ == nullptr ? random_seed() : file_->seed()) {}

std::optional<WeightsStore::Name> WeightsStore::name(const OriginalWeights& weights) const {
  const bool by_digest = trusts_digests() && weights.digest.has_value();
  if (!weights.is_shareable || (!by_digest && weights.data == nullptr)) {
    return std::nullopt;
  }
  const Shape& shape = weights.shape;
  const Name sized = name_content(seed_, shape.data(), shape.size() * sizeof(size_t));
  const Name shaped =
      weights.scales.empty() ? sized : name_content(sized, weights.scales.data(), weights.scales.size());
  if (!by_digest) {
    return name_content(shaped, weights.data, weights.size);
  }
  const Name digested = name_content(shaped, weights.digest->data(), weights.digest->size());
  return name_content(digested, weights.start.data(), weights.start.size());
}

bool WeightsStore::may_have(const Name& filter, const Name& bias) const {
  return file_ != nullptr && file_->may_have(filter, bias);
}

void WeightsStore::commit() {
  if (file_ != nullptr) {
    file_->commit();
  }
}

std::shared_ptr<PackedWeights> WeightsStore::find_in_process(const Key& key) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = weights_.find(key);
  return found == weights_.end() ? nullptr : found->second.lock();
}

std::shared_ptr<PackedWeights> WeightsStore::find(const Key& key) {
  auto found = find_in_process(key);
  if (found == nullptr && file_ != nullptr) {
    if (auto mapped = file_->find(key)) {
      found = add(key, std::make_shared<PackedWeights>(std::move(mapped)));
    }
  }
  return found;
}

std::shared_ptr<PackedWeights> WeightsStore::add(const Key& key, std::shared_ptr<PackedWeights> weights) {
  if (file_ != nullptr && weights->mapped == nullptr) {
    if (auto mapped = file_->add(key, weights->data(), weights->size)) {
      weights = std::make_shared<PackedWeights>(std::move(mapped));
    }
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  for (auto entry = weights_.begin(); entry != weights_.end();) {
    entry = entry->second.expired() ? weights_.erase(entry) : std::next(entry);
  }
  std::weak_ptr<PackedWeights>& slot = weights_[key];
  if (auto known = slot.lock(); known != nullptr && known->size == weights->size) {
    return known;
  }
  slot = weights;
  return weights;
}

DelegateWeights::DelegateWeights(WeightsStore* store) : store_(store), provider_{} {
  provider_.context = this;
  provider_.look_up = look_up;
  provider_.reserve_space = reserve;
  provider_.look_up_or_insert = look_up_or_insert;
  provider_.is_finalized = [](void*) { return true; };  // packed weights never move
  provider_.offset_to_addr = address;
  provider_.delete_cache = [](void*) { return xnn_status_success; };
}

void DelegateWeights::begin(const OriginalWeights* filter, const OriginalWeights* bias) {
  filter_ = filter;
  bias_ = bias;
  names_ = find_names();
  is_asked_for_ = false;
  are_missing_ = false;
  ignores_found_ = false;
  found_size_ = needed_size_ = 0;
}

std::optional<DelegateWeights::Names> DelegateWeights::find_names() const {
  if (store_ == nullptr || filter_ == nullptr) {
    return std::nullopt;
  }
  const auto filter = store_->name(*filter_);
  const auto bias = bias_ == nullptr ? WeightsStore::Name{} : store_->name(*bias_);
  return filter && bias ? std::optional(Names{*filter, *bias}) : std::nullopt;
}

std::optional<WeightsStore::Key> DelegateWeights::key_of(const xnn_weights_cache_look_up_key& key) const {
  if (!names_ || (key.bias != nullptr && bias_ == nullptr)) {
    return std::nullopt;
  }
  // The bias is part of our key even where XNNPACK's key has none: dynamically quantised layers leave it out of their
  // key but pack it with the filter.
  return WeightsStore::Key{key.seed, names_->filter, names_->bias};
}

bool DelegateWeights::is_in_memory() const {
  return (filter_ == nullptr || filter_->data != nullptr) && (bias_ == nullptr || bias_->data != nullptr);
}

size_t DelegateWeights::use(std::shared_ptr<PackedWeights> weights) {
  used_.push_back(std::move(weights));
  return used_.size() - 1;
}

size_t DelegateWeights::look_up(void* context, const xnn_weights_cache_look_up_key* key) {
  return without_exceptions(kNotFound, [&] {
    auto& self = *static_cast<DelegateWeights*>(context);
    self.is_asked_for_ = true;
    const auto named = self.ignores_found_ ? std::nullopt : self.key_of(*key);
    std::shared_ptr<PackedWeights> found = named ? self.store_->find(*named) : nullptr;
    if (found == nullptr) {
      return kNotFound;
    }
    const size_t size = found->size, offset = self.use(std::move(found));
    self.found_size_ = size;
    return offset;
  });
}

void* DelegateWeights::reserve(void* context, size_t size) {
  return without_exceptions(nullptr, [&]() -> void* {
    auto& self = *static_cast<DelegateWeights*>(context);
    if (!self.is_in_memory()) {
      self.are_missing_ = true;
      return nullptr;
    }
    self.used_.reserve(self.used_.size() + 1);  // for look_up_or_insert(), which XNNPACK does not expect to fail
    self.reserved_ = std::make_shared<PackedWeights>(size);
    return self.reserved_->memory == nullptr ? nullptr : self.reserved_->data();
  });
}

std::shared_ptr<PackedWeights> DelegateWeights::share(const xnn_weights_cache_look_up_key& key,
                                                      std::shared_ptr<PackedWeights> packed) {
  const auto named = key_of(key);
  if (!named) {
    return packed;
  }
  if (store_->trusts_digests()) {
    // Operators that pack without looking up first would never use a record of the file.
    if (!is_asked_for_ || !has_true_digest(*filter_) || (bias_ != nullptr && !has_true_digest(*bias_))) {
      return packed;
    }
  }
  return store_->add(*named, std::move(packed));
}

size_t DelegateWeights::look_up_or_insert(void* context, const xnn_weights_cache_look_up_key* key, void* data,
                                          size_t size) {
  auto& self = *static_cast<DelegateWeights*>(context);
  if (self.reserved_ == nullptr || self.reserved_->data() != data) {
    self.needed_size_ = size;
    const size_t found = look_up(context, key);  // convolutions look up again what they have found
    // XNNPACK does not expect a failure here, and would run with weights at a null pointer.
    self.lacks_weights_ = self.lacks_weights_ || found == kNotFound;
    return found;
  }
  const std::shared_ptr<PackedWeights> packed = std::move(self.reserved_);
  return self.use(without_exceptions(packed, [&] { return self.share(*key, packed); }));
}

void* DelegateWeights::address(void* context, size_t offset) {
  const auto& self = *static_cast<const DelegateWeights*>(context);
  return offset < self.used_.size() ? self.used_[offset]->data() : nullptr;
}

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
