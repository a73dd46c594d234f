// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "choices.h"

namespace executorch {
namespace fuzz {

/// A tokenizer.json with valid syntax. `choices` decides its parts, texts and numbers, among them parts that expand a
/// short text, and numbers that no tokenizer has.
std::string make_tokenizer_json(Choices& choices);

/// A text for the tokenizer.
std::string make_tokenizer_text(Choices& choices);

}  // namespace fuzz
}  // namespace executorch
