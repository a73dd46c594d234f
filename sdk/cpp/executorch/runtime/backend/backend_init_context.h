// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstring>
#include <type_traits>
#include <variant>

#include <executorch/runtime/backend/options.h>
#include <executorch/runtime/core/event_tracer.h>
#include <executorch/runtime/core/memory_allocator.h>
#include <executorch/runtime/core/named_data_map.h>
#include <executorch/runtime/core/result.h>
#include <executorch/runtime/core/same_text.h>
#include <executorch/runtime/core/span.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {

/// What BackendInterface::init() gets from the executor. Owns nothing. Valid during the call; memory of its allocator
/// is valid longer.
class BackendInitContext final {
 public:
  explicit BackendInitContext(MemoryAllocator* runtime_allocator, EventTracer* event_tracer = nullptr,
                              const char* method_name = nullptr, const NamedDataMap* named_data_map = nullptr,
                              Span<const BackendOption> runtime_specs = {})
      : runtime_allocator_(runtime_allocator),
#ifdef ET_EVENT_TRACER_ENABLED
        event_tracer_(event_tracer),
#else
        event_tracer_(nullptr),
#endif
        method_name_(method_name),
        named_data_map_(named_data_map),
        runtime_specs_(runtime_specs) {
    (void)event_tracer;
  }

  /// Memory that lives as long as the method: for the delegate's own structures.
  MemoryAllocator* get_runtime_allocator() { return runtime_allocator_; }

  /// Null when there is none.
  EventTracer* event_tracer() { return event_tracer_; }

  /// Name of the method that is loaded; null when unknown.
  const char* get_method_name() const { return method_name_; }

  /// Weights by name, from the program and from external files; null when there are none.
  const NamedDataMap* get_named_data_map() const { return named_data_map_; }

  /// Options that the caller gave for this backend and this load.
  Span<const BackendOption> runtime_specs() const { return runtime_specs_; }

  /**
   * Reads one of the options; T is bool, int or const char* (valid during init()).
   *
   * @retval Error::NotFound it was not given.
   * @retval Error::InvalidArgument it has another type.
   */
  template <typename T>
  Result<T> get_runtime_spec(const char* key) const {
    static_assert(std::is_same_v<T, bool> || std::is_same_v<T, int> || std::is_same_v<T, const char*>,
                  "an option is a bool, an int or a const char*");
    for (const BackendOption& option : runtime_specs_) {
      if (!internal::same_text(option.key, key)) {
        continue;
      }
      if constexpr (std::is_same_v<T, const char*>) {
        if (const auto* text = std::get_if<std::array<char, kMaxOptionValueLength>>(&option.value)) {
          return Result<T>(text->data());
        }
      } else if (const auto* value = std::get_if<T>(&option.value)) {
        return Result<T>(*value);
      }
      ET_LOG(Error, "the option %s holds another type than the backend requested", key);
      return Error::InvalidArgument;
    }
    return Error::NotFound;
  }

 private:
  MemoryAllocator* runtime_allocator_;
  EventTracer* event_tracer_;
  const char* method_name_;
  const NamedDataMap* named_data_map_;
  Span<const BackendOption> runtime_specs_;
};

}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch

namespace torch {
namespace executor {
using ::executorch::ET_RUNTIME_NAMESPACE::BackendInitContext;
}  // namespace executor
}  // namespace torch
