// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/runner_util/inputs.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <executorch/extension/tensor/tensor_ptr.h>
#include <executorch/extension/tensor/tensor_ptr_maker.h>
#include <executorch/runtime/core/error.h>
#include <executorch/runtime/platform/log.h>

namespace executorch {
namespace extension {

using runtime::Error;
using runtime::Result;
using runtime::Span;
using runtime::Tag;

namespace {

using Sizes = std::vector<aten::SizesType>;

std::string text_of(const Sizes& sizes) {
  std::string text = "[";
  for (const auto size : sizes) {
    text += (text.size() > 1 ? ", " : "") + std::to_string(size);
  }
  return text + "]";
}

/// The largest sizes of an input, or those that were passed for it.
Result<Sizes> sizes_of(const TensorInfo& info, size_t index, const Sizes& passed) {
  Sizes sizes(info.sizes().begin(), info.sizes().end());
  if (passed.empty()) {
    return sizes;
  }
  bool fits = passed.size() == sizes.size();
  for (size_t d = 0; fits && d < sizes.size(); ++d) {
    fits = passed[d] >= 0 && passed[d] <= sizes[d];
  }
  ET_CHECK_OR_RETURN_ERROR(fits, InvalidArgument, "input %zu: expected sizes of at most %s, found %s", index,
                           text_of(sizes).c_str(), text_of(passed).c_str());
  return passed;
}

size_t bytes_of(const TensorInfo& info, const Sizes& sizes) {
  size_t bytes = runtime::elementSize(info.scalar_type());
  for (const auto size : sizes) {
    bytes *= static_cast<size_t>(size);
  }
  return bytes;
}

Error set_input_over(Method& method, const TensorInfo& info, Sizes sizes, size_t index, void* data) {
  std::vector<aten::DimOrderType> dim_order(info.dim_order().begin(), info.dim_order().end());
  const TensorPtr tensor = for_blob(data, std::move(sizes), info.scalar_type()).dim_order(std::move(dim_order));
  return method.set_input(*tensor, index);
}

/// Sets an input to the value that it has. A method does not run until each of its inputs was set.
Error keep_value(Method& method, size_t index) {
  const runtime::EValue value = method.get_input(index);
  const Error error = method.set_input(value, index);
  if (error != Error::InvalidArgument || !value.isNone()) {
    return error;  // the runtime has logged the reason
  }
  ET_LOG(Info, "input %zu may be any number, and has none in the program: set it before the method runs", index);
  return Error::Ok;
}

}  // namespace

Result<BufferCleanup> prepare_input_tensors(Method& method, PrepareInputTensorsOptions options,
                                            const std::vector<std::pair<char*, size_t>>& input_buffers) {
  const auto meta = method.method_meta();
  const size_t input_count = meta.num_inputs();
  ET_CHECK_OR_RETURN_ERROR(input_count <= options.max_inputs, InvalidProgram,
                           "the method has %zu inputs, the limit is %zu", input_count, options.max_inputs);
  auto** buffers = static_cast<void**>(std::calloc(input_count + 1, sizeof(void*)));
  ET_CHECK_OR_RETURN_ERROR(buffers != nullptr, MemoryAllocationFailed, "out of memory");
  BufferCleanup cleanup(Span<void*>(buffers, input_count));

  size_t total_size = 0;
  size_t tensor_count = 0;
  for (size_t i = 0; i < input_count; ++i) {
    const Result<Tag> tag = meta.input_tag(i);
    if (!tag.ok()) {
      return tag.error();
    }
    if (tag.get() != Tag::Tensor) {
      const Error error = keep_value(method, i);
      if (error != Error::Ok) {
        return error;
      }
      continue;
    }
    const Result<TensorInfo> info = meta.input_tensor_meta(i);
    if (!info.ok()) {
      return info.error();
    }
    const bool is_passed = tensor_count < options.input_sizes.size();
    const auto sizes = sizes_of(info.get(), i, is_passed ? options.input_sizes[tensor_count] : Sizes());
    if (!sizes.ok()) {
      return sizes.error();
    }
    const size_t nbytes = bytes_of(info.get(), *sizes);
    ET_CHECK_OR_RETURN_ERROR(nbytes <= options.max_total_allocation_size - total_size, InvalidProgram,
                             "input %zu needs %zu bytes, which makes more than %zu for all inputs", i, nbytes,
                             options.max_total_allocation_size);
    total_size += nbytes;
    buffers[i] = std::malloc(nbytes > 0 ? nbytes : 1);
    ET_CHECK_OR_RETURN_ERROR(buffers[i] != nullptr, MemoryAllocationFailed, "input %zu: %zu bytes were not allocated",
                             i, nbytes);
    if (input_buffers.empty()) {
      const TensorPtr all_ones = ones(*sizes, info->scalar_type());
      ET_CHECK_OR_RETURN_ERROR(all_ones != nullptr, NotSupported,
                               "input %zu: there are no ones of dtype %s: pass a buffer for each tensor input", i,
                               runtime::toString(info->scalar_type()));
      std::memcpy(buffers[i], all_ones->const_data_ptr(), nbytes);
    } else {
      ET_CHECK_OR_RETURN_ERROR(tensor_count < input_buffers.size(), InvalidArgument,
                               "expected a buffer for each tensor input, found %zu", input_buffers.size());
      const auto& [data, size] = input_buffers[tensor_count];
      ET_CHECK_OR_RETURN_ERROR(size == nbytes, InvalidArgument,
                               "input %zu: expected %zu bytes for the sizes %s, found %zu", i, nbytes,
                               text_of(*sizes).c_str(), size);
      ET_CHECK_OR_RETURN_ERROR(data != nullptr || nbytes == 0, InvalidArgument,
                               "input %zu: expected %zu bytes, found a null pointer", i, nbytes);
      if (nbytes > 0) {
        std::memcpy(buffers[i], data, nbytes);
      }
    }
    ++tensor_count;
    const Error error = set_input_over(method, info.get(), *sizes, i, buffers[i]);
    if (error != Error::Ok) {
      return error;
    }
  }
  ET_CHECK_OR_RETURN_ERROR(input_buffers.empty() || tensor_count == input_buffers.size(), InvalidArgument,
                           "the method has %zu tensor inputs, found %zu buffers", tensor_count, input_buffers.size());
  return cleanup;
}

}  // namespace extension
}  // namespace executorch
