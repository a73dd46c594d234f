// SPDX-License-Identifier: BSD-3-Clause
// SHA-256 (FIPS 180-4). Exporters name weights by it, as 64 lower-case hexadecimal digits.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace executorch {
namespace extension {

using Sha256 = std::array<uint8_t, 32>;

/// The hash of `size` bytes, computed with the processor's SHA instructions if it has them.
Sha256 sha256(const void* data, size_t size);

/// Like sha256(), without these instructions.
Sha256 sha256_portable(const void* data, size_t size);

/// Parses a text of 64 hexadecimal digits; nullopt for any other text.
std::optional<Sha256> read_sha256(std::string_view text);

}  // namespace extension
}  // namespace executorch
