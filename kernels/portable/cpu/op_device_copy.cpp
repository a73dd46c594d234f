// SPDX-License-Identifier: BSD-3-Clause
// et_copy::_h2d_copy.out and _d2h_copy.out: copies from host memory to a device, and back. Memory planning has placed
// the tensors; the device's DeviceAllocator copies.
#include <executorch/runtime/core/device_allocator.h>

#include "kernels/portable/cpu/pattern/checks.h"
#include "kernels/portable/cpu/pattern/types.h"

namespace torch::executor::native {
namespace {

using executorch::runtime::DeviceAllocator;
using executorch::runtime::get_device_allocator;

/// Checks the tensors and resizes `out` to the sizes of `in`. `host` and `device` are `in` and `out`, in either order.
bool prepare_copy(KernelRuntimeContext& ctx, const char* op, const Tensor& host, const Tensor& device, const Tensor& in,
                  Tensor& out) {
  ET_KERNEL_CHECK_MSG(ctx, host.device().is_cpu() && !device.device().is_cpu(), InvalidArgument, false,
                      "%s copies between host memory and a device, found device types %d and %d", op,
                      static_cast<int>(in.device().type()), static_cast<int>(out.device().type()));
  if (!check_same_dtype(ctx, op, in, out) || !check_resize_like(ctx, op, out, in)) {
    return false;
  }
  ET_KERNEL_CHECK_MSG(ctx, in.dim_order().equals(out.dim_order()), InvalidArgument, false,
                      "%s: expected tensors of one dim order", op);
  ET_KERNEL_CHECK_MSG(ctx, get_device_allocator(device.device().type()) != nullptr, NotFound, false,
                      "%s: no DeviceAllocator is registered for device type %d: link its backend", op,
                      static_cast<int>(device.device().type()));
  return true;
}

Tensor& copied(KernelRuntimeContext& ctx, const char* op, Error error, Tensor& out) {
  ET_KERNEL_CHECK_MSG(ctx, error == Error::Ok, Internal, out, "%s: copying %zu bytes failed: %s", op, out.nbytes(),
                      executorch::runtime::error_name(error));
  return out;
}

}  // namespace

Tensor& _h2d_copy_out(KernelRuntimeContext& ctx, const Tensor& in, Tensor& out) {
  const char* op = "_h2d_copy.out";
  if (!prepare_copy(ctx, op, in, out, in, out) || out.nbytes() == 0) {
    return out;
  }
  DeviceAllocator* allocator = get_device_allocator(out.device().type());
  return copied(
      ctx, op,
      allocator->copy_host_to_device(out.mutable_data_ptr(), in.const_data_ptr(), in.nbytes(), out.device().index()),
      out);
}

Tensor& _d2h_copy_out(KernelRuntimeContext& ctx, const Tensor& in, Tensor& out) {
  const char* op = "_d2h_copy.out";
  if (!prepare_copy(ctx, op, out, in, in, out) || out.nbytes() == 0) {
    return out;
  }
  DeviceAllocator* allocator = get_device_allocator(in.device().type());
  return copied(
      ctx, op,
      allocator->copy_device_to_host(out.mutable_data_ptr(), in.const_data_ptr(), in.nbytes(), in.device().index()),
      out);
}

}  // namespace torch::executor::native
