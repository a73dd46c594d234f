// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/llm/chat_template/chat_template.h>

#include <executorch/extension/memory_allocator/report_bad_alloc.h>

#include <utility>

#include "interpreter.h"

namespace executorch {
namespace extension {
namespace llm {

using extension::internal::report_bad_alloc;
using runtime::Error;
using runtime::Result;

namespace {

using jinja::Value;

/// Limits of parsing: templates of models have up to 50 KB, and a byte of a template takes up to 500 bytes.
constexpr uint64_t kParseSteps = 20'000'000;
constexpr uint64_t kParseBytes = 64 << 20;
/// The conversation comes from the caller, so only the machine's memory limits it.
constexpr uint64_t kUnbounded = UINT64_MAX / 2;

Value name(const char* text) {
  return Value::text(text);
}

/// A message with the reasoning under each of its names, as transformers adds it.
Value with_reasoning(jinja::Work& work, const Value& message) {
  if (!message.is_dict()) {
    return message;
  }
  const auto& fields = message.as<jinja::DictStorage>();
  const Value* reasoning = nullptr;
  for (const char* const field : {"reasoning_content", "thinking", "reasoning"}) {
    const Value* const found = jinja::find(work, fields, field);
    reasoning = reasoning == nullptr && found != nullptr && !found->is_none() ? found : reasoning;
  }
  if (reasoning == nullptr) {
    return message;
  }
  jinja::DictBuilder made(work);
  made.set(name("thinking"), *reasoning);
  made.set_all(message);
  made.set(name("reasoning_content"), *reasoning);
  return made.value();
}

/// The variables as transformers hands them to a template: some are always defined.
Value complete(jinja::Work& work, const Value& variables) {
  jinja::DictBuilder made(work);
  made.set(name("tools"), Value::none());
  made.set(name("documents"), Value::none());
  made.set(name("add_generation_prompt"), Value::boolean(false));
  made.set_all(variables);
  const Value* const messages = jinja::find(work, variables.as<jinja::DictStorage>(), "messages");
  if (messages != nullptr && messages->is(Value::Type::kList)) {
    jinja::ListBuilder turns(work);
    for (const Value& message : messages->as_list()) {
      turns.add(with_reasoning(work, message));
    }
    made.set(name("messages"), turns.value());
  }
  return made.value();
}

Error report(const jinja::Problem& problem) {
  ET_LOG(Error, "chat template, line %d, column %d: %s", problem.at.line, problem.at.column, problem.message.c_str());
  return Error::InvalidArgument;
}

}  // namespace

struct ChatTemplate::Parsed {
  jinja::Template parsed;

  Result<std::string> render(jinja::Work& work, const jinja::Problem& problem, const Value& variables) const {
    const Value all = complete(work, variables);
    if (problem.is_set()) {
      return report(problem);
    }
    Budget budget(jinja::Interpreter::kMaxSteps, jinja::Interpreter::kMaxBytes);
    jinja::Problem failure;
    std::string text = jinja::Interpreter(parsed, all, budget, failure).render();
    if (failure.is_set()) {
      return report(failure);
    }
    return text;
  }
};

ChatTemplate::ChatTemplate(std::shared_ptr<const Parsed> parsed) : parsed_(std::move(parsed)) {}
ChatTemplate::~ChatTemplate() = default;
ChatTemplate::ChatTemplate(ChatTemplate&&) noexcept = default;
ChatTemplate& ChatTemplate::operator=(ChatTemplate&&) noexcept = default;

Result<ChatTemplate> ChatTemplate::parse(const std::string& source) {
  return report_bad_alloc([&]() -> Result<ChatTemplate> {
    Budget budget(kParseSteps, kParseBytes);
    jinja::Problem problem;
    jinja::Work work(budget, problem);
    auto parsed = std::make_shared<Parsed>();
    parsed->parsed = jinja::parse(source, work);
    if (problem.is_set()) {
      return report(problem);
    }
    return ChatTemplate(std::move(parsed));
  });
}

Result<std::string> ChatTemplate::render(const std::string& variables_json) const {
  return report_bad_alloc([&]() -> Result<std::string> {
    Budget budget(kUnbounded, kUnbounded);
    jinja::Problem problem;
    jinja::Work work(budget, problem);
    Value variables;
    std::string message;
    const bool is_json = jinja::parse_json(work, variables_json, variables, message);
    ET_CHECK_OR_RETURN_ERROR(is_json, InvalidArgument, "the variables of the chat template are not JSON: %s",
                             message.c_str());
    ET_CHECK_OR_RETURN_ERROR(variables.is_dict(), InvalidArgument,
                             "the variables of a chat template are a JSON object, found a %s", variables.type_name());
    return parsed_->render(work, problem, variables);
  });
}

Result<std::string> ChatTemplate::render(const std::vector<ChatMessage>& messages, bool add_generation_prompt,
                                         const std::string& bos_token, const std::string& eos_token) const {
  return report_bad_alloc([&]() -> Result<std::string> {
    Budget budget(kUnbounded, kUnbounded);
    jinja::Problem problem;
    jinja::Work work(budget, problem);
    jinja::ListBuilder turns(work);
    for (const ChatMessage& message : messages) {
      jinja::DictBuilder turn(work);
      turn.set(name("role"), Value::text(message.role));
      turn.set(name("content"), Value::text(message.content));
      turns.add(turn.value());
    }
    jinja::DictBuilder variables(work);
    variables.set(name("messages"), turns.value());
    variables.set(name("add_generation_prompt"), Value::boolean(add_generation_prompt));
    variables.set(name("bos_token"), Value::text(bos_token));
    variables.set(name("eos_token"), Value::text(eos_token));
    return parsed_->render(work, problem, variables.value());
  });
}

}  // namespace llm
}  // namespace extension
}  // namespace executorch
