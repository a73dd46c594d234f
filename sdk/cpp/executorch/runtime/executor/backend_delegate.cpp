// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/executor/backend_delegate.h>

#include <new>

#include <executorch/runtime/executor/program.h>
#include <executorch/runtime/executor/program_check.h>
#include <executorch/schema/program_generated.h>

namespace executorch {
namespace runtime {
namespace internal {

namespace {

Result<CompileSpec*> make_compile_specs(
    const flatbuffers::Vector<flatbuffers::Offset<executorch_flatbuffer::CompileSpec>>* specs,
    MemoryAllocator* allocator) {
  const uint32_t count = size_of(specs);
  if (count == 0) {
    return static_cast<CompileSpec*>(nullptr);
  }
  auto* result = allocator->allocateList<CompileSpec>(count);
  if (result == nullptr) {
    return Error::MemoryAllocationFailed;
  }
  for (uint32_t i = 0; i < count; ++i) {
    const auto* spec = specs->Get(i);
    result[i].key = spec->key()->c_str();
    // The interface has no const; backends must not write into the program.
    result[i].value.buffer = spec->value() == nullptr ? nullptr : const_cast<uint8_t*>(spec->value()->data());
    result[i].value.nbytes = size_of(spec->value());
  }
  return result;
}

}  // namespace

BackendDelegate::~BackendDelegate() {
  if (initialized_) {
    backend_->destroy(handle_);
  }
}

Result<FreeableBuffer> BackendDelegate::read_payload(
    const executorch_flatbuffer::BackendDelegateDataReference& reference, const Program& program) const {
  if (reference.location() == executorch_flatbuffer::DataLocation::INLINE) {
    const void* data = nullptr;
    size_t size = 0;
    ET_CHECK_OK_OR_RETURN_ERROR(program.get_backend_delegate_data(reference.index(), &data, &size));
    return FreeableBuffer(data, size, /*free_fn=*/nullptr);
  }
  return program.load_segment(DataLoader::SegmentInfo(DataLoader::SegmentInfo::Type::Backend, reference.index(), id_));
}

Error BackendDelegate::init(const executorch_flatbuffer::BackendDelegate& delegate, const Program& program,
                            BackendInitContext& context) {
  id_ = delegate.id()->c_str();
  backend_ = get_backend_class(id_);
  ET_CHECK_OR_RETURN_ERROR(backend_ != nullptr, NotFound, "Backend %s is not registered: link its library", id_);
  ET_CHECK_OR_RETURN_ERROR(backend_->is_available(), NotFound,
                           "Backend %s is not available on this device: export without it", id_);
  ET_ASSIGN_OR_RETURN(specs, make_compile_specs(delegate.compile_specs(), context.get_runtime_allocator()));

  auto payload = read_payload(*delegate.processed(), program);
  ET_CHECK_OK_OR_RETURN_ERROR(payload.error());
  // FreeableBuffer can be made by moving, but not assigned.
  payload_.~FreeableBuffer();
  new (&payload_) FreeableBuffer(std::move(*payload));
  auto handle = backend_->init(context, &payload_,
                               ArrayRef<CompileSpec>(specs, static_cast<size_t>(size_of(delegate.compile_specs()))));
  ET_CHECK_OK_OR_RETURN_ERROR(handle.error(), "Backend %s refused its part of method '%s', %zu bytes: %s", id_,
                              context.get_method_name(), payload_.size(), error_name(handle.error()));
  handle_ = *handle;
  initialized_ = true;
  return Error::Ok;
}

}  // namespace internal
}  // namespace runtime
}  // namespace executorch
