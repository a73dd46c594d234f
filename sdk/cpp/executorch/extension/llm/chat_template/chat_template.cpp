// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/llm/chat_template/chat_template.h>

#include <utility>

#include "interpreter.h"

namespace executorch {
namespace extension {
namespace llm {

using runtime::Error;
using runtime::Result;

struct ChatTemplate::Parsed {
  jinja::NodePtr body;

  Result<std::string> render(jinja::Dict variables) const {
    jinja::Problem problem;
    std::string text = jinja::Interpreter(std::move(variables), problem).render(*body);
    ET_CHECK_OR_RETURN_ERROR(!problem.is_set(), InvalidArgument, "chat template, line %d, column %d: %s",
                             problem.at.line, problem.at.column, problem.message.c_str());
    return text;
  }
};

ChatTemplate::ChatTemplate(std::shared_ptr<const Parsed> parsed) : parsed_(std::move(parsed)) {}
ChatTemplate::~ChatTemplate() = default;
ChatTemplate::ChatTemplate(ChatTemplate&&) noexcept = default;
ChatTemplate& ChatTemplate::operator=(ChatTemplate&&) noexcept = default;

Result<ChatTemplate> ChatTemplate::parse(const std::string& source) {
  jinja::Problem problem;
  auto parsed = std::make_shared<Parsed>();
  parsed->body = jinja::parse(source, problem);
  ET_CHECK_OR_RETURN_ERROR(!problem.is_set(), InvalidArgument, "chat template, line %d, column %d: %s", problem.at.line,
                           problem.at.column, problem.message.c_str());
  return ChatTemplate(std::move(parsed));
}

Result<std::string> ChatTemplate::render(const std::string& variables_json) const {
  jinja::Value variables;
  std::string message;
  const bool is_json = jinja::parse_json(variables_json, variables, message);
  ET_CHECK_OR_RETURN_ERROR(is_json, InvalidArgument, "the variables of the chat template are no JSON: %s",
                           message.c_str());
  ET_CHECK_OR_RETURN_ERROR(variables.is(jinja::Value::Type::kDict), InvalidArgument,
                           "the variables of a chat template are a JSON object, found a %s", variables.type_name());
  return parsed_->render(variables.as_dict());
}

Result<std::string> ChatTemplate::render(const std::vector<ChatMessage>& messages, bool add_generation_prompt,
                                         const std::string& bos_token, const std::string& eos_token) const {
  using jinja::Value;
  jinja::List turns;
  for (const ChatMessage& message : messages) {
    turns.push_back(Value::dict(
        {{Value::text("role"), Value::text(message.role)}, {Value::text("content"), Value::text(message.content)}}));
  }
  return parsed_->render({{Value::text("messages"), Value::list(std::move(turns))},
                          {Value::text("add_generation_prompt"), Value::boolean(add_generation_prompt)},
                          {Value::text("bos_token"), Value::text(bos_token)},
                          {Value::text("eos_token"), Value::text(eos_token)}});
}

}  // namespace llm
}  // namespace extension
}  // namespace executorch
