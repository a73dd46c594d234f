// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>

#include <yyjson.h>

namespace executorch {
namespace extension {
namespace llm {
namespace internal {

/// Adds a string of JSON, in quotation marks.
void write_json_string(std::string_view value, std::string& out);

/// Adds the JSON of a part of a document. False if it nests more than 200 levels; then the added text is incomplete.
bool write_json(yyjson_val* value, std::string& out, int depth = 0);

}  // namespace internal
}  // namespace llm
}  // namespace extension
}  // namespace executorch
