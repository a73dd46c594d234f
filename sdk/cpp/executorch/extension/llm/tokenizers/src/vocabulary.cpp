// SPDX-License-Identifier: BSD-3-Clause
#include "vocabulary.h"

#include <algorithm>

namespace tokenizers::detail {

bool Vocabulary::add(std::string_view token, uint64_t id) {
  if (id > kLargestToken || contains(id) || bytes_.size() + token.size() >= kNoToken) {
    return false;
  }
  if (id >= places_.size()) {
    places_.edit([&](std::vector<Place>& places) { places.resize(id + 1); });
  }
  const bool known = find(token) != kNoToken;
  places_.change(id) = {static_cast<uint32_t>(bytes_.size()), static_cast<uint32_t>(token.size())};
  bytes_.edit([&](std::vector<char>& bytes) { bytes.insert(bytes.end(), token.begin(), token.end()); });
  count_++;
  longest_ = token.size() > longest_ ? token.size() : longest_;
  if (known) {
    return true;
  }
  // At most half of the slots are used.
  if (count_ * 2 > slots_.size()) {
    std::vector<Slot> old(slots_.empty() ? 256 : slots_.size() * 2);
    slots_.edit([&](std::vector<Slot>& slots) { old.swap(slots); });
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
  slots_.change(slot) = {id, static_cast<uint32_t>(hash >> 32)};
}

void Vocabulary::write(CompiledWriter& writer) const {
  writer.add(bytes_);
  writer.add(places_);
  writer.add(slots_);
}

Error Vocabulary::read(CompiledReader& reader) {
  TK_CHECK_OK_OR_RETURN_ERROR(reader.next(bytes_));
  TK_CHECK_OK_OR_RETURN_ERROR(reader.next(places_));
  TK_CHECK_OK_OR_RETURN_ERROR(reader.next(slots_));
  if (places_.size() > kLargestToken + 1 || (slots_.size() & (slots_.size() - 1)) != 0) {
    return reader.damaged("the size of a table");
  }
  count_ = longest_ = 0;
  for (const Place& place : places_) {
    if (place.offset == kNoToken) {
      continue;
    }
    if (place.offset > bytes_.size() || place.size > bytes_.size() - place.offset) {
      return reader.damaged("the text of a token");
    }
    count_++;
    longest_ = place.size > longest_ ? place.size : longest_;
  }
  // A search ends at a slot that is not used.
  const auto is_unused = [](const Slot& slot) { return slot.id == kNoToken; };
  if (!slots_.empty() && std::none_of(slots_.begin(), slots_.end(), is_unused)) {
    return reader.damaged("the vocabulary, which is full");
  }
  mask_ = slots_.empty() ? 0 : slots_.size() - 1;
  return Error::Ok;
}

}  // namespace tokenizers::detail
