// SPDX-License-Identifier: BSD-3-Clause
// The functions of tensor_access.h, and compute_numel() and safe_numel() of torch_types.h, for at::Tensor.
#include <executorch/runtime/core/exec_aten/util/tensor_access.h>

#include <utility>
#include <vector>

#include <c10/core/Allocator.h>
#include <c10/core/StorageImpl.h>

#include <executorch/runtime/core/exec_aten/util/dim_order_util.h>
#include <executorch/runtime/platform/log.h>

namespace executorch {
namespace aten {
namespace {

template <typename Size>
runtime::Result<ssize_t> checked_numel(const Size* sizes, ssize_t dim) {
  int64_t numel = 1;
  bool empty = false;
  for (ssize_t i = 0; i < dim; ++i) {
    ET_CHECK_OR_RETURN_ERROR(sizes[i] >= 0, InvalidArgument, "dimension %zd has the negative size %" PRId64, i,
                             int64_t{sizes[i]});
    empty = empty || sizes[i] == 0;
    // Skip sizes of 0, so that an overflow of the others is an error in every order of the sizes.
    ET_CHECK_OR_RETURN_ERROR(sizes[i] == 0 || !__builtin_mul_overflow(numel, int64_t{sizes[i]}, &numel),
                             InvalidArgument, "the number of elements overflows at dimension %zd of size %" PRId64, i,
                             int64_t{sizes[i]});
  }
  return empty ? ssize_t{0} : static_cast<ssize_t>(numel);
}

}  // namespace

runtime::Result<ssize_t> safe_numel(const SizesType* sizes, ssize_t dim) {
  return checked_numel(sizes, dim);
}

runtime::Result<ssize_t> safe_numel(const int32_t* sizes, ssize_t dim) {
  return checked_numel(sizes, dim);
}

ssize_t compute_numel(const SizesType* sizes, ssize_t dim) {
  const runtime::Result<ssize_t> numel = safe_numel(sizes, dim);
  ET_CHECK_MSG(numel.ok(), "the sizes are invalid; the line above says why. Check them with safe_numel() first");
  return *numel;
}

}  // namespace aten

namespace runtime {
namespace internal {
namespace {

/// PyTorch calls this allocator when an output of dynamic shape needs more memory than it has.
class NoMoreMemory final : public ::c10::Allocator {
 public:
  ::c10::DataPtr allocate(size_t nbytes) override {
    TORCH_CHECK(false, "a tensor of dynamic shape has no room for ", nbytes,
                " bytes: export the model with a larger upper bound of its dynamic shape");
  }
  void copy_data(void* dest, const void* src, std::size_t count) const override { default_copy_data(dest, src, count); }
};

NoMoreMemory* no_more_memory() {
  static NoMoreMemory allocator;
  return &allocator;
}

::c10::StorageImpl* storage_of(const aten::Tensor& tensor) {
  return tensor.storage().unsafeGetStorageImpl();
}

}  // namespace

DimOrder::DimOrder(const aten::Tensor& tensor) {
  const auto strides = tensor.strides();
  if (strides.size() > kTensorDimensionLimit) {
    return;
  }
  // Largest step first. Dimensions with equal steps keep their order: one of them has a single index.
  for (size_t i = 0; i < strides.size(); ++i) {
    size_t place = i;
    for (; place > 0 && strides[order_[place - 1]] < strides[i]; --place) {
      order_[place] = order_[place - 1];
    }
    order_[place] = static_cast<aten::DimOrderType>(i);
  }
  size_ = strides.size();
}

bool is_dense_on_cpu(const aten::Tensor& tensor) {
  return tensor.defined() && tensor.device().is_cpu() && tensor.layout() == aten::Layout::Strided &&
         static_cast<size_t>(tensor.dim()) <= kTensorDimensionLimit && tensor.is_non_overlapping_and_dense() &&
         !tensor.is_conj() && !tensor.is_neg();
}

TensorShapeDynamism shape_dynamism_of(const aten::Tensor& tensor) {
  return storage_of(tensor)->resizable() ? TensorShapeDynamism::DYNAMIC_BOUND : TensorShapeDynamism::STATIC;
}

aten::Tensor make_tensor(aten::ArrayRef<aten::SizesType> sizes, aten::ArrayRef<aten::StridesType> strides,
                         aten::ScalarType type, TensorShapeDynamism dynamism, ::c10::DataPtr data, size_t nbytes) {
  ::c10::Storage storage(::c10::Storage::use_byte_size_t(), nbytes, std::move(data), no_more_memory(),
                         /*resizable=*/dynamism != TensorShapeDynamism::STATIC);
  aten::Tensor tensor = ::at::detail::make_tensor<aten::TensorImpl>(
      std::move(storage), ::c10::DispatchKeySet(::c10::DispatchKey::CPU), ::c10::scalarTypeToTypeMeta(type));
  tensor.unsafeGetTensorImpl()->set_sizes_and_strides(sizes, strides);
  return tensor;
}

void set_data(const aten::Tensor& tensor, void* data, size_t nbytes) {
  ::c10::StorageImpl* storage = storage_of(tensor);
  storage->set_data_ptr_noswap(::c10::DataPtr(data, aten::Device(aten::DeviceType::CPU)));
  storage->set_nbytes(data == nullptr ? 0 : nbytes);
}

namespace {

/// Whether a tensor may have the sizes within `nbytes` bytes.
Error check_resize(const aten::Tensor& tensor, aten::ArrayRef<aten::SizesType> sizes, size_t nbytes) {
  ET_CHECK_OR_RETURN_ERROR(static_cast<int64_t>(sizes.size()) == tensor.dim() && sizes.size() <= kTensorDimensionLimit,
                           NotSupported, "the rank of a tensor never changes: it is %" PRId64 ", asked for %zu",
                           tensor.dim(), sizes.size());
  ET_CHECK_OR_RETURN_ERROR(tensor.sizes().equals(sizes) || shape_dynamism_of(tensor) != TensorShapeDynamism::STATIC,
                           NotSupported,
                           "the sizes of a static tensor never change. Export the model with a dynamic shape");
  const Result<ssize_t> numel = aten::safe_numel(sizes.data(), static_cast<ssize_t>(sizes.size()));
  if (!numel.ok()) {
    return numel.error();
  }
  const size_t room = nbytes / tensor.itemsize();
  ET_CHECK_OR_RETURN_ERROR(static_cast<size_t>(*numel) <= room, NotSupported,
                           "Attempted to resize a bounded tensor of at most %zu elements to %zd elements. Export the "
                           "model with a larger upper bound of its dynamic shape",
                           room, *numel);
  return Error::Ok;
}

/// Sets the sizes of a tensor and keeps the memory order of its dimensions.
Error set_sizes(const aten::Tensor& tensor, aten::ArrayRef<aten::SizesType> sizes) {
  if (tensor.sizes().equals(sizes)) {
    return Error::Ok;
  }
  aten::StridesType strides[kTensorDimensionLimit];
  const DimOrder order(tensor);
  const Error error = dim_order_to_stride(sizes.data(), order.data(), order.size(), strides);
  if (error == Error::Ok) {
    tensor.unsafeGetTensorImpl()->set_sizes_and_strides(sizes,
                                                        aten::ArrayRef<aten::StridesType>(strides, order.size()));
  }
  return error;
}

}  // namespace

Error resize(const aten::Tensor& tensor, aten::ArrayRef<aten::SizesType> sizes) {
  return resize_onto(tensor, sizes, tensor);
}

Error resize_onto(const aten::Tensor& tensor, aten::ArrayRef<aten::SizesType> sizes, const aten::Tensor& owner) {
  const Error error = check_resize(tensor, sizes, &owner == &tensor ? tensor.storage().nbytes() : owner.nbytes());
  return error == Error::Ok ? set_sizes(tensor, sizes) : error;
}

void share_data(const aten::Tensor& tensor, const aten::Tensor& owner) {
  set_data(tensor, const_cast<void*>(owner.const_data_ptr()), owner.nbytes());
}

void forget_what_has_no_memory(const aten::Tensor& tensor) {
  if (!tensor.defined() || tensor.nbytes() <= tensor.storage().nbytes()) {
    return;
  }
  const std::vector<aten::SizesType> none(static_cast<size_t>(tensor.dim()), 0);
  tensor.unsafeGetTensorImpl()->set_sizes_contiguous(none);
}

}  // namespace internal
}  // namespace runtime
}  // namespace executorch
