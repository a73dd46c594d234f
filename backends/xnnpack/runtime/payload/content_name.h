// SPDX-License-Identifier: BSD-3-Clause
// Names of contents that are quick to find and, begun with numbers that nobody knows, hard to make on purpose.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace executorch {
namespace backends {
namespace xnnpack {

/// What tells contents apart; all zeros stand for none.
using ContentName = std::array<uint64_t, 2>;

/// For names that nobody can foresee.
ContentName random_seed();

/// The name of `size` bytes, which begins with `seed`. Reads 64 bytes a step, as fast as memory gives them.
ContentName name_content(const ContentName& seed, const void* data, size_t size);

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
