// SPDX-License-Identifier: BSD-3-Clause
// Fast hashes of contents. With a random seed, collisions are hard to make on purpose.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace executorch {
namespace extension {

/// Identifies contents; all zeros: no contents.
using ContentName = std::array<uint64_t, 2>;

/// A random seed, for names that cannot be predicted.
ContentName random_seed();

/// Computes the name of `size` bytes, starting from `seed`. Reads 64 bytes per step, at the speed of the memory.
ContentName name_content(const ContentName& seed, const void* data, size_t size);

}  // namespace extension
}  // namespace executorch
