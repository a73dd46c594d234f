// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <type_traits>
#include <variant>

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/same_text.h>
#include <executorch/runtime/core/span.h>

namespace executorch {
namespace runtime {

/// Bytes of the longest key and the longest text value, with their NUL.
static constexpr size_t kMaxOptionKeyLength = 64;
static constexpr size_t kMaxOptionValueLength = 256;

/// A bool, an int or a NUL-terminated text.
using OptionValue = std::variant<bool, int, std::array<char, kMaxOptionValueLength>>;

/// One option of a backend. Holds copies of its texts.
struct BackendOption {
  /// NUL-terminated.
  char key[kMaxOptionKeyLength]{};
  OptionValue value;
};

/// At most MaxCapacity options without a heap.
template <size_t MaxCapacity>
class BackendOptions {
 public:
  BackendOptions() : size_(0) {}
  BackendOptions(const BackendOptions& other) : size_(other.size_) {
    std::copy(other.options_, other.options_ + size_, options_);
  }
  BackendOptions& operator=(const BackendOptions& other) {
    if (this != &other) {
      size_ = other.size_;
      std::copy(other.options_, other.options_ + size_, options_);
    }
    return *this;
  }

  /// The options that are set; valid as long as this object.
  Span<BackendOption> view() { return Span<BackendOption>(options_, size_); }

  /**
   * Sets an option or replaces its value. Longer texts than kMaxOptionValueLength - 1 bytes are cut.
   *
   * @retval Error::InvalidArgument there are MaxCapacity others already, or the text is null.
   */
  template <size_t N>
  Error set_option(const char (&key)[N], bool value) noexcept {
    static_assert(N <= kMaxOptionKeyLength, "the key is too long");
    return set_option_impl(key, value);
  }
  template <size_t N>
  Error set_option(const char (&key)[N], int value) noexcept {
    static_assert(N <= kMaxOptionKeyLength, "the key is too long");
    return set_option_impl(key, value);
  }
  template <size_t N>
  Error set_option(const char (&key)[N], const char* value) noexcept {
    static_assert(N <= kMaxOptionKeyLength, "the key is too long");
    ET_CHECK_OR_RETURN_ERROR(value != nullptr, InvalidArgument, "the option %s needs a text, found a null pointer",
                             key);
    std::array<char, kMaxOptionValueLength> text{};
    std::strncpy(text.data(), value, kMaxOptionValueLength - 1);
    return set_option_impl(key, text);
  }

  /**
   * Reads an option; T is bool, int or const char* (valid as long as this object).
   *
   * @retval Error::NotFound it is not set.
   * @retval Error::InvalidArgument it has another type.
   */
  template <typename T, size_t KeyLen>
  Error get_option(const char (&key)[KeyLen], T& out) const {
    static_assert(KeyLen <= kMaxOptionKeyLength, "the key is too long");
    for (size_t i = 0; i < size_; ++i) {
      if (!internal::same_text(options_[i].key, key)) {
        continue;
      }
      if constexpr (std::is_same_v<T, const char*>) {
        if (const auto* text = std::get_if<std::array<char, kMaxOptionValueLength>>(&options_[i].value)) {
          out = text->data();
          return Error::Ok;
        }
      } else if (const auto* value = std::get_if<T>(&options_[i].value)) {
        out = *value;
        return Error::Ok;
      }
      ET_LOG(Error, "the option %s holds another type than the requested one", key);
      return Error::InvalidArgument;
    }
    return Error::NotFound;
  }

 private:
  template <typename T>
  Error set_option_impl(const char* key, T value) {
    for (size_t i = 0; i < size_; ++i) {
      if (internal::same_text(options_[i].key, key)) {
        options_[i].value = value;
        return Error::Ok;
      }
    }
    ET_CHECK_OR_RETURN_ERROR(size_ < MaxCapacity, InvalidArgument,
                             "the option %s does not fit: BackendOptions<%" ET_PRIsize_t "> is full", key, MaxCapacity);
    std::strncpy(options_[size_].key, key, kMaxOptionKeyLength - 1);
    options_[size_].key[kMaxOptionKeyLength - 1] = '\0';
    options_[size_].value = value;
    ++size_;
    return Error::Ok;
  }

  BackendOption options_[MaxCapacity]{};
  size_t size_;
};

}  // namespace runtime
}  // namespace executorch
