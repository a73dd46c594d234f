// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdlib>
#include <utility>
#include <vector>

#include <executorch/runtime/core/result.h>
#include <executorch/runtime/core/span.h>
#include <executorch/runtime/executor/method.h>
#include <executorch/runtime/executor/method_meta.h>

namespace executorch {
namespace extension {

using ET_RUNTIME_NAMESPACE::Method;
using ET_RUNTIME_NAMESPACE::TensorInfo;

/// Owns buffers from malloc and the malloc'ed array of pointers to them; the destructor frees all.
class BufferCleanup final {
 public:
  explicit BufferCleanup(runtime::Span<void*> buffers) : buffers_(buffers) {}

  BufferCleanup(BufferCleanup&& rhs) noexcept : buffers_(std::exchange(rhs.buffers_, runtime::Span<void*>())) {}

  ~BufferCleanup() {
    for (void* buffer : buffers_) {
      std::free(buffer);
    }
    std::free(buffers_.data());
  }

 private:
  BufferCleanup(const BufferCleanup&) = delete;
  BufferCleanup& operator=(const BufferCleanup&) = delete;
  BufferCleanup& operator=(BufferCleanup&&) = delete;

  runtime::Span<void*> buffers_;
};

/// Limits for the inputs of untrusted programs, and the sizes of dynamic inputs.
struct PrepareInputTensorsOptions {
  /// Most bytes to allocate for all inputs together.
  size_t max_total_allocation_size = 1024 * 1024 * 1024;
  /// Most inputs a method may have.
  size_t max_inputs = 1024;
  /// The sizes of each tensor input, in order. Inputs with an empty entry, and inputs without an entry at the end, have
  /// the largest sizes.
  std::vector<std::vector<executorch::aten::SizesType>> input_sizes;
};

/// Sets every input of `method`. Tensors are filled with ones, or with the bytes of `input_buffers` if it is not empty:
/// a (pointer, size) for each tensor input in order, whose size is the tensor's. Other inputs are set to the values
/// that they have, which are those of the program until the caller sets others. Only an input that may be any number,
/// and has none in the program, is left to the caller: set it with Method::set_input, before or after. The result owns
/// the memory and must outlive the runs of `method`. Errors: InvalidProgram if a limit is exceeded, InvalidArgument if
/// the buffers do not fit, the method does not take the sizes, or an input is a list; MemoryAllocationFailed.
runtime::Result<BufferCleanup> prepare_input_tensors(Method& method, PrepareInputTensorsOptions options = {},
                                                     const std::vector<std::pair<char*, size_t>>& input_buffers = {});

}  // namespace extension
}  // namespace executorch

namespace torch {
namespace executor {
namespace util {
using ::executorch::extension::BufferCleanup;
using ::executorch::extension::prepare_input_tensors;
}  // namespace util
}  // namespace executor
}  // namespace torch
