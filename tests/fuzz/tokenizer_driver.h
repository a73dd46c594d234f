// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

namespace executorch {
namespace fuzz {

/// Treats the bytes after the first one as the file of a tokenizer, whose format the first byte chooses, and those
/// after the last zero byte as a text; in the last format, as decisions about a tokenizer.json and a text. If it loads,
/// encodes the text and decodes every id. Aborts if an id is not in the vocabulary, or as run_in_small_process()
/// does.
void run_tokenizer(const uint8_t* data, size_t size);

}  // namespace fuzz
}  // namespace executorch
