// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <ostream>
#include <string>

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>

namespace executorch {
namespace extension {
namespace flat_tensor {

/// Version of the schema that is written.
constexpr uint32_t kSchemaVersion = 0;

/// Writes a `.ptd` with one segment for each tensor, aligned to `tensor_alignment` bytes (a power of two, at least 8).
/// The file gets its name only when it is complete.
/// InvalidArgument for a bad alignment or a tensor without dense data on the CPU, AccessFailed if it cannot be written.
runtime::Error save_ptd(const std::string& path, const std::map<std::string, aten::Tensor>& tensor_map,
                        const size_t tensor_alignment);

/// Writes to a stream, which should be binary.
runtime::Error save_ptd(std::ostream& out, const std::map<std::string, aten::Tensor>& tensor_map,
                        const size_t tensor_alignment);

}  // namespace flat_tensor
}  // namespace extension
}  // namespace executorch
