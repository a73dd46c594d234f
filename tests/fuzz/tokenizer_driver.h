// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

namespace executorch {
namespace fuzz {

/// Treats what is behind the first byte as the file of a tokenizer, of the format that the byte chooses, and what is
/// behind its last zero byte as a text; with another first byte, as decisions about a tokenizer.json and a text. If it
/// loads, encodes the text and decodes every id. Aborts if the ids are none of the vocabulary, or as
/// run_in_small_process() does.
void run_tokenizer(const uint8_t* data, size_t size);

}  // namespace fuzz
}  // namespace executorch
