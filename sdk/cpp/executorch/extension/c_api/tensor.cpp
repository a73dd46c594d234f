// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/c_api/tensor.h>

#include <cinttypes>
#include <cstring>
#include <numeric>

#include <executorch/extension/c_api/call.h>
#include <executorch/runtime/core/exec_aten/util/dim_order_util.h>
#include <executorch/runtime/core/exec_aten/util/scalar_type_util.h>
#include <executorch/runtime/core/exec_aten/util/tensor_dimension_limit.h>
#include <executorch/runtime/core/exec_aten/util/tensor_util.h>

using executorch::aten::ScalarType;
using executorch::aten::TensorShapeDynamism;
using executorch::extension::c_api::call;
using executorch::extension::c_api::call_for;
using executorch::extension::c_api::TensorStorage;
using executorch::runtime::Error;

namespace executorch {
namespace extension {
namespace c_api {

namespace {

bool is_dtype(et_dtype dtype) {
  return dtype >= 0 && dtype < static_cast<et_dtype>(ScalarType::Undefined) &&
         runtime::isValid(static_cast<ScalarType>(dtype));
}

/// The metadata of a tensor: all but its elements.
Error describe(et_dtype dtype, const int32_t* sizes, size_t rank, const uint8_t* dim_order, TensorStorage& storage,
               size_t* nbytes) {
  ET_CHECK_OR_RETURN_ERROR(is_dtype(dtype), InvalidArgument, "expected the number of a dtype, found %d",
                           static_cast<int>(dtype));
  ET_CHECK_OR_RETURN_ERROR(rank <= runtime::kTensorDimensionLimit, InvalidArgument,
                           "expected a rank of at most %zu, found %zu", runtime::kTensorDimensionLimit, rank);
  ET_CHECK_OR_RETURN_ERROR(sizes != nullptr || rank == 0, InvalidArgument, "expected %zu sizes in `sizes`, found NULL",
                           rank);
  size_t bytes = runtime::elementSize(static_cast<ScalarType>(dtype));
  for (size_t i = 0; i < rank; ++i) {
    ET_CHECK_OR_RETURN_ERROR(sizes[i] >= 0, InvalidArgument,
                             "expected sizes of 0 or more, found %" PRId32 " at index %zu", sizes[i], i);
    ET_CHECK_OR_RETURN_ERROR(!__builtin_mul_overflow(bytes, static_cast<size_t>(sizes[i]), &bytes) &&
                                 bytes <= static_cast<size_t>(PTRDIFF_MAX),
                             InvalidArgument, "a tensor of these sizes has more bytes than memory has addresses");
  }
  storage.sizes.assign(sizes, sizes + rank);
  storage.dim_order.resize(rank);
  if (dim_order != nullptr) {
    storage.dim_order.assign(dim_order, dim_order + rank);
  } else {
    std::iota(storage.dim_order.begin(), storage.dim_order.end(), uint8_t{0});
  }
  storage.strides.resize(rank);
  *nbytes = bytes;
  return runtime::dim_order_to_stride(storage.sizes.data(), storage.dim_order.data(), rank, storage.strides.data());
}

et_tensor* finish(et_dtype dtype, std::shared_ptr<TensorStorage> storage, void* data) {
  storage->impl = std::make_unique<aten::TensorImpl>(
      static_cast<ScalarType>(dtype), static_cast<ssize_t>(storage->sizes.size()), storage->sizes.data(), data,
      storage->dim_order.data(), storage->strides.data(), TensorShapeDynamism::DYNAMIC_BOUND);
  const aten::Tensor tensor(storage->impl.get());
  return new et_tensor{std::move(storage), tensor, nullptr};
}

Error create(et_dtype dtype, const int32_t* sizes, size_t rank, const uint8_t* dim_order, et_tensor** out) {
  auto storage = std::make_shared<TensorStorage>();
  size_t nbytes = 0;
  ET_CHECK_OK_OR_RETURN_ERROR(describe(dtype, sizes, rank, dim_order, *storage, &nbytes));
  storage->own_data = internal::ZeroedBuffer(nbytes);
  ET_CHECK_OR_RETURN_ERROR(storage->own_data.data() != nullptr || nbytes == 0, MemoryAllocationFailed,
                           "%zu bytes for a tensor could not be allocated", nbytes);
  void* const data = storage->own_data.data();
  *out = finish(dtype, std::move(storage), data);
  return Error::Ok;
}

}  // namespace
}  // namespace c_api
}  // namespace extension
}  // namespace executorch

using namespace executorch::extension::c_api;

size_t et_dtype_size(et_dtype dtype) {
  return is_dtype(dtype) ? executorch::runtime::elementSize(static_cast<ScalarType>(dtype)) : 0;
}

const char* et_dtype_name(et_dtype dtype) {
  return is_dtype(dtype) ? executorch::runtime::toString(static_cast<ScalarType>(dtype)) : "Unknown";
}

et_status et_tensor_create(et_dtype dtype, const int32_t* sizes, size_t rank, et_tensor** out, et_error** error) {
  return call_for(out, error, [&] { return create(dtype, sizes, rank, nullptr, out); });
}

et_status et_tensor_wrap(et_dtype dtype, const int32_t* sizes, size_t rank, const uint8_t* dim_order, void* data,
                         size_t nbytes, et_release release, void* context, et_tensor** out, et_error** error) {
  Release borrowed(data, release, context);
  return call_for(out, error, [&]() -> Error {
    auto storage = std::make_shared<TensorStorage>();
    size_t needed = 0;
    ET_CHECK_OK_OR_RETURN_ERROR(describe(dtype, sizes, rank, dim_order, *storage, &needed));
    ET_CHECK_OR_RETURN_ERROR(nbytes >= needed, InvalidArgument, "a tensor of these sizes has %zu bytes, found %zu",
                             needed, nbytes);
    ET_CHECK_OR_RETURN_ERROR(data != nullptr || needed == 0, InvalidArgument,
                             "expected %zu bytes in `data`, found NULL", needed);
    const size_t alignment = et_dtype_size(dtype);
    ET_CHECK_OR_RETURN_ERROR(
        reinterpret_cast<uintptr_t>(data) % alignment == 0, InvalidArgument,
        "expected data at a multiple of %zu bytes, found %p: copy it into et_tensor_create's memory", alignment, data);
    storage->borrowed_data = std::move(borrowed);
    *out = finish(dtype, std::move(storage), data);
    return Error::Ok;
  });
}

et_status et_tensor_clone(const et_tensor* tensor, et_tensor** out, et_error** error) {
  return call_for(out, error, [&]() -> Error {
    ET_CHECK_NOT_NULL(tensor);
    const auto& from = tensor->tensor;
    ET_CHECK_OR_RETURN_ERROR(from.const_data_ptr() != nullptr || from.nbytes() == 0, InvalidState,
                             "the tensor has no data to copy");
    ET_CHECK_OK_OR_RETURN_ERROR(create(static_cast<et_dtype>(from.scalar_type()), from.sizes().data(),
                                       from.sizes().size(), from.dim_order().data(), out));
    if (from.nbytes() > 0) {
      std::memcpy((*out)->tensor.mutable_data_ptr(), from.const_data_ptr(), from.nbytes());
    }
    return Error::Ok;
  });
}

et_status et_tensor_resize(et_tensor* tensor, const int32_t* sizes, size_t rank, et_error** error) {
  return call(error, [&]() -> Error {
    ET_CHECK_NOT_NULL(tensor);
    ET_CHECK_OR_RETURN_ERROR(tensor->storage != nullptr, InvalidState,
                             "the tensor belongs to a result and cannot be resized: clone it");
    ET_CHECK_OR_RETURN_ERROR(sizes != nullptr || rank == 0, InvalidArgument,
                             "expected %zu sizes in `sizes`, found NULL", rank);
    return executorch::runtime::resize_tensor(tensor->tensor, executorch::aten::ArrayRef<int32_t>(sizes, rank));
  });
}

et_dtype et_tensor_dtype(const et_tensor* tensor) {
  return tensor != nullptr ? static_cast<et_dtype>(tensor->tensor.scalar_type()) : 0;
}

size_t et_tensor_rank(const et_tensor* tensor) {
  return tensor != nullptr ? static_cast<size_t>(tensor->tensor.dim()) : 0;
}

const int32_t* et_tensor_sizes(const et_tensor* tensor) {
  return tensor != nullptr ? tensor->tensor.sizes().data() : nullptr;
}

const uint8_t* et_tensor_dim_order(const et_tensor* tensor) {
  return tensor != nullptr ? tensor->tensor.dim_order().data() : nullptr;
}

size_t et_tensor_numel(const et_tensor* tensor) {
  return tensor != nullptr ? static_cast<size_t>(tensor->tensor.numel()) : 0;
}

size_t et_tensor_nbytes(const et_tensor* tensor) {
  return tensor != nullptr ? tensor->tensor.nbytes() : 0;
}

const void* et_tensor_data(const et_tensor* tensor) {
  return tensor != nullptr ? tensor->tensor.const_data_ptr() : nullptr;
}

void* et_tensor_mutable_data(et_tensor* tensor) {
  return tensor != nullptr ? tensor->tensor.mutable_data_ptr() : nullptr;
}

void et_tensor_free(et_tensor* tensor) {
  // A tensor of a result is freed with the result; freeing it by mistake has no effect.
  if (tensor != nullptr && tensor->storage != nullptr) {
    delete tensor;
  }
}
