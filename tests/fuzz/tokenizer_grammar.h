// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "choices.h"

namespace executorch {
namespace fuzz {

/// A tokenizer.json in its grammar, whose parts, texts and numbers `choices` decides: with parts that make much of
/// little, and numbers that no tokenizer has.
std::string make_tokenizer_json(Choices& choices);

/// A text for it.
std::string make_tokenizer_text(Choices& choices);

}  // namespace fuzz
}  // namespace executorch
