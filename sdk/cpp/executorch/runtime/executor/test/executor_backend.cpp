// SPDX-License-Identifier: BSD-3-Clause
// ExecutorBackend: an example of a backend with its own compiler, which here is this SDK's compiler. The payload is a
// program.
#include <cstdint>
#include <cstring>
#include <new>
#include <optional>

#include <executorch/extension/data_loader/buffer_data_loader.h>
#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/core/exec_aten/util/tensor_util.h>
#include <executorch/runtime/executor/method.h>
#include <executorch/runtime/executor/program.h>
#include <executorch/runtime/executor/test/demo_backends/demo_backends.h>

namespace executorch {
namespace runtime {
namespace testing {

namespace {

/// The inner program with everything that must outlive its method.
///
/// The method is the last member, so that it is destroyed first.
struct Handle {
  std::optional<extension::BufferDataLoader> loader;
  std::optional<Program> program;
  std::optional<HierarchicalAllocator> planned;
  std::optional<MemoryManager> memory;
  std::optional<Method> method;
};

/// The method's planned memory, zeroed, from the allocator of the outer method.
Error plan(const MethodMeta& meta, MemoryAllocator* allocator, Handle* handle) {
  const size_t count = meta.num_memory_planned_buffers();
  auto* spans = allocator->allocateList<Span<uint8_t>>(count);
  ET_CHECK_OR_RETURN_ERROR(spans != nullptr || count == 0, MemoryAllocationFailed, "no memory for a delegate");
  for (size_t i = 0; i < count; ++i) {
    ET_ASSIGN_OR_RETURN(size, meta.memory_planned_buffer_size(i));
    auto* buffer = static_cast<uint8_t*>(allocator->allocate(static_cast<size_t>(size)));
    ET_CHECK_OR_RETURN_ERROR(buffer != nullptr || size == 0, MemoryAllocationFailed,
                             "no memory for a planned buffer of a delegate");
    if (size > 0) {
      std::memset(buffer, 0, static_cast<size_t>(size));
    }
    new (&spans[i]) Span<uint8_t>(buffer, static_cast<size_t>(size));
  }
  handle->planned.emplace(Span<Span<uint8_t>>(spans, count));
  return Error::Ok;
}

Error load(BackendInitContext& context, const void* data, size_t size, Handle* handle) {
  MemoryAllocator* allocator = context.get_runtime_allocator();
  handle->loader.emplace(data, size);
  auto program = Program::load(&*handle->loader);
  ET_CHECK_OK_OR_RETURN_ERROR(program.error());
  handle->program.emplace(std::move(*program));
  const auto meta = handle->program->method_meta("forward");
  ET_CHECK_OK_OR_RETURN_ERROR(meta.error());
  ET_CHECK_OK_OR_RETURN_ERROR(plan(*meta, allocator, handle));
  handle->memory.emplace(allocator, &*handle->planned);
  auto method =
      handle->program->load_method("forward", &*handle->memory, context.event_tracer(), context.get_named_data_map());
  ET_CHECK_OK_OR_RETURN_ERROR(method.error());
  handle->method.emplace(std::move(*method));
  return Error::Ok;
}

Error copy_result(const EValue& from, EValue& to) {
  if (!from.isTensor()) {
    to = from;
    return Error::Ok;
  }
  ET_CHECK_OR_RETURN_ERROR(to.isTensor() && to.toTensor().scalar_type() == from.toTensor().scalar_type(),
                           InvalidProgram, "ExecutorBackend: an output of the inner program has another type");
  const aten::Tensor& source = from.toTensor();
  const aten::Tensor& target = to.toTensor();
  ET_CHECK_OK_OR_RETURN_ERROR(resize_tensor(target, source.sizes()));
  ET_CHECK_OR_RETURN_ERROR(tensors_have_same_dim_order(source, target), InvalidProgram,
                           "ExecutorBackend: an output of the inner program has another dim order");
  if (source.nbytes() > 0) {
    std::memcpy(target.mutable_data_ptr(), source.const_data_ptr(), source.nbytes());
  }
  return Error::Ok;
}

class ExecutorBackend final : public BackendInterface {
 public:
  bool is_available() const override { return true; }

  Result<DelegateHandle*> init(BackendInitContext& context, FreeableBuffer* processed,
                               ArrayRef<CompileSpec>) const override {
    MemoryAllocator* allocator = context.get_runtime_allocator();
    const void* data = processed->data();
    if (reinterpret_cast<uintptr_t>(data) % alignof(std::max_align_t) != 0) {
      // A program inside another one may not have the alignment that programs need.
      void* copy = allocator->allocate(processed->size(), alignof(std::max_align_t));
      ET_CHECK_OR_RETURN_ERROR(copy != nullptr, MemoryAllocationFailed, "no memory for a delegate");
      data = std::memcpy(copy, data, processed->size());
    }
    void* place = allocator->allocateInstance<Handle>();
    ET_CHECK_OR_RETURN_ERROR(place != nullptr, MemoryAllocationFailed, "no memory for a delegate");
    auto* handle = new (place) Handle;
    const Error error = load(context, data, processed->size(), handle);
    if (error != Error::Ok) {
      destroy(handle);
      return error;
    }
    return handle;
  }

  Error execute(BackendExecutionContext&, DelegateHandle* delegate, Span<EValue*> args) const override {
    Method& method = *static_cast<Handle*>(delegate)->method;
    const size_t inputs = method.inputs_size();
    ET_CHECK_OR_RETURN_ERROR(args.size() == inputs + method.outputs_size(), InvalidProgram,
                             "ExecutorBackend: the inner program takes %zu inputs and gives %zu outputs, the delegate "
                             "is called with %zu arguments",
                             inputs, method.outputs_size(), args.size());
    for (size_t i = 0; i < inputs; ++i) {
      ET_CHECK_OK_OR_RETURN_ERROR(method.set_input(*args[i], i));
    }
    ET_CHECK_OK_OR_RETURN_ERROR(method.execute());
    for (size_t i = inputs; i < args.size(); ++i) {
      ET_CHECK_OK_OR_RETURN_ERROR(copy_result(method.get_output(i - inputs), *args[i]));
    }
    return Error::Ok;
  }

  void destroy(DelegateHandle* handle) const override { static_cast<Handle*>(handle)->~Handle(); }
};

}  // namespace

BackendInterface& executor_backend() {
  static ExecutorBackend backend;
  return backend;
}

}  // namespace testing
}  // namespace runtime
}  // namespace executorch
