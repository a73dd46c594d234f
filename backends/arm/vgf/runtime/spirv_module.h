// SPDX-License-Identifier: BSD-3-Clause
// The requirements of a SPIR-V module on the sequence that runs it.
#pragma once

#include <executorch/runtime/core/error.h>

#include "vgf_file.h"

namespace executorch {
namespace backends {
namespace vgf {

/**
 * Checks that the module of a segment is a sequence of whole instructions with one graph of the name of its entry
 * point, and that its constants and the bindings of its tensors are those of the segment: drivers need not check this.
 *
 * @returns InvalidProgram (logged) otherwise.
 */
runtime::Error check_module(const VgfFile& file, const Segment& segment);

}  // namespace vgf
}  // namespace backends
}  // namespace executorch
