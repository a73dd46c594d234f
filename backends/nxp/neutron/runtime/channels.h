// SPDX-License-Identifier: BSD-3-Clause
// Moves the channels of tensors to the end and back.
#pragma once

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>

namespace executorch {
namespace backends {
namespace neutron {

/// The memory order of a tensor's elements in the network.
enum class Place {
  Tensor,  ///< in the tensor itself
  Copy,    ///< in a copy with channels last
};

/// The memory order of an argument's elements. InvalidArgument (logged) unless the tensor's dim order is contiguous
/// or, for networks with images, channels last. A tensor with channels last and fewer than three dimensions is an
/// InvalidArgument, too.
runtime::Error place_of(const char* kind, size_t index, const aten::Tensor& tensor, bool is_last, Place& place);

/// Copies the elements of a contiguous tensor, with its channels last.
void to_channels_last(const aten::Tensor& tensor, void* copy);
/// Copies elements with channels last into a contiguous tensor.
void from_channels_last(const void* copy, const aten::Tensor& tensor);

}  // namespace neutron
}  // namespace backends
}  // namespace executorch
