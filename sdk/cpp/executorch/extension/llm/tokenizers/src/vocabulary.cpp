// SPDX-License-Identifier: BSD-3-Clause
#include "vocabulary.h"

namespace tokenizers::detail {

bool Vocabulary::add(std::string_view token, uint64_t id) {
  if (id > kLargestToken || contains(id) || bytes_.size() + token.size() >= kNoToken) {
    return false;
  }
  if (id >= places_.size()) {
    places_.resize(id + 1);
  }
  const bool known = find(token) != kNoToken;
  places_[id] = {static_cast<uint32_t>(bytes_.size()), static_cast<uint32_t>(token.size())};
  bytes_ += token;
  count_++;
  longest_ = token.size() > longest_ ? token.size() : longest_;
  if (known) {
    return true;
  }
  // At most half of the slots are used.
  if (count_ * 2 > slots_.size()) {
    std::vector<Slot> old(slots_.empty() ? 256 : slots_.size() * 2);
    old.swap(slots_);
    mask_ = slots_.size() - 1;
    for (const Slot& slot : old) {
      if (slot.id != kNoToken) {
        insert(slot.id);
      }
    }
  }
  insert(static_cast<uint32_t>(id));
  return true;
}

void Vocabulary::insert(uint32_t id) {
  const std::string_view token = text(id);
  const uint64_t hash = hash_bytes(token.data(), token.size());
  size_t slot = hash & mask_;
  while (slots_[slot].id != kNoToken) {
    slot = (slot + 1) & mask_;
  }
  slots_[slot] = {id, static_cast<uint32_t>(hash >> 32)};
}

}  // namespace tokenizers::detail
