// SPDX-License-Identifier: BSD-3-Clause
#include "work.h"

#include <algorithm>

namespace executorch {
namespace extension {
namespace llm {
namespace jinja {
namespace {

/// The overhead of a small storage: the control block of std::make_shared, and the allocator's part.
constexpr uint64_t kStorageBytes = 128;
/// Up to this number, entries are searched one by one.
constexpr size_t kFewEntries = 8;
/// The longest name in a message.
constexpr size_t kHintBytes = 100;

template <typename Kind>
Value charged(Work& work, Value::Type type, std::shared_ptr<Kind> storage, uint64_t bytes) {
  storage->charged(&work.budget(), bytes);
  return Value::stored(type, std::move(storage));
}

}  // namespace

Value Work::undefined(std::string_view what) {
  if (!take(kStorageBytes + kHintBytes)) {
    return {};
  }
  std::string hint(what.substr(0, kHintBytes));
  while (hint.size() < what.size() && !hint.empty() &&
         (static_cast<unsigned char>(what[hint.size()]) & 0xC0U) == 0x80U) {
    hint.pop_back();
  }
  return charged(*this, Value::Type::kUndefined, std::make_shared<TextStorage>(std::move(hint)),
                 kStorageBytes + kHintBytes);
}

Value Work::text(std::string_view copied) {
  TextBuilder made(*this);
  made.add(copied);
  return made.value();
}

Value Work::pair(Value first, Value second) {
  ListBuilder made(*this);
  made.add(std::move(first));
  made.add(std::move(second));
  return made.value(Value::Type::kTuple);
}

Value Work::method(const Value& self, const Method* method) {
  if (!take(kStorageBytes)) {
    return {};
  }
  auto storage = std::make_shared<MethodStorage>();
  storage->self = self;
  storage->method = method;
  storage->depth = self.depth() + 1;
  return charged(*this, Value::Type::kMethod, std::move(storage), kStorageBytes);
}

bool TextBuilder::grow(size_t more) {
  const size_t needed = text_.size() + more;
  if (!work_.read(more)) {
    return false;
  }
  if (needed > text_.capacity()) {
    // Doubles the capacity while the budget allows it, otherwise takes the needed size.
    const size_t wanted = std::max(needed, text_.capacity() * 2);
    const size_t left = static_cast<size_t>(std::min<uint64_t>(work_.budget().bytes_left(), SIZE_MAX / 4));
    const size_t capacity = wanted > left ? needed : wanted;
    if (!work_.take(capacity)) {  // the old text is kept until it is copied
      return false;
    }
    text_.reserve(capacity);
    work_.budget().give_back(charged_);
    charged_ = capacity;
  }
  return true;
}

bool TextBuilder::repeat(std::string_view part, uint64_t count) {
  if (part.empty() || count == 0 || work_.failed()) {
    return !work_.failed();
  }
  if (count > SIZE_MAX / 4 / part.size()) {
    work_.fail("a text of " + std::to_string(count) + " times " + std::to_string(part.size()) + " bytes is too long");
    return false;
  }
  const size_t more = part.size() * static_cast<size_t>(count);
  if (!grow(more)) {
    return false;
  }
  if (part.size() == 1) {
    text_.append(more, part[0]);
    return true;
  }
  for (uint64_t i = 0; i < count && work_.step(); i++) {
    text_.append(part);
  }
  return !work_.failed();
}

Value TextBuilder::value(bool markup) {
  if (work_.failed() || !work_.take(kStorageBytes)) {
    return {};
  }
  auto storage = std::make_shared<TextStorage>(std::move(text_));
  text_.clear();
  return charged(work_, Value::Type::kString, std::move(storage), std::exchange(charged_, 0) + kStorageBytes)
      .as_markup(markup);
}

bool ListBuilder::add(Value item) {
  if (!work_.step()) {
    return false;
  }
  if (items_.size() == items_.capacity()) {
    const size_t capacity = std::max<size_t>(4, items_.capacity() * 2);
    if (!work_.take(capacity * sizeof(Value))) {
      return false;
    }
    items_.reserve(capacity);
    work_.budget().give_back(charged_);
    charged_ = capacity * sizeof(Value);
  }
  items_.push_back(std::move(item));
  return true;
}

bool ListBuilder::add_all(const List& items) {
  return std::all_of(items.begin(), items.end(), [this](const Value& item) { return add(item); });
}

Value ListBuilder::into(Value::Type type, std::shared_ptr<ListStorage> storage) {
  int depth = 0;
  for (const Value& item : items_) {
    depth = std::max(depth, item.depth());
  }
  if (depth >= kMaxDepth) {
    return work_.fail("lists are nested deeper than " + std::to_string(kMaxDepth));
  }
  if (work_.failed() || !work_.take(kStorageBytes)) {
    return {};
  }
  storage->depth = depth + 1;
  storage->items = std::move(items_);
  items_.clear();
  return charged(work_, type, std::move(storage), std::exchange(charged_, 0) + kStorageBytes);
}

bool DictBuilder::index(size_t entry) {
  DictStorage& dict = *made_;
  const size_t mask = dict.slots.size() - 1;
  for (size_t i = dict.entries[entry].hash & mask; work_.step(); i = (i + 1) & mask) {
    if (dict.slots[i] == 0) {
      dict.slots[i] = static_cast<uint32_t>(entry + 1);
      return true;
    }
  }
  return false;
}

bool DictBuilder::set(Value key, Value value) {
  const uint64_t hashed = hash(work_, key);
  if (work_.failed()) {
    return false;
  }
  DictStorage& dict = *made_;
  if (const Value* const found = find(work_, dict, key)) {
    *const_cast<Value*>(found) = std::move(value);  // safe: the dictionary is still being built
    return true;
  }
  if (dict.entries.size() == dict.entries.capacity()) {
    const size_t capacity = std::max<size_t>(4, dict.entries.capacity() * 2);
    const uint64_t bytes = capacity * (sizeof(Entry) + 4 * sizeof(uint32_t));
    if (capacity > UINT32_MAX / 4 || !work_.take(bytes)) {
      return false;
    }
    dict.entries.reserve(capacity);
    work_.budget().give_back(charged_);
    charged_ = bytes;
  }
  dict.entries.push_back({std::move(key), std::move(value), hashed});
  if (dict.entries.size() <= kFewEntries) {
    return true;
  }
  if (dict.slots.size() < dict.entries.size() * 2) {
    dict.slots.assign(dict.entries.capacity() * 4, 0);
    for (size_t i = 0; i + 1 < dict.entries.size(); i++) {
      index(i);
    }
  }
  return index(dict.entries.size() - 1);
}

bool DictBuilder::set_all(const Value& dict) {
  for (const Entry& entry : dict.as<DictStorage>().entries) {
    if (!set(entry.key, entry.value)) {
      return false;
    }
  }
  return true;
}

Value DictBuilder::value() {
  int depth = 0;
  for (const Entry& entry : made_->entries) {
    depth = std::max({depth, entry.key.depth(), entry.value.depth()});
  }
  if (depth >= kMaxDepth) {
    return work_.fail("dictionaries are nested deeper than " + std::to_string(kMaxDepth));
  }
  if (work_.failed() || !work_.take(kStorageBytes)) {
    return {};
  }
  made_->depth = depth + 1;
  return charged(work_, Value::Type::kDict, std::move(made_), std::exchange(charged_, 0) + kStorageBytes);
}

namespace {

template <typename Same>
const Value* search(Work& work, const DictStorage& dict, uint64_t hashed, Same same) {
  const auto matches = [&](const Entry& entry) { return work.step() && entry.hash == hashed && same(entry.key); };
  if (dict.slots.empty()) {
    const auto found = std::find_if(dict.entries.begin(), dict.entries.end(), matches);
    return found == dict.entries.end() ? nullptr : &found->value;
  }
  const size_t mask = dict.slots.size() - 1;
  for (size_t i = hashed & mask; !work.failed() && dict.slots[i] != 0; i = (i + 1) & mask) {
    const Entry& entry = dict.entries[dict.slots[i] - 1];
    if (matches(entry)) {
      return &entry.value;
    }
  }
  return nullptr;
}

}  // namespace

const Value* find(Work& work, const DictStorage& dict, const Value& key) {
  const uint64_t hashed = hash(work, key);
  return search(work, dict, hashed, [&](const Value& other) { return equal(work, other, key); });
}

const Value* find(Work& work, const DictStorage& dict, std::string_view key) {
  if (!work.read(key.size())) {
    return nullptr;
  }
  return search(work, dict, std::hash<std::string_view>()(key), [&](const Value& other) {
    return other.is_string() && work.read(key.size()) && other.as_text() == key;
  });
}

}  // namespace jinja
}  // namespace llm
}  // namespace extension
}  // namespace executorch
