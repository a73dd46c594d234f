// SPDX-License-Identifier: BSD-3-Clause
#include "weights.h"

#include <cstring>
#include <new>
#include <random>

namespace executorch {
namespace backends {
namespace xnnpack {

namespace {

constexpr size_t kAlignment = 128;  // the most that kernels of XNNPACK want
constexpr size_t kNotFound = SIZE_MAX;

uint64_t draw() {
  std::random_device device;
  return (static_cast<uint64_t>(device()) << 32) ^ device();
}

/// Two lanes of multiplication and rotation, which eight bytes go through at a time.
void mix(WeightsStore::Name& state, uint64_t value) {
  state[0] = (state[0] ^ value) * 0x9E3779B97F4A7C15u;
  state[0] ^= state[0] >> 32;
  state[1] = (state[1] + value) * 0xD6E8FEB86659FD93u;
  state[1] ^= state[1] >> 29;
}

}  // namespace

struct PackedWeights {
  explicit PackedWeights(size_t bytes) : size(bytes), memory(new(std::nothrow) uint8_t[bytes + kAlignment]) {}

  void* data() const {
    const auto address = reinterpret_cast<uintptr_t>(memory.get());
    return reinterpret_cast<void*>((address + kAlignment - 1) / kAlignment * kAlignment);
  }

  size_t size;
  std::unique_ptr<uint8_t[]> memory;
};

WeightsStore::WeightsStore() : seed_{draw(), draw()} {}

WeightsStore::Name WeightsStore::name(const void* data, size_t size, const Shape& shape) const {
  Name state = seed_;
  mix(state, size);
  for (const size_t dim : shape) {
    mix(state, dim);
  }
  const auto* bytes = static_cast<const uint8_t*>(data);
  uint64_t word = 0;
  for (; size >= sizeof(word); size -= sizeof(word), bytes += sizeof(word)) {
    std::memcpy(&word, bytes, sizeof(word));
    mix(state, word);
  }
  word = 0;
  if (size > 0) {
    std::memcpy(&word, bytes, size);
  }
  mix(state, word);
  mix(state, seed_[1]);
  return state;
}

std::shared_ptr<PackedWeights> WeightsStore::find(const Key& key) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = weights_.find(key);
  return found == weights_.end() ? nullptr : found->second.lock();
}

std::shared_ptr<PackedWeights> WeightsStore::add(const Key& key, std::shared_ptr<PackedWeights> weights) {
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
