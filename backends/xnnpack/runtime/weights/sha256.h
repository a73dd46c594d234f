// SPDX-License-Identifier: BSD-3-Clause
// The names that exporters give weights: SHA-256 (FIPS 180-4) of their bytes, as 64 lower-case hexadecimal digits.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace executorch {
namespace backends {
namespace xnnpack {

using Sha256 = std::array<uint8_t, 32>;

/// Of `size` bytes, by the processor's own instructions where it has them.
Sha256 sha256(const void* data, size_t size);

/// The same without them.
Sha256 sha256_portable(const void* data, size_t size);

/// Nothing for any other text.
std::optional<Sha256> read_sha256(std::string_view text);

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
