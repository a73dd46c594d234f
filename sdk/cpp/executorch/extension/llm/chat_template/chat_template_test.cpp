// SPDX-License-Identifier: BSD-3-Clause
// tests/python/llm compares texts with those of jinja2; here are errors and bounds.
#include <executorch/extension/llm/chat_template/chat_template.h>

#include <gtest/gtest.h>

#include <string>

#include <executorch/runtime/platform/runtime.h>

#include "interpreter.h"
#include "node.h"

using executorch::extension::llm::ChatTemplate;
using executorch::runtime::Error;
namespace jinja = executorch::extension::llm::jinja;

namespace {

/// "line:column message" of the first problem; the text if there is none.
std::string run(const std::string& source, const std::string& json = "{}",
                int64_t max_work = jinja::Interpreter::kMaxWork) {
  jinja::Problem problem;
  const jinja::NodePtr body = jinja::parse(source, problem);
  std::string text;
  if (body) {
    jinja::Value variables;
    std::string message;
    EXPECT_TRUE(jinja::parse_json(json, variables, message)) << message;
    text = jinja::Interpreter(variables.as_dict(), problem, max_work).render(*body);
  }
  return problem.is_set()
             ? std::to_string(problem.at.line) + ":" + std::to_string(problem.at.column) + " " + problem.message
             : text;
}

class ChatTemplateTest : public ::testing::Test {
 protected:
  void SetUp() override { executorch::runtime::runtime_init(); }
};

TEST_F(ChatTemplateTest, RendersAConversation) {
  auto parsed = ChatTemplate::parse(
      "{{ bos_token }}{% for message in messages %}<{{ message.role }}>{{ message['content'] | trim }}\n{% endfor %}"
      "{% if add_generation_prompt %}<assistant>{% endif %}");
  ASSERT_TRUE(parsed.ok());
  const auto text = parsed->render({{"system", "Be brief."}, {"user", " H\u00e9! "}}, true, "[B]");
  EXPECT_EQ(*text, "[B]<system>Be brief.\n<user>H\u00e9!\n<assistant>");
  EXPECT_EQ(*parsed->render(R"({"messages": []})"), "");
  EXPECT_EQ(parsed->render("{\"messages\": [}").error(), Error::InvalidArgument);
  EXPECT_EQ(parsed->render("[]").error(), Error::InvalidArgument);
  EXPECT_EQ(ChatTemplate::parse("{% if %}").error(), Error::InvalidArgument);
}

TEST_F(ChatTemplateTest, ErrorsSayWhere) {
  EXPECT_EQ(run("a\n {% fi x %}"), "2:5 unknown tag 'fi'");
  EXPECT_EQ(run("{{ x"), "1:1 this output has no end: expected }}");
  EXPECT_EQ(run("{% if x %}a"), "1:12 expected {% endif %}, found the end of the template");
  EXPECT_EQ(run("{# a"), "1:1 this comment has no end: expected #}");
  EXPECT_EQ(run("{{ 'a }}"), "1:4 this string has no end");
  EXPECT_EQ(run("{{ 1 + }}"), "1:8 expected an expression, found the end of the tag");
  EXPECT_EQ(run("{{ a ! }}"), "1:6 unexpected character '!'");
  EXPECT_EQ(run("\n{{ a.b }}"), "2:5 'a' is undefined, and has no attribute 'b'");
  EXPECT_EQ(run("{{ 1 | nope }}"), "1:6 unknown filter 'nope'");
  EXPECT_EQ(run("{{ 1 is nope }}"), "1:9 unknown test 'nope'");
  EXPECT_EQ(run("{{ f() }}"), "1:5 'f' is undefined, and cannot be called");
  EXPECT_EQ(run("{{ 'a' + 1 }}"), "1:8 '+' cannot be applied to a value of type string and a value of type integer");
  EXPECT_EQ(run("{{ 1 // 0 }}"), "1:6 division by zero");
  EXPECT_EQ(run("{{ 9223372036854775807 + 1 }}"), "1:24 the result of '+' does not fit into 64 bits");
  EXPECT_EQ(run("{{ raise_exception('no tools') }}"), "1:19 the template refuses this conversation: no tools");
  EXPECT_EQ(run("{% break %}"), "1:10 'break' outside of a loop");
  EXPECT_EQ(run("{{ x.append(1) }}", R"({"x": []})"),
            "1:12 'append' is not available: values of a template do not change. Use + and namespace()");
}

/// Work, memory and the stack are bounded, whatever the template does.
TEST_F(ChatTemplateTest, WorkIsBounded) {
  const std::string steps = "takes more than 1000000 steps";
  for (const char* const source :
       {"{% for i in range(10000000) %}{% for j in range(10000000) %}x{% endfor %}{% endfor %}",
        "{{ range(9000000000000000000) | length }}", "{{ 'x' * 9000000000000000000 }}", "{{ 2 ** 62 * 'x' }}x",
        "{% set ns = namespace(x='ab') %}{% for i in range(60) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}",
        "{% set ns = namespace(x=[1]) %}{% for i in range(60) %}{% set ns.x = ns.x + ns.x %}{% endfor %}"}) {
    const std::string result = run(source, "{}", 1000000);
    EXPECT_TRUE(result.find(steps) != std::string::npos || result.find("cannot be applied") != std::string::npos)
        << source << ": " << result.substr(0, 200);
  }
  EXPECT_NE(run("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}").find("nested deeper than"), std::string::npos);
  const auto repeated = [](const std::string& part, int count) {
    std::string all;
    for (int i = 0; i < count; i++) {
      all += part;
    }
    return all;
  };
  for (const char* const part : {"(", "[", "-", "not ", "x if ", "1+", "x|", "x is ", "{1:", "f(", "a.", "a and "}) {
    EXPECT_NE(run("{{ " + repeated(part, 100000)), "") << part;
  }
  EXPECT_NE(run("{{ " + repeated("1+", 100000) + "1 }}").find("nested deeper than"), std::string::npos);
  EXPECT_NE(run(repeated("{% if 1 %}", 100000)).find("nested deeper than"), std::string::npos);
  EXPECT_NE(run("{% set ns = namespace(x=1) %}{% for i in range(1000) %}{% set ns.x = [ns.x] %}{% endfor %}")
                .find("nested deeper than"),
            std::string::npos);
  EXPECT_EQ(run("{% set ns = namespace(x=1) %}{% set ns.x = [ns] %}{{ ns.x }}"), "[<namespace>]");
  jinja::Value value;
  std::string message;
  EXPECT_FALSE(jinja::parse_json(repeated("[", 5000) + repeated("]", 5000), value, message));
  EXPECT_EQ(message, "lists and objects are nested deeper than 98");
}

}  // namespace
