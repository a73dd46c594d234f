// SPDX-License-Identifier: BSD-3-Clause
//
// The part of Module that allocates planned memory: each method's own, and the memory that methods share.
#include <algorithm>
#include <utility>

#include <executorch/extension/memory_allocator/report_bad_alloc.h>
#include <executorch/extension/module/data_files.h>
#include <executorch/extension/module/loaded_method.h>
#include <executorch/extension/module/module.h>
#include <executorch/runtime/platform/log.h>

namespace executorch {
namespace extension {
namespace ET_MODULE_NAMESPACE {

using internal::PlannedBuffers;
using internal::PlannedNeed;
using runtime::Error;
using runtime::HierarchicalAllocator;
using runtime::Result;
using runtime::Span;

namespace {

using Needs = std::vector<PlannedNeed>;

/// The needs of all methods of a program together, and the buffer with the state that they share.
struct CommonNeeds {
  Needs needs;
  std::optional<size_t> state;
};

Result<CommonNeeds> common_needs_of(const Program& program) {
  CommonNeeds common;
  Needs& largest = common.needs;
  for (size_t i = 0; i < program.num_methods(); ++i) {
    const Result<const char*> name = program.get_method_name(i);
    if (!name.ok()) {
      return name.error();
    }
    const Result<MethodMeta> meta = program.method_meta(name.get());
    if (!meta.ok()) {
      return meta.error();
    }
    auto needs = PlannedBuffers::needs_of(meta.get());
    if (!needs.ok()) {
      return needs.error();
    }
    largest.resize(std::max(largest.size(), needs->size()), {0, runtime::etensor::DeviceType::CPU});
    for (size_t k = 0; k < needs->size(); ++k) {
      // Buffer k may be on different devices in different methods.
      ET_CHECK_OR_RETURN_ERROR((*needs)[k].device.is_cpu(), NotSupported,
                               "planned buffer %zu of method '%s' is in memory of device type %d: methods share "
                               "buffers in CPU memory only, load without share_memory_arenas",
                               k, name.get(), static_cast<int>((*needs)[k].device.type()));
      largest[k].size = std::max(largest[k].size, (*needs)[k].size);
    }
    if (meta->shared_planned_buffer().has_value()) {
      common.state = meta->shared_planned_buffer();
    }
  }
  return common;
}

}  // namespace

Error Module::share_state_with(Module& other) {
  ET_CHECK_OR_RETURN_ERROR(program_ != nullptr && program_ == other.program_, InvalidArgument,
                           "modules share state only if they share the program: construct one with program() of the "
                           "other");
  ET_CHECK_OR_RETURN_ERROR(methods_.empty(), InvalidState,
                           "state must be shared before a method is loaded, %zu are loaded", methods_.size());
  return internal::report_bad_alloc([&]() -> Error {
    if (other.shared_state_ == nullptr) {
      other.shared_state_ = std::make_shared<internal::SharedState>();
    }
    shared_state_ = other.shared_state_;
    return Error::Ok;
  });
}

/// Allocates the buffers of `needs`. `state`, if set, is the number of the buffer with the state that methods share.
Error Module::allocate_planned(const std::vector<PlannedNeed>& needs, std::optional<size_t> state,
                               PlannedBuffers& buffers) {
  if (!state.has_value() || *state >= needs.size()) {
    return buffers.allocate(needs);
  }
  if (shared_state_ == nullptr) {
    shared_state_ = std::make_shared<internal::SharedState>();
  }
  internal::SharedState& shared = *shared_state_;
  if (!shared.is_loaded) {
    shared.memory = internal::ZeroedBuffer(needs[*state].size);
  }
  ET_CHECK_OR_RETURN_ERROR(shared.memory.data() != nullptr || shared.memory.size() == 0, MemoryAllocationFailed,
                           "%zu bytes for the state that methods share could not be allocated", shared.memory.size());
  ET_CHECK_OK_OR_RETURN_ERROR(
      buffers.allocate(needs, *state, Span<uint8_t>(shared.memory.data(), shared.memory.size())));
  if (shared.is_loaded) {
    buffers.allocator()->set_kept(static_cast<uint32_t>(*state));
    return Error::Ok;
  }
  ET_CHECK_OK_OR_RETURN_ERROR(program_->load_shared_state(buffers.allocator(), data_files_->map()));
  shared.is_loaded = true;
  return Error::Ok;
}

Result<HierarchicalAllocator*> Module::planned_memory_for(const std::string& method_name, LoadedMethod& loaded) {
  if (!share_memory_arenas_) {
    const Result<MethodMeta> meta = program_->method_meta(method_name.c_str());
    if (!meta.ok()) {
      return meta.error();
    }
    const auto needs = PlannedBuffers::needs_of(meta.get());
    if (!needs.ok()) {
      return needs.error();
    }
    ET_CHECK_OK_OR_RETURN_ERROR(allocate_planned(needs.get(), meta->shared_planned_buffer(), loaded.own_buffers));
    return loaded.own_buffers.allocator();
  }
  if (!shared_buffers_) {
    const auto common = common_needs_of(*program_);
    if (!common.ok()) {
      return common.error();
    }
    auto buffers = std::make_unique<PlannedBuffers>();
    ET_CHECK_OK_OR_RETURN_ERROR(allocate_planned(common->needs, common->state, *buffers));
    shared_buffers_ = std::move(buffers);
  }
  return shared_buffers_->allocator();
}

}  // namespace ET_MODULE_NAMESPACE
}  // namespace extension
}  // namespace executorch
