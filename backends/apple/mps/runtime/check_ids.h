// SPDX-License-Identifier: BSD-3-Clause
// Parts of read_payload().
#pragma once

#include "payload.h"

namespace executorch {
namespace backends {
namespace mps {

/// Logs what is wrong with a payload; returns InvalidProgram.
runtime::Error damaged(const char* what);

/**
 * Checks that every id of a graph names a value that is known by then: an input, a constant or the result of an earlier
 * node; that an operand is absent only where its node allows it; and that constants have the bytes of their elements.
 *
 * @returns InvalidProgram (logged), or NotSupported (logged) for an input or a constant without elements.
 */
runtime::Error check_ids(const Graph& graph);

}  // namespace mps
}  // namespace backends
}  // namespace executorch
