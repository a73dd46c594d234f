// SPDX-License-Identifier: BSD-3-Clause
// Strides, broadcasting, and the kernel that moves elements between two views.
#pragma once

#include "graph/op_context.h"

namespace executorch {
namespace backends {
namespace vulkan {

/// A view of a tensor: its start, and the strides of its dimensions.
struct View {
  int64_t offset = 0;
  std::vector<int64_t> strides;
};

/// Strides of a contiguous tensor; zeros for invalid sizes.
std::vector<int64_t> strides_of(const Sizes& sizes);

/// Strides of a tensor of `sizes` in the index space `to`; 0 in dimensions of size 1. Fails if the sizes do not fit.
std::vector<int64_t> broadcast_strides(OpContext& context, const Sizes& sizes, const Sizes& to);

/// The sizes to which both are broadcast.
Sizes broadcast_sizes(OpContext& context, const Sizes& a, const Sizes& b);

/// Merges dimensions that are contiguous in all views, in place, so that kernels have fewer to compute.
void merge_dims(Sizes& sizes, std::initializer_list<std::vector<int64_t>*> strides);

/// Copies out[view of `to`] = in[view of `from`] over the index space `sizes`, with conversion of the dtype.
void copy_view(OpContext& context, Tensor& out, View to, Tensor& in, View from, Sizes sizes);

/// A copy of all elements in their order, with conversion of the dtype.
void copy_all(OpContext& context, Tensor& out, Tensor& in);

/// Sets all elements.
void fill(OpContext& context, Tensor& out, double value);

/// float, half or int.
inline std::string kind_name(const Tensor& tensor) {
  return name_of(tensor.kind);
}
/// The suffix of a shader for these types; equal types appear once.
std::string kinds(std::initializer_list<Kind> all);

}  // namespace vulkan
}  // namespace backends
}  // namespace executorch
