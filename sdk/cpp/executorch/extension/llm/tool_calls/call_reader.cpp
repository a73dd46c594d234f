// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/llm/tool_calls/call_reader.h>

#include <algorithm>

#include <executorch/extension/llm/json_text/write_json.h>
#include <executorch/runtime/platform/log.h>

namespace executorch {
namespace extension {
namespace llm {
namespace internal {

using runtime::Error;

namespace {

constexpr int kMaxDepth = 100;
constexpr std::string_view kSpace = " \t\r\n";
constexpr std::string_view kEscape = "<escape>";

/// Parses a whole JSON text. Numbers stay as they are written.
CallReader::Document parse(std::string_view text) {
  return {yyjson_read(text.data(), text.size(), YYJSON_READ_NUMBER_AS_RAW), yyjson_doc_free};
}

std::string_view text_of(yyjson_val* value) {
  return yyjson_is_str(value) ? std::string_view(yyjson_get_str(value), yyjson_get_len(value)) : std::string_view();
}

/// The JSON object of arguments, which some models write as a string of JSON.
bool arguments_of(yyjson_val* value, std::string& arguments) {
  if (value == nullptr || yyjson_is_obj(value)) {
    arguments = value == nullptr ? "{}" : "";
    return value == nullptr || write_json(value, arguments);
  }
  const std::string_view text = text_of(value);
  const CallReader::Document inner = parse(text);
  return yyjson_is_obj(yyjson_doc_get_root(inner.get())) && write_json(yyjson_doc_get_root(inner.get()), arguments);
}

bool add_call(yyjson_val* value, std::vector<ToolCall>& calls) {
  yyjson_val* const arguments = yyjson_obj_get(value, "arguments");
  return add_call_of(text_of(yyjson_obj_get(value, "name")),
                     arguments != nullptr ? arguments : yyjson_obj_get(value, "parameters"), calls);
}

}  // namespace

bool add_call_of(std::string_view name, yyjson_val* arguments, std::vector<ToolCall>& calls) {
  ToolCall call;
  call.name = name;
  if (name.empty() || !arguments_of(arguments, call.arguments)) {
    return false;
  }
  calls.push_back(std::move(call));
  return true;
}

bool add_calls(yyjson_val* value, std::vector<ToolCall>& calls) {
  if (!yyjson_is_arr(value)) {
    return add_call(value, calls);
  }
  yyjson_arr_iter all;
  yyjson_arr_iter_init(value, &all);
  while (yyjson_val* const part = yyjson_arr_iter_next(&all)) {
    if (!add_call(part, calls)) {
      return false;
    }
  }
  return yyjson_arr_size(value) > 0;
}

CallReader::CallReader(std::string_view text) : copy_(text) {
  copy_.resize(text.size() + YYJSON_PADDING_SIZE, '\0');
  text_ = std::string_view(copy_).substr(0, text.size());
}

void CallReader::skip_space() {
  position_ = std::min(text_.find_first_not_of(kSpace, position_), text_.size());
}

bool CallReader::take(std::string_view word) {
  const bool is_next = rest().substr(0, word.size()) == word;
  position_ += is_next ? word.size() : 0;
  return is_next;
}

std::string_view CallReader::until(std::string_view word) {
  const size_t end = text_.find(word, position_);
  const std::string_view found = text_.substr(position_, end == std::string_view::npos ? end : end - position_);
  position_ = end == std::string_view::npos ? text_.size() : end + word.size();
  return found;
}

bool CallReader::find(std::string_view word, std::string_view& before) {
  if (text_.find(word, position_) == std::string_view::npos) {
    position_ = text_.size();
    fail(std::string(word).c_str());
    return false;
  }
  before = until(word);
  return true;
}

std::string CallReader::name() {
  const size_t begin = position_;
  const auto is_part = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == '.' || c == ':';
  };
  while (position_ < text_.size() && is_part(text_[position_])) {
    position_++;
  }
  return std::string(text_.substr(begin, position_ - begin));
}

Error CallReader::fail(const char* expected) const {
  ET_LOG(Error, "the tool call is incomplete: at byte %zu of the answer, expected %s, found \"%s\"", position_,
         expected, std::string(rest().substr(0, 40)).c_str());
  return Error::InvalidArgument;
}

CallReader::Document CallReader::json() {
  // Parses in place: otherwise yyjson would copy the rest of the text for each value.
  constexpr yyjson_read_flag kFlags = YYJSON_READ_STOP_WHEN_DONE | YYJSON_READ_NUMBER_AS_RAW | YYJSON_READ_INSITU;
  Document found(yyjson_read_opts(&copy_[position_], rest().size(), kFlags, nullptr, nullptr), yyjson_doc_free);
  if (found) {
    position_ += yyjson_doc_get_read_size(found.get());
  } else {
    fail("JSON");
  }
  return found;
}

/// Reads a word up to one of `ends`. Returns it as JSON if it is valid JSON, otherwise as a string.
bool CallReader::plain_value(std::string_view ends, std::string& json) {
  const size_t end = std::min(text_.find_first_of(ends, position_), text_.size());
  std::string_view word = text_.substr(position_, end - position_);
  const size_t last = word.find_last_not_of(kSpace);
  word = word.substr(0, last == std::string_view::npos ? 0 : last + 1);
  if (word.empty()) {
    fail("a value");
    return false;
  }
  position_ = end;
  const Document value = parse(word);
  if (value) {
    return write_json(yyjson_doc_get_root(value.get()), json);
  }
  const bool is_python = word == "True" || word == "False" || word == "None";
  if (is_python) {
    json += word == "True" ? "true" : word == "False" ? "false" : "null";
  } else {
    write_json_string(word, json);
  }
  return true;
}

bool CallReader::escaped_members(char end, std::string& json, int depth) {
  json += end == '}' ? '{' : '[';
  skip_space();
  for (bool is_first = true; !take({&end, 1}); is_first = false) {
    if (!is_first && !take(",")) {
      fail("',' or the end of the arguments");
      return false;
    }
    skip_space();
    json += is_first ? "" : ", ";
    if (end == '}') {
      const std::string_view key = until(":");
      const std::string_view bare =
          key.size() >= 2 && key.front() == '"' && key.back() == '"' ? key.substr(1, key.size() - 2) : key;
      if (at_end() || bare.empty()) {
        fail("the name of an argument");
        return false;
      }
      write_json_string(bare, json);
      json += ": ";
    }
    if (!escaped_value(json, depth + 1)) {
      return false;
    }
    skip_space();
  }
  json += end;
  return true;
}

bool CallReader::escaped_value(std::string& json, int depth) {
  skip_space();
  if (depth > kMaxDepth) {
    fail("fewer levels");
    return false;
  }
  if (take(kEscape)) {
    const size_t begin = position_;
    const std::string_view value = until(kEscape);
    if (begin + value.size() == text_.size()) {
      fail("<escape> after a string");
      return false;
    }
    write_json_string(value, json);
    return true;
  }
  if (take("{")) {
    return escaped_members('}', json, depth);
  }
  if (take("[")) {
    return escaped_members(']', json, depth);
  }
  return plain_value(",]}", json);
}

bool CallReader::marked_up_call(ToolCall& call) {
  std::string_view found;
  if (!find(">", found)) {
    return false;
  }
  if (found.empty()) {
    fail("a name before '>'");
    return false;
  }
  call.name = found;
  skip_space();
  if (!at_end() && rest().front() == '{') {
    const Document value = json();
    skip_space();
    return value && take("</function>") ? write_json(yyjson_doc_get_root(value.get()), call.arguments)
                                        : (fail("</function>"), false);
  }
  call.arguments = "{";
  while (!take("</function>")) {
    if (!take("<parameter=")) {
      fail("<parameter= or </function>");
      return false;
    }
    std::string_view name, value;
    if (!find(">", name) || !find("</parameter>", value)) {
      return false;
    }
    value.remove_prefix(value.substr(0, 1) == "\n" ? 1 : 0);
    value.remove_suffix(!value.empty() && value.back() == '\n' ? 1 : 0);
    call.arguments += call.arguments.size() > 1 ? ", " : "";
    write_json_string(name, call.arguments);
    call.arguments += ": ";
    const Document parsed = parse(value);
    std::string json;
    if (parsed && write_json(yyjson_doc_get_root(parsed.get()), json)) {
      call.arguments += json;
    } else {
      write_json_string(value, call.arguments);
    }
    skip_space();
  }
  call.arguments += '}';
  return true;
}

bool CallReader::keyword_arguments(std::string& json) {
  json += '{';
  skip_space();
  for (bool is_first = true; !take(")"); is_first = false) {
    if (!is_first && !take(",")) {
      fail("',' or ')'");
      return false;
    }
    skip_space();
    const std::string key = name();
    skip_space();
    if (key.empty() || !take("=")) {
      fail("an argument name=value");
      return false;
    }
    skip_space();
    json += is_first ? "" : ", ";
    write_json_string(key, json);
    json += ": ";
    const char next = at_end() ? '\0' : rest().front();
    if (next == '"' || next == '[' || next == '{') {
      const Document value = this->json();
      if (!value || !write_json(yyjson_doc_get_root(value.get()), json)) {
        return false;
      }
    } else if (!plain_value(",)", json)) {
      return false;
    }
    skip_space();
  }
  json += '}';
  return true;
}

}  // namespace internal
}  // namespace llm
}  // namespace extension
}  // namespace executorch
