// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstring>

#include <executorch/runtime/backend/options.h>
#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/same_text.h>
#include <executorch/runtime/core/span.h>

namespace executorch {
namespace runtime {

/**
 * Options of each backend for the loading of a method. Names are copied; the options are not: they must outlive the
 * load.
 *
 *     BackendOptions<1> options;
 *     options.set_option("workspace_sharing_mode", 2);
 *     LoadBackendOptionsMap map;
 *     map.set_options("DemoBackend", options.view());
 */
class LoadBackendOptionsMap final {
 public:
  /// Largest number of backends.
  static constexpr size_t kMaxBackends = 8;
  /// Bytes of the longest name with its NUL.
  static constexpr size_t kMaxBackendIdLength = 64;

  LoadBackendOptionsMap() = default;

  /**
   * Sets the options of a backend or replaces all of them.
   *
   * @param backend_id Name of the backend, not empty.
   * @retval Error::InvalidArgument the name is null, empty or too long, or kMaxBackends others are set.
   */
  Error set_options(const char* backend_id, Span<BackendOption> options) {
    ET_CHECK_OR_RETURN_ERROR(backend_id != nullptr && backend_id[0] != '\0', InvalidArgument,
                             "expected the name of a backend, found %s",
                             backend_id == nullptr ? "null" : "an empty text");
    const size_t length = std::strlen(backend_id);
    ET_CHECK_OR_RETURN_ERROR(length < kMaxBackendIdLength, InvalidArgument,
                             "the backend's name has %" ET_PRIsize_t " bytes, at most %" ET_PRIsize_t " fit", length,
                             kMaxBackendIdLength - 1);
    size_t index = find(backend_id);
    if (index == size_) {
      ET_CHECK_OR_RETURN_ERROR(size_ < kMaxBackends, InvalidArgument,
                               "the options of %s do not fit: %" ET_PRIsize_t " backends have options already",
                               backend_id, size_);
      std::memcpy(entries_[size_++].backend_id, backend_id, length + 1);
    }
    entries_[index].options = options;
    return Error::Ok;
  }

  /// Same for an object with backend_id() and view(), such as a backend has for its options.
  template <typename Builder>
  Error set_options(Builder& builder) {
    return set_options(builder.backend_id(), builder.view());
  }

  /// The options of a backend; empty when none are set.
  Span<const BackendOption> get_options(const char* backend_id) const {
    const size_t index = find(backend_id);
    return index == size_ ? Span<const BackendOption>() : view_of(index);
  }

  bool has_options(const char* backend_id) const { return find(backend_id) != size_; }

  /// Number of backends with options.
  size_t size() const { return size_; }

  /// A backend and its options, which the map does not own.
  struct EntryView {
    const char* backend_id = nullptr;
    Span<const BackendOption> options;
  };

  /// Entry `index` in the order of the first set_options(); an empty one beyond the end.
  EntryView entry_at(size_t index) const {
    return index < size_ ? EntryView{entries_[index].backend_id, view_of(index)} : EntryView{};
  }

 private:
  struct Entry {
    char backend_id[kMaxBackendIdLength]{};
    Span<BackendOption> options;
  };

  size_t find(const char* backend_id) const {
    size_t index = 0;
    while (index < size_ && (backend_id == nullptr || !internal::same_text(entries_[index].backend_id, backend_id))) {
      ++index;
    }
    return index;
  }
  Span<const BackendOption> view_of(size_t index) const {
    return {entries_[index].options.data(), entries_[index].options.size()};
  }

  Entry entries_[kMaxBackends];
  size_t size_ = 0;
};

}  // namespace runtime
}  // namespace executorch
