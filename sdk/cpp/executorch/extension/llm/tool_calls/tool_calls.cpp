// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/llm/tool_calls/tool_calls.h>

#include <string_view>
#include <utility>

#include <executorch/extension/llm/json_text/write_json.h>
#include <executorch/extension/llm/tokenizers/src/utf8.h>
#include <executorch/extension/llm/tool_calls/call_reader.h>
#include <executorch/extension/memory_allocator/report_bad_alloc.h>
#include <executorch/runtime/platform/log.h>

namespace executorch {
namespace extension {
namespace llm {

using internal::add_calls;
using internal::CallReader;
using runtime::Error;
using runtime::Result;

namespace {

struct Format {
  const char* name;
  ToolCallFormat format;
  const char* marks[2];  // marks in chat templates; a template has the first format with a mark in it
};
constexpr Format kFormats[] = {
    {"hermes", ToolCallFormat::kHermes, {"<tool_call>", "<tool_call>"}},
    {"mistral", ToolCallFormat::kMistral, {"[TOOL_CALLS]", "[TOOL_CALLS]"}},
    {"gemma", ToolCallFormat::kGemma, {"<start_function_call>", "<start_of_turn>"}},
    {"llama3", ToolCallFormat::kLlama3, {"<|python_tag|>", "<|start_header_id|>"}},
};

// Marks of other formats, which also contain the marks above.
constexpr const char* kOtherMarks[] = {"<arg_key>", "<tool_calls>", "]<]minimax[>["};

// Tokens that end an answer, which an application may have kept in its text.
constexpr std::string_view kEnds[] = {"<|im_end|>",      "<|eot_id|>", "<|eom_id|>",
                                      "<|endoftext|>",   "</s>",       "<end_of_turn>",
                                      "<|end_of_text|>", "<eos>",      "<start_function_response>"};

std::string_view trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r\n");
  const size_t end = text.find_last_not_of(" \t\r\n");
  return begin == std::string_view::npos ? std::string_view() : text.substr(begin, end - begin + 1);
}

/// The answer without the tokens that end it.
std::string_view without_end(std::string_view answer) {
  answer = trimmed(answer);
  for (bool again = true; again;) {
    again = false;
    for (const std::string_view end : kEnds) {
      if (answer.size() >= end.size() && answer.substr(answer.size() - end.size()) == end) {
        answer = trimmed(answer.substr(0, answer.size() - end.size()));
        again = true;
      }
    }
  }
  return answer;
}

Error parse_hermes(std::string_view text, ParsedAnswer& found) {
  CallReader reader(text);
  while (true) {
    found.content += reader.until("<tool_call>");
    if (reader.at_end()) {
      break;
    }
    reader.skip_space();
    if (reader.take("<function=")) {
      ToolCall call;
      if (!reader.marked_up_call(call)) {
        return Error::InvalidArgument;
      }
      found.calls.push_back(std::move(call));
    } else {
      const CallReader::Document value = reader.json();
      if (!value) {
        return Error::InvalidArgument;
      }
      if (!add_calls(yyjson_doc_get_root(value.get()), found.calls)) {
        return reader.fail("an object with name and arguments before this");
      }
    }
    reader.skip_space();
    if (!reader.take("</tool_call>")) {
      return reader.fail("</tool_call>");
    }
  }
  return text.size() >= 11 && text.substr(text.size() - 11) == "<tool_call>" ? reader.fail("a call") : Error::Ok;
}

/// Parses a text that consists of calls as JSON with ';' between them. Another text has no calls.
Error parse_objects(std::string_view text, bool must_be_calls, ParsedAnswer& found) {
  CallReader reader(text);
  std::vector<ToolCall> calls;
  const bool looks_like_calls = must_be_calls || (text.substr(0, 1) == "{" && text.find("\"name\"") != text.npos);
  while (looks_like_calls && !reader.at_end()) {
    const CallReader::Document value = reader.json();
    if (!value) {
      return Error::InvalidArgument;
    }
    yyjson_val* const root = yyjson_doc_get_root(value.get());
    const bool has_arguments =
        yyjson_obj_get(root, "arguments") != nullptr || yyjson_obj_get(root, "parameters") != nullptr;
    if (!(must_be_calls || has_arguments) || !add_calls(root, calls)) {
      break;  // an answer in JSON
    }
    reader.skip_space();
    if (!reader.at_end() && !reader.take(";") && reader.rest().front() != '{') {
      break;
    }
    reader.skip_space();
  }
  if (must_be_calls && (calls.empty() || !reader.at_end())) {
    return reader.fail("an object with name and arguments");
  }
  if (calls.empty() || !reader.at_end()) {
    found.content = text;
  } else {
    found.calls = std::move(calls);
  }
  return Error::Ok;
}

Error parse_llama3(std::string_view text, ParsedAnswer& found) {
  if (text.substr(0, 10) == "<function=") {
    CallReader reader(text);
    while (reader.take("<function=")) {
      ToolCall call;
      if (!reader.marked_up_call(call)) {
        return Error::InvalidArgument;
      }
      found.calls.push_back(std::move(call));
      reader.skip_space();
    }
    return reader.at_end() ? Error::Ok : reader.fail("<function= or the end of the answer");
  }
  const size_t tag = text.find("<|python_tag|>");
  if (tag == std::string_view::npos) {
    return parse_objects(text, false, found);
  }
  found.content = text.substr(0, tag);
  CallReader reader(text.substr(tag + std::string_view("<|python_tag|>").size()));
  reader.skip_space();
  if (!reader.at_end() && reader.rest().front() == '{') {
    return parse_objects(reader.rest(), true, found);
  }
  ToolCall call;
  call.name = reader.name();
  const size_t method = call.name.rfind(".call");
  if (method == std::string::npos || method == 0 || method + 5 != call.name.size() || !reader.take("(")) {
    return reader.fail("name.call(");
  }
  call.name.resize(method);
  if (!reader.keyword_arguments(call.arguments)) {
    return Error::InvalidArgument;
  }
  found.calls.push_back(std::move(call));
  reader.skip_space();
  return reader.at_end() ? Error::Ok : reader.fail("the end of the answer");
}

Error parse_mistral(std::string_view text, ParsedAnswer& found) {
  CallReader reader(text);
  const size_t mark = text.find("[TOOL_CALLS]");
  found.content = reader.until("[TOOL_CALLS]");
  if (mark == std::string_view::npos) {
    return Error::Ok;
  }
  do {
    reader.skip_space();
    ToolCall call;
    const bool is_json = !reader.at_end() && (reader.rest().front() == '[' || reader.rest().front() == '{');
    if (!is_json) {
      call.name = reader.name();
      if (reader.take("[CALL_ID]")) {
        reader.name();
      }
      if (call.name.empty() || !(reader.take("[ARGS]") || (!reader.at_end() && reader.rest().front() == '{'))) {
        return reader.fail("a list of calls, or a name and [ARGS]");
      }
    }
    const CallReader::Document value = reader.json();
    if (!value) {
      return Error::InvalidArgument;
    }
    yyjson_val* const root = yyjson_doc_get_root(value.get());
    if (is_json ? !add_calls(root, found.calls) : !internal::add_call_of(call.name, root, found.calls)) {
      return reader.fail("objects with name and arguments before this");
    }
    reader.skip_space();
  } while (reader.take("[TOOL_CALLS]"));
  return reader.at_end() ? Error::Ok : reader.fail("[TOOL_CALLS] or the end of the answer");
}

Error parse_gemma(std::string_view text, ParsedAnswer& found) {
  constexpr std::string_view kBegin = "<start_function_call>";
  CallReader reader(text);
  if (text.find(kBegin) == std::string_view::npos) {
    for (const std::string_view fence : {"```json\n", "```tool_call\n", "```\n"}) {
      if (text.size() > fence.size() + 3 && text.substr(0, fence.size()) == fence &&
          text.substr(text.size() - 3) == "```") {
        ParsedAnswer inner;
        const std::string_view inside = trimmed(text.substr(fence.size(), text.size() - fence.size() - 3));
        ET_CHECK_OK_OR_RETURN_ERROR(parse_objects(inside, inside.substr(0, 1) == "[", inner));
        found = std::move(inner);
        found.content = found.calls.empty() ? std::string(text) : "";
        return Error::Ok;
      }
    }
    return parse_objects(text, false, found);
  }
  while (!reader.at_end()) {
    const size_t begin = reader.position();
    const std::string_view before = reader.until(kBegin);
    found.content += before;
    if (begin + before.size() == text.size()) {
      break;
    }
    ToolCall call;
    if (reader.take("call:")) {
      call.name = reader.name();
    }
    if (call.name.empty() || reader.at_end() || reader.rest().front() != '{') {
      return reader.fail("call:name{");
    }
    if (!reader.escaped_value(call.arguments)) {
      return Error::InvalidArgument;
    }
    reader.skip_space();
    if (!reader.take("<end_function_call>")) {
      return reader.fail("<end_function_call>");
    }
    found.calls.push_back(std::move(call));
  }
  return Error::Ok;
}

Error parse_as(ToolCallFormat format, std::string_view text, ParsedAnswer& found) {
  switch (format) {
    case ToolCallFormat::kHermes:
      return parse_hermes(text, found);
    case ToolCallFormat::kMistral:
      return parse_mistral(text, found);
    case ToolCallFormat::kGemma:
      return parse_gemma(text, found);
    default:
      return parse_llama3(text, found);
  }
}

}  // namespace

Result<ToolCallFormat> tool_call_format(const std::string& chat_template) {
  for (const char* const mark : kOtherMarks) {
    if (chat_template.find(mark) != std::string::npos) {
      return Error::NotFound;
    }
  }
  for (const Format& known : kFormats) {
    for (const char* const mark : known.marks) {
      if (chat_template.find(mark) != std::string::npos) {
        return known.format;
      }
    }
  }
  return Error::NotFound;
}

Result<ToolCallFormat> tool_call_format_of_name(const std::string& name) {
  std::string names;
  for (const Format& known : kFormats) {
    if (name == known.name) {
      return known.format;
    }
    names += (names.empty() ? "" : ", ") + std::string(known.name);
  }
  ET_LOG(Error, "there is no form of tool calls '%s'; expected one of %s", name.c_str(), names.c_str());
  return Error::InvalidArgument;
}

const char* name_of(ToolCallFormat format) {
  const char* name = "";
  for (const Format& known : kFormats) {
    name = known.format == format ? known.name : name;
  }
  return name;
}

std::string to_json(const ParsedAnswer& answer) {
  std::string json = "{\"role\": \"assistant\", \"content\": ";
  internal::write_json_string(answer.content, json);
  for (size_t i = 0; i < answer.calls.size(); i++) {
    json += i == 0 ? ", \"tool_calls\": [" : ", ";
    json += "{\"type\": \"function\", \"function\": {\"name\": ";
    internal::write_json_string(answer.calls[i].name, json);
    json += ", \"arguments\": " + answer.calls[i].arguments + "}}";
  }
  return json + (answer.calls.empty() ? "}" : "]}");
}

Result<ParsedAnswer> parse_tool_calls(const std::string& answer, ToolCallFormat format) {
  return extension::internal::report_bad_alloc([&]() -> Result<ParsedAnswer> {
    const std::string whole = ::tokenizers::detail::replace_invalid_utf8(answer);
    ParsedAnswer found;
    ET_CHECK_OK_OR_RETURN_ERROR(parse_as(format, without_end(whole), found));
    found.content = std::string(trimmed(found.content));
    return found;
  });
}

}  // namespace llm
}  // namespace extension
}  // namespace executorch
