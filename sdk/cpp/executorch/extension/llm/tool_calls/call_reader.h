// SPDX-License-Identifier: BSD-3-Clause
// Reads the elements of tool calls from a text.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <yyjson.h>

#include <executorch/extension/llm/tool_calls/tool_calls.h>

namespace executorch {
namespace extension {
namespace llm {
namespace internal {

class CallReader final {
 public:
  explicit CallReader(std::string_view text);
  CallReader(const CallReader&) = delete;
  CallReader& operator=(const CallReader&) = delete;

  size_t position() const { return position_; }
  std::string_view rest() const { return text_.substr(position_); }
  bool at_end() const { return position_ == text_.size(); }
  void skip_space();
  /// Skips `word` if it comes next. Returns whether it does.
  bool take(std::string_view word);
  /// Returns the text up to `word`, and skips `word`. Returns the rest of the text if `word` does not occur.
  std::string_view until(std::string_view word);
  /// Like until(), but returns false, after a log line, if `word` does not occur.
  bool find(std::string_view word, std::string_view& before);
  /// Reads the name of a function: letters, digits, '_', '-', '.' and ':'.
  std::string name();

  /// Parses one JSON value and keeps its numbers as they are written. The document must not outlive this object. Null,
  /// after a log line with the place, if there is no value.
  using Document = std::unique_ptr<yyjson_doc, void (*)(yyjson_doc*)>;
  Document json();
  /// Parses a value in Gemma's form and writes it as JSON: <escape>text<escape>, numbers, true, {name:value}, [value].
  /// False, after a log line, if there is no value.
  bool escaped_value(std::string& json, int depth = 0);
  /// `name>` and parameters `<parameter=name>value</parameter>`, or JSON, up to `</function>`. A value is JSON, or
  /// text.
  bool marked_up_call(ToolCall& call);
  /// Arguments `name="value", ...` up to `)`, as a JSON object.
  bool keyword_arguments(std::string& json);

  /// Logs what was expected at this position. Returns InvalidArgument.
  runtime::Error fail(const char* expected) const;

 private:
  bool escaped_members(char end, std::string& json, int depth);
  bool plain_value(std::string_view ends, std::string& json);

  std::string copy_;  // of the text, which is read in place
  std::string_view text_;
  size_t position_ = 0;
};

/// Adds the calls in a JSON value: an object {"name", "arguments" or "parameters"}, or a list of them. Returns false if
/// it is something else.
bool add_calls(yyjson_val* value, std::vector<ToolCall>& calls);
/// Adds a call with these arguments, an object or a string that contains one. False for other values.
bool add_call_of(std::string_view name, yyjson_val* arguments, std::vector<ToolCall>& calls);

}  // namespace internal
}  // namespace llm
}  // namespace extension
}  // namespace executorch
