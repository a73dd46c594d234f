// SPDX-License-Identifier: BSD-3-Clause
// The requirements of a SPIR-V module on the sequence that runs it.
#pragma once

#include <executorch/runtime/core/error.h>

#include "vgf_file.h"

namespace executorch {
namespace backends {
namespace vgf {

/**
 * Checks that the module of a segment is a sequence of whole instructions, that its only graph has the name of its
 * entry point, and that it has the segment's constants and bindings of tensors. Drivers need not check this.
 *
 * @returns InvalidProgram (logged) otherwise.
 */
runtime::Error check_module(const VgfFile& file, const Segment& segment);

}  // namespace vgf
}  // namespace backends
}  // namespace executorch
