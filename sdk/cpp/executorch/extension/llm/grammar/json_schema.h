// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <string>

#include <executorch/runtime/core/error.h>

namespace executorch {
namespace extension {
namespace llm {
namespace internal {

/// The most characters of white space between two parts of an answer in JSON.
inline constexpr int kMaxJsonSpaces = 20;
/// The maximal nesting depth of grammars and schemas.
inline constexpr int kMaxGrammarDepth = 64;

/// Whether answers can follow a JSON schema. InvalidArgument, after a log line, for text that is not JSON (line and
/// column) and for keywords with wrong values; NotSupported for keywords that the engine would ignore. Both name the
/// path: "$.properties.name.minLength".
runtime::Error check_json_schema(const std::string& text);

/// The path of the innermost part of a schema for which `works` is false; "$" if only the whole schema fails. Parts
/// with references are not tried separately.
std::string path_of_problem(const std::string& schema, const std::function<bool(const std::string& part)>& works);

}  // namespace internal
}  // namespace llm
}  // namespace extension
}  // namespace executorch
