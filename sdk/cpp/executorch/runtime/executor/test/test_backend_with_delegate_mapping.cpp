// SPDX-License-Identifier: BSD-3-Clause
// BackendWithDelegateMappingDemo: an example of a backend whose instructions tools can trace back to the model. Its
// payload is `3#conv_relu_op,0,sin_decomp_from_tan,1,last,2,`: names and the identifiers of the debug handle map.
#include <cstring>
#include <string_view>

#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/core/event_tracer_hooks_delegate.h>
#include <executorch/runtime/executor/test/demo_backends/demo_backends.h>
#include <executorch/runtime/platform/platform.h>

namespace executorch {
namespace runtime {
namespace testing {

namespace {

constexpr size_t kMaxName = 64;

/// One instruction. Copied out of the payload, which is freed after init().
struct Instruction {
  char name[kMaxName];
  /// kUnsetDelegateDebugIntId when the identifier is the name.
  DelegateDebugIntId identifier;
};

struct Handle {
  Instruction* instructions;
  size_t count;
};

/// The text up to `end`, which is skipped; empty if `end` is missing.
std::string_view take(std::string_view& text, char end) {
  const size_t at = text.find(end);
  if (at == std::string_view::npos) {
    return {};
  }
  const std::string_view word = text.substr(0, at);
  text.remove_prefix(at + 1);
  return word;
}

bool read_number(std::string_view word, uint32_t* number) {
  uint64_t value = 0;
  for (const char digit : word) {
    value = value * 10 + static_cast<uint64_t>(digit - '0');
    if (digit < '0' || digit > '9' || value > INT32_MAX) {
      return false;
    }
  }
  *number = static_cast<uint32_t>(value);
  return !word.empty();
}

bool read_instruction(std::string_view& text, Instruction* instruction) {
  const std::string_view name = take(text, ',');
  const std::string_view identifier = take(text, ',');
  if (name.empty() || identifier.empty() || name.size() >= kMaxName || identifier.size() >= kMaxName) {
    return false;
  }
  uint32_t number = 0;
  const bool is_number = read_number(identifier, &number);
  const std::string_view shown = is_number ? name : identifier;
  std::memcpy(instruction->name, shown.data(), shown.size());
  instruction->name[shown.size()] = '\0';
  instruction->identifier = is_number ? static_cast<DelegateDebugIntId>(number) : kUnsetDelegateDebugIntId;
  return true;
}

class BackendWithDelegateMapping final : public BackendInterface {
 public:
  bool is_available() const override { return true; }

  Result<DelegateHandle*> init(BackendInitContext& context, FreeableBuffer* processed,
                               ArrayRef<CompileSpec>) const override {
    std::string_view text(static_cast<const char*>(processed->data()), processed->size());
    uint32_t count = 0;
    // An instruction takes at least four characters.
    const bool counted = read_number(take(text, '#'), &count) && count <= text.size() / 4;
    auto* handle = context.get_runtime_allocator()->allocateInstance<Handle>();
    auto* instructions = counted ? context.get_runtime_allocator()->allocateList<Instruction>(count) : nullptr;
    ET_CHECK_OR_RETURN_ERROR(!counted || (handle != nullptr && (instructions != nullptr || count == 0)),
                             MemoryAllocationFailed, "no memory for a delegate");
    bool ok = counted;
    for (uint32_t i = 0; ok && i < count; ++i) {
      ok = read_instruction(text, &instructions[i]);
    }
    ET_CHECK_OR_RETURN_ERROR(ok && text.empty(), DelegateInvalidCompatibility,
                             "The payload of %zu bytes is not a list of instructions of BackendWithDelegateMappingDemo",
                             processed->size());
    handle->instructions = instructions;
    handle->count = count;
    processed->Free();
    return handle;
  }

  Error execute(BackendExecutionContext& context, DelegateHandle* delegate, Span<EValue*>) const override {
    const auto& handle = *static_cast<Handle*>(delegate);
    EventTracer* tracer = context.event_tracer();
    for (size_t i = 0; i < handle.count; ++i) {
      const Instruction& instruction = handle.instructions[i];
      const bool by_number = instruction.identifier != kUnsetDelegateDebugIntId;
      const auto start = pal_current_ticks();
      // A device that measures itself logs its times afterwards; the metadata is for its own parser.
      event_tracer_log_profiling_delegate(tracer, by_number ? nullptr : instruction.name,
                                          static_cast<DebugHandle>(instruction.identifier), start, pal_current_ticks(),
                                          instruction.name, std::strlen(instruction.name) + 1);
    }
    return Error::Ok;
  }
};

}  // namespace

BackendInterface& backend_with_delegate_mapping_demo() {
  static BackendWithDelegateMapping backend;
  return backend;
}

}  // namespace testing
}  // namespace runtime
}  // namespace executorch
