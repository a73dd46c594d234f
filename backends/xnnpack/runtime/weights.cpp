// SPDX-License-Identifier: BSD-3-Clause
#include "weights.h"

#include <new>
#include <utility>

namespace executorch {
namespace backends {
namespace xnnpack {

namespace {

constexpr size_t kAlignment = 128;  // the most that kernels of XNNPACK want
constexpr size_t kNotFound = SIZE_MAX;

}  // namespace

struct PackedWeights {
  explicit PackedWeights(size_t bytes) : size(bytes), memory(new(std::nothrow) uint8_t[bytes + kAlignment]) {}
  explicit PackedWeights(std::shared_ptr<const MappedBytes> bytes) : size(bytes->size), mapped(std::move(bytes)) {}

  /// XNNPACK writes to what it has reserved, never to what it has found.
  void* data() const {
    if (mapped != nullptr) {
      return const_cast<void*>(mapped->data);
    }
    const auto address = reinterpret_cast<uintptr_t>(memory.get());
    return reinterpret_cast<void*>((address + kAlignment - 1) / kAlignment * kAlignment);
  }

  size_t size;
  std::unique_ptr<uint8_t[]> memory;
  std::shared_ptr<const MappedBytes> mapped;
};

WeightsStore::WeightsStore(std::unique_ptr<WeightsFile> file)
    : file_(std::move(file)), seed_(file_ == nullptr ? random_seed() : file_->seed()) {}

WeightsStore::Name WeightsStore::name(const void* data, size_t size, const Shape& shape) const {
  const Name shaped = name_content(seed_, shape.data(), shape.size() * sizeof(size_t));
  return name_content(shaped, data, size);
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

DelegateWeights::DelegateWeights(WeightsStore& store) : store_(store), provider_{} {
  provider_.context = this;
  provider_.look_up = look_up;
  provider_.reserve_space = reserve;
  provider_.look_up_or_insert = look_up_or_insert;
  provider_.is_finalized = [](void*) { return true; };  // what is packed never moves
  provider_.offset_to_addr = address;
  provider_.delete_cache = [](void*) { return xnn_status_success; };
}

void DelegateWeights::share(const void* data, size_t size, const Shape& shape) {
  const WeightsStore::Name name = store_.name(data, size, shape);
  const auto [entry, is_new] = names_.emplace(data, name);
  if (!is_new && entry->second != name) {
    entry->second = {};
  }
}

bool DelegateWeights::key_of(const xnn_weights_cache_look_up_key& key, WeightsStore::Key* result) const {
  const auto filter = names_.find(key.kernel);
  const auto bias = names_.find(key.bias);
  if (filter == names_.end() || filter->second == WeightsStore::Name{} ||
      (key.bias != nullptr && (bias == names_.end() || bias->second == WeightsStore::Name{}))) {
    return false;
  }
  *result = {key.seed, filter->second, key.bias == nullptr ? WeightsStore::Name{} : bias->second};
  return true;
}

size_t DelegateWeights::look_up(void* context, const xnn_weights_cache_look_up_key* key) {
  auto& self = *static_cast<DelegateWeights*>(context);
  WeightsStore::Key named;
  std::shared_ptr<PackedWeights> found = self.key_of(*key, &named) ? self.store_.find(named) : nullptr;
  if (found == nullptr) {
    return kNotFound;
  }
  self.used_.push_back(std::move(found));
  return self.used_.size() - 1;
}

void* DelegateWeights::reserve(void* context, size_t size) {
  auto& self = *static_cast<DelegateWeights*>(context);
  self.reserved_ = std::make_shared<PackedWeights>(size);
  return self.reserved_->memory == nullptr ? nullptr : self.reserved_->data();
}

size_t DelegateWeights::look_up_or_insert(void* context, const xnn_weights_cache_look_up_key* key, void* data, size_t) {
  auto& self = *static_cast<DelegateWeights*>(context);
  if (self.reserved_ == nullptr || self.reserved_->data() != data) {
    return look_up(context, key);  // convolutions ask again for what they have found
  }
  WeightsStore::Key named;
  auto packed = std::move(self.reserved_);
  self.used_.push_back(self.key_of(*key, &named) ? self.store_.add(named, std::move(packed)) : std::move(packed));
  return self.used_.size() - 1;
}

void* DelegateWeights::address(void* context, size_t offset) {
  const auto& self = *static_cast<const DelegateWeights*>(context);
  return offset < self.used_.size() ? self.used_[offset]->data() : nullptr;
}

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
