// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/result.h>

namespace executorch {
namespace extension {
namespace llm {

/// A function that a model asks the application to call.
struct ToolCall {
  std::string name;
  /// A JSON object.
  std::string arguments;
};

/// The forms in which models write calls:
/// - kHermes, also of Qwen: `<tool_call>{"name": "f", "arguments": {}}</tool_call>`, any number of them in the text, or
///   with `<function=f><parameter=a>b</parameter></function>` inside;
/// - kLlama3: the text is `{"name": "f", "parameters": {}}`, or several of them with ';' in between,
///   `<function=f>{}</function>`,
///   or `<|python_tag|>f.call(a="b")`;
/// - kMistral: `[TOOL_CALLS][{"name": "f", "arguments": {}}]`, or `[TOOL_CALLS]f[ARGS]{}` for each call;
/// - kGemma: `<start_function_call>call:f{a:<escape>b<escape>}<end_function_call>`, or JSON as of Llama 3, also in a
///   Markdown fence.
enum class ToolCallFormat { kHermes, kLlama3, kMistral, kGemma };

/// The format that a model uses, found in its chat template. NotFound for a template without one of these formats.
runtime::Result<ToolCallFormat> tool_call_format(const std::string& chat_template);

/// The format with a name: "hermes", "llama3", "mistral" or "gemma". InvalidArgument, after a log line, for other
/// names.
runtime::Result<ToolCallFormat> tool_call_format_of_name(const std::string& name);

/// The name of a format.
const char* name_of(ToolCallFormat format);

/// An answer of a model, separated into text and calls.
struct ParsedAnswer {
  /// The text without the calls, and without white space around it.
  std::string content;
  std::vector<ToolCall> calls;
};

/// Separates the calls in an answer from its text. An answer without calls is text. InvalidArgument, after a log line
/// that says where, if a call is incomplete or not JSON, for example because a limit cut the answer. Bytes that are
/// not UTF-8 are read as U+FFFD.
runtime::Result<ParsedAnswer> parse_tool_calls(const std::string& answer, ToolCallFormat format);

/// A message of a conversation, as chat templates take it: {"role": "assistant", "content": "", "tool_calls": [{"type":
/// "function", "function": {"name": "f", "arguments": {}}}]}; without "tool_calls" if there are none.
std::string to_json(const ParsedAnswer& answer);

}  // namespace llm
}  // namespace extension
}  // namespace executorch
