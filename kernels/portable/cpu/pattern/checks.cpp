// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/portable/cpu/pattern/checks.h"

#include <algorithm>
#include <cstdint>

namespace torch::executor::native {

bool check_same_dtype(KernelRuntimeContext& ctx, const char* op, const Tensor& a, const Tensor& b) {
  ET_KERNEL_CHECK_MSG(ctx, a.scalar_type() == b.scalar_type(), InvalidArgument, false,
                      "%s: expected tensors of one dtype, found %s and %s", op, toString(a.scalar_type()),
                      toString(b.scalar_type()));
  return true;
}

bool check_dim(KernelRuntimeContext& ctx, const char* op, int64_t dim, int64_t rank, size_t* normalized) {
  const int64_t limit = std::max<int64_t>(rank, 1);
  ET_KERNEL_CHECK_MSG(ctx, dim >= -limit && dim < limit, InvalidArgument, false,
                      "%s: dimension %lld is out of range; expected %lld to %lld", op, static_cast<long long>(dim),
                      static_cast<long long>(-limit), static_cast<long long>(limit - 1));
  *normalized = static_cast<size_t>(dim < 0 ? dim + limit : dim);
  return true;
}

bool check_index(KernelRuntimeContext& ctx, const char* op, int64_t index, int64_t size, size_t dim,
                 int64_t* normalized) {
  ET_KERNEL_CHECK_MSG(ctx, index >= -size && index < size, InvalidArgument, false,
                      "%s: index %lld is out of range for dimension %zu of size %lld", op,
                      static_cast<long long>(index), dim, static_cast<long long>(size));
  *normalized = index < 0 ? index + size : index;
  return true;
}

bool check_index_dtype(KernelRuntimeContext& ctx, const char* op, const Tensor& tensor) {
  ET_KERNEL_CHECK_MSG(ctx, tensor.scalar_type() == ScalarType::Long || tensor.scalar_type() == ScalarType::Int,
                      InvalidArgument, false, "%s: indices must be int64 or int32, found %s", op,
                      toString(tensor.scalar_type()));
  return true;
}

bool check_resize(KernelRuntimeContext& ctx, const char* op, Tensor& out, const int64_t* sizes, size_t dims) {
  SizesType narrow[kTensorDimensionLimit];
  ET_KERNEL_CHECK_MSG(ctx, dims <= kTensorDimensionLimit, InvalidArgument, false,
                      "%s: the output would have %zu dimensions; at most %zu are supported", op, dims,
                      static_cast<size_t>(kTensorDimensionLimit));
  for (size_t d = 0; d < dims; ++d) {
    ET_KERNEL_CHECK_MSG(ctx, sizes[d] >= 0 && sizes[d] <= INT32_MAX, InvalidArgument, false,
                        "%s: dimension %zu of the output would have size %lld", op, d,
                        static_cast<long long>(sizes[d]));
    narrow[d] = static_cast<SizesType>(sizes[d]);
  }
  ET_KERNEL_CHECK_MSG(ctx, resize_tensor(out, ArrayRef<SizesType>(narrow, dims)) == Error::Ok, InvalidArgument, false,
                      "%s: the output (%zd dimensions, %zd elements) cannot be resized to the %zu dimensions of the "
                      "result",
                      op, static_cast<ssize_t>(out.dim()), static_cast<ssize_t>(out.numel()), dims);
  return true;
}

bool check_resize_like(KernelRuntimeContext& ctx, const char* op, Tensor& out, const Tensor& in) {
  int64_t sizes[kTensorDimensionLimit];
  std::copy(in.sizes().begin(), in.sizes().end(), sizes);
  return check_resize(ctx, op, out, sizes, static_cast<size_t>(in.dim()));
}

bool check_no_overlap(KernelRuntimeContext& ctx, const char* op, const Tensor& read, const Tensor& written) {
  const auto read_begin = reinterpret_cast<uintptr_t>(read.const_data_ptr());
  const auto written_begin = reinterpret_cast<uintptr_t>(written.const_data_ptr());
  const bool apart = read.numel() == 0 || written.numel() == 0 || read_begin + read.nbytes() <= written_begin ||
                     written_begin + written.nbytes() <= read_begin;
  ET_KERNEL_CHECK_MSG(ctx, apart, InvalidArgument, false,
                      "%s: an argument shares memory with a result; plan them without overlap", op);
  return true;
}

}  // namespace torch::executor::native
