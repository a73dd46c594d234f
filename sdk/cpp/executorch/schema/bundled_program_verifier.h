// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>

#include <executorch/runtime/core/result.h>

namespace bundled_program_flatbuffer {
struct BundledProgram;
}  // namespace bundled_program_flatbuffer

namespace executorch {
namespace runtime {
namespace internal {

/**
 * Checks the `size` bytes of a bundled program (`.bpte`) at `data`: identifier and structure; that there is a program;
 * that every test suite names its method; that every value is of a known type; and that every tensor has a valid layout
 * and exactly its bytes, aligned to its elements. The program inside is checked by Program::load().
 *
 * @return The root table, which points into `data`. Errors: InvalidArgument when `data` is not aligned to 16 bytes,
 * InvalidExternalData otherwise.
 */
Result<const bundled_program_flatbuffer::BundledProgram*> verify_bundled_program(const void* data, size_t size);

}  // namespace internal
}  // namespace runtime
}  // namespace executorch
