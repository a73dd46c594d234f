// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string_view>

#include <executorch/runtime/core/named_data_map.h>
#include <executorch/runtime/executor/duplicate_keys.h>

namespace executorch {
namespace runtime {
namespace internal {

/// Merges two maps into one, without the heap, for example the data in a program and in another file. Both maps must
/// outlive it. extension/named_data_map merges more.
class MergedDataMap final : public NamedDataMap {
 public:
  /// Errors: InvalidArgument when a map is null or a key occurs twice; those of get_num_keys() of the maps.
  static Result<MergedDataMap> load(const NamedDataMap* first, const NamedDataMap* second) {
    ET_CHECK_OR_RETURN_ERROR(first != nullptr && second != nullptr, InvalidArgument,
                             "Two maps of named data are needed, one is null");
    ET_ASSIGN_OR_RETURN(num_first, first->get_num_keys());
    ET_ASSIGN_OR_RETURN(num_second, second->get_num_keys());
    const MergedDataMap merged(first, num_first, second, num_second);
    const char* duplicate = nullptr;
    const bool found = find_duplicate_key(
        size_t{num_first} + num_second,
        [&](size_t i) {
          const auto key = merged.get_key(static_cast<uint32_t>(i));
          return key.ok() ? *key : "";
        },
        &duplicate);
    ET_CHECK_OR_RETURN_ERROR(!found, InvalidArgument,
                             "The named data '%s' is in two of the program and its data files; remove it from one",
                             duplicate == nullptr ? "?" : duplicate);
    return MergedDataMap(first, num_first, second, num_second);
  }

  MergedDataMap(MergedDataMap&&) noexcept = default;
  ~MergedDataMap() override = default;

  Result<const TensorLayout> get_tensor_layout(std::string_view key) const override {
    auto layout = first_->get_tensor_layout(key);
    return layout.error() == Error::NotFound ? second_->get_tensor_layout(key) : std::move(layout);
  }

  Result<FreeableBuffer> get_data(std::string_view key) const override {
    auto data = first_->get_data(key);
    return data.error() == Error::NotFound ? second_->get_data(key) : std::move(data);
  }

  Error load_data_into(std::string_view key, void* buffer, size_t size) const override {
    const Error error = first_->load_data_into(key, buffer, size);
    return error == Error::NotFound ? second_->load_data_into(key, buffer, size) : error;
  }

  Result<uint32_t> get_num_keys() const override { return num_first_ + num_second_; }

  /// The keys of the first map come first. Errors: InvalidArgument when `index` is out of range.
  Result<const char*> get_key(uint32_t index) const override {
    return index < num_first_ ? first_->get_key(index) : second_->get_key(index - num_first_);
  }

 private:
  // Made in place, in memory of a method or program, and never deleted: without this, the virtual destructor would
  // require the heap's operator delete.
  static void operator delete(void*) {}

  MergedDataMap(const NamedDataMap* first, uint32_t num_first, const NamedDataMap* second, uint32_t num_second)
      : first_(first), second_(second), num_first_(num_first), num_second_(num_second) {}

  const NamedDataMap* first_;
  const NamedDataMap* second_;
  uint32_t num_first_;
  uint32_t num_second_;
};

}  // namespace internal
}  // namespace runtime
}  // namespace executorch
