// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include <executorch/extension/flat_tensor/serialize/flat_tensor_header.h>
#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/result.h>
#include <executorch/runtime/core/tensor_layout.h>

namespace flat_tensor_flatbuffer {
struct FlatTensor;
struct TensorLayout;
}  // namespace flat_tensor_flatbuffer

namespace executorch {
namespace extension {
namespace internal {

/// Checks that the ranges of `header` lie inside a file of `file_size` bytes and do not overlap.
runtime::Error check_flat_tensor_header(const FlatTensorHeader& header, size_t file_size);

/// Checks the first `size` bytes of a `.ptd` (the flatbuffer with the header in it): identifier, structure, version,
/// segments inside `segment_data_size`, keys, layouts. Returns the root table, which points into `data`.
/// Whether keys are unique is left to the caller, who builds an index of them anyway.
runtime::Result<const flat_tensor_flatbuffer::FlatTensor*> verify_flat_tensor(const void* data, size_t size,
                                                                              uint64_t segment_data_size);

/// The layout of an entry; InvalidExternalData, naming `key`, for invalid sizes, dim order or dtype.
runtime::Result<const executorch::ET_RUNTIME_NAMESPACE::TensorLayout> parse_tensor_layout(
    const flat_tensor_flatbuffer::TensorLayout* layout, const char* key);

}  // namespace internal
}  // namespace extension
}  // namespace executorch
