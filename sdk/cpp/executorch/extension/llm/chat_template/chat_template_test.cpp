// SPDX-License-Identifier: BSD-3-Clause
// tests/python/llm compares texts with those of jinja2; this file tests errors and limits.
#include <executorch/extension/llm/chat_template/chat_template.h>

#include <gtest/gtest.h>

#include <ctime>
#include <string>
#include <thread>

#if !defined(_WIN32)
#include <pthread.h>
#endif

#include <executorch/runtime/platform/runtime.h>

#include "interpreter.h"
#include "node.h"
#include "share.h"

using executorch::extension::llm::Budget;
using executorch::extension::llm::ChatTemplate;
using executorch::runtime::Error;
using executorch::tests::in_share;
namespace jinja = executorch::extension::llm::jinja;

namespace {

/// "line:column message" of the first problem; the text if it is rendered.
std::string run(const std::string& source, const std::string& json = "{}",
                uint64_t max_steps = jinja::Interpreter::kMaxSteps,
                uint64_t max_bytes = jinja::Interpreter::kMaxBytes) {
  jinja::Problem problem;
  Budget parsing(jinja::Interpreter::kMaxSteps, 64 << 20);
  jinja::Work work(parsing, problem);
  const jinja::Template parsed = jinja::parse(source, work);
  std::string text;
  if (parsed.body) {
    jinja::Value variables;
    std::string message;
    EXPECT_TRUE(jinja::parse_json(work, json, variables, message)) << message;
    Budget budget(max_steps, max_bytes);
    text = jinja::Interpreter(parsed, variables, budget, problem).render();
    EXPECT_EQ(budget.bytes_left(), max_bytes) << source.substr(0, 200) << ": charged memory was not released";
  }
  return problem.is_set()
             ? std::to_string(problem.at.line) + ":" + std::to_string(problem.at.column) + " " + problem.message
             : text;
}

std::string repeated(const std::string& part, int count) {
  std::string all;
  for (int i = 0; i < count; i++) {
    all += part;
  }
  return all;
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
  EXPECT_EQ(parsed->render("{\"x\": 123456789012345678901234567890}").error(), Error::InvalidArgument);
  EXPECT_EQ(ChatTemplate::parse("{% if %}").error(), Error::InvalidArgument);
  EXPECT_EQ(ChatTemplate::parse("\xff").error(), Error::InvalidArgument);
}

/// transformers hands these to every template, and a message's reasoning under each of its names.
TEST_F(ChatTemplateTest, VariablesAreThoseOfTransformers) {
  auto parsed = ChatTemplate::parse(
      "{{ tools }} {{ documents }} {{ add_generation_prompt }} "
      "{% for m in messages %}{{ m.reasoning_content }},{{ m.thinking }};{% endfor %}");
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(*parsed->render(R"({"messages": [{"thinking": "a"}, {"reasoning": "b"}, {"reasoning_content": "c"},
                                             {"thinking": null, "reasoning_content": "d"}, {}]})"),
            "None None False a,a;b,b;c,c;d,None;,;");
}

TEST_F(ChatTemplateTest, ErrorsSayWhere) {
  EXPECT_EQ(run("a\n {% fi x %}"), "2:5 unknown tag 'fi'");
  EXPECT_EQ(run("{{ x"), "1:1 this output has no end: expected }}");
  EXPECT_EQ(run("{% if x %}a"), "1:12 expected {% endif %}, found the end of the template");
  EXPECT_EQ(run("{# a"), "1:1 this comment has no end: expected #}");
  EXPECT_EQ(run("{% raw %} {{"), "1:1 this raw block has no end: expected {% endraw %}");
  EXPECT_EQ(run("{{ 'a }}"), "1:4 this string has no end");
  EXPECT_EQ(run("{{ '\\ud800' }}"), "1:4 the escape \\u names no character");
  EXPECT_EQ(run("{{ 1 + }}"), "1:8 expected an expression, found the end of the tag");
  EXPECT_EQ(run("{{ a ! }}"), "1:6 unexpected character '!'");
  EXPECT_EQ(run("{{ (a] }}"), "1:6 unexpected ']', expected ')'");
  EXPECT_EQ(run("\n{{ a.b }}"), "2:5 'a' is undefined, and has no attribute 'b'");
  EXPECT_EQ(run("{{ 1 | nope }}"), "1:8 unknown filter 'nope'");
  EXPECT_EQ(run("{{ [1] | random }}"),
            "1:10 filter 'random' is not available: the text of a conversation must not be random");
  EXPECT_EQ(run("{{ 'a' | wordwrap(0) }}"), "1:10 filter 'wordwrap' needs a width of at least 1, found 0");
  EXPECT_EQ(run("{{ 1 is nope }}"), "1:9 unknown test 'nope'");
  EXPECT_EQ(run("{% if 0 %}{{ 1 | nope }}{% endif %}x"), "x");  // as jinja2: it may be guarded
  EXPECT_EQ(run("{{ f() }}"), "1:5 'f' is undefined, and cannot be called");
  EXPECT_EQ(run("{{ 'a' + 1 }}"), "1:8 '+' cannot be applied to a value of type string and a value of type integer");
  EXPECT_EQ(run("{{ 1 // 0 }}"), "1:6 division by zero");
  EXPECT_EQ(run("{{ 9223372036854775807 + 1 }}"), "1:24 the result of '+' does not fit into 64 bits");
  EXPECT_EQ(run("{{ raise_exception('no tools') }}"), "1:19 the template refuses this conversation: no tools");
  EXPECT_EQ(run("{% break %}"), "1:10 'break' outside of a loop");
  EXPECT_EQ(run("{{ 'a'.encode is defined }}"), "1:7 'encode' of a string is not available in chat templates");
  EXPECT_EQ(run("{% block a %}{% endblock %}{% block a %}{% endblock %}"), "1:37 there is another block 'a'");
  EXPECT_EQ(run("{{ x.append(1) }}", R"({"x": []})"),
            "1:12 'append', which would change a list (templates may not), is undefined, and cannot be called");
}

/// Expected texts are those of jinja2 3.1 in the environment of transformers.
TEST_F(ChatTemplateTest, ListsAreCopiesAndSelfHasTheBlocks) {
  EXPECT_EQ(run("{% set a=[1] %}{{ a is sameas a }} {{ a|list is sameas a }} {{ a|list == a }}"), "True False True");
  EXPECT_EQ(run("{{ lipsum is defined }} {{ lipsum is callable }}"), "True True");
  EXPECT_EQ(run("{{ lipsum() }}"), "1:10 function 'lipsum' is not available: it makes random text");
  EXPECT_EQ(run("{{ self }} {{ self is callable }} {{ self is iterable }}"), "<TemplateReference None> False True");
  EXPECT_EQ(run("{{ self.x }}{{ self.x is defined }}{{ self['x'] is defined }}"), "FalseFalse");
  EXPECT_EQ(run("{% set n=1 %}{% block a %}A{{ n }}{% endblock %}{% for n in [2] %}{{ self.a() }}{% endfor %}"),
            "A1A1");
  EXPECT_EQ(run("{{ self['a']() }}{% block a %}A{% endblock %}{{ self.a is defined }}"), "AATrue");
  EXPECT_EQ(run("{% set self=1 %}{{ self }}"), "1");
}

TEST_F(ChatTemplateTest, FieldsWithoutNameOrNumberHaveNoAttributes) {
  EXPECT_EQ(run("{{ '{}{}'.format(1, 2) }} {{ '{0.real}'.format(3) }} {{ '{a[0]}'.format(a=[4]) }}"), "12 3 4");
  EXPECT_EQ(run("{{ '{.real}'.format(1) }}"), "1:20 there is no value '' to format");
  EXPECT_EQ(run("{{ '{.__class__}'.format('x') }}"), "1:25 there is no value '' to format");
  EXPECT_EQ(run("{{ '{[0]}'.format([1]) }}"), "1:18 there is no value '' to format");
  EXPECT_EQ(run("{{ '{.real}'.format_map({'': 5}) }}"), "5");
}

/// Unknown arguments of a call are errors.
TEST_F(ChatTemplateTest, UnknownArgumentsAreErrors) {
  EXPECT_EQ(run("{{ 'a' | trim(x=1) }}"), "1:10 filter 'trim' has no argument 'x'");
  EXPECT_EQ(run("{{ 'a' | upper(1) }}"), "1:10 filter 'upper' takes at most 0 arguments, found 1");
  EXPECT_EQ(run("{{ 'a' | replace('b') }}"), "1:10 filter 'replace' needs the argument 'new'");
  EXPECT_EQ(run("{{ {} | tojson(0, ensure_ascii=1) }}"), "1:9 filter 'tojson' has its argument 'ensure_ascii' twice");
  EXPECT_EQ(run("{{ 'a'.split(x=1) }}"), "1:13 method 'split' has no argument 'x'");
  EXPECT_EQ(run("{{ 'a'.strip(chars='a') }}"),
            "1:13 method 'strip' has no argument 'chars' for callers to name: leave out the name");
  EXPECT_EQ(run("{{ 1 is divisibleby }}"), "1:9 test 'divisibleby' needs the argument 'num'");
  EXPECT_EQ(run("{{ 1 is none(2) }}"), "1:9 test 'none' takes at most 0 arguments, found 1");
  EXPECT_EQ(run("{{ strftime_now('%Y', 2) }}"), "1:16 function 'strftime_now' takes at most 1 arguments, found 2");
  EXPECT_EQ(run("{% macro f(a) %}{% endmacro %}{{ f(b=1) }}"), "1:35 macro 'f' has no parameter 'b'");
}

/// Work and memory are bounded for every template: each of these would take minutes or gigabytes.
TEST_F(ChatTemplateTest, WorkAndMemoryAreBounded) {
  const std::string doubled =
      "{% set ns = namespace(x='ab') %}{% for i in range(23) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}";
  const std::string large = "{% set x = 'a' * 2000000 %}";
  const std::string shared =
      "{% set ns = namespace(x=['a', 'b']) %}{% for i in range(60) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}";
  const std::string other =
      "{% set n2 = namespace(x=['a', 'b']) %}{% for i in range(60) %}{% set n2.x = [n2.x, n2.x] %}{% endfor %}";
  const std::string sources[] = {
      "{% for i in range(100000) %}{% for j in range(100000) %}x{% endfor %}{% endfor %}",
      "{{ 'x' * 9000000000000000000 }}",
      "{{ [1] * 9000000000000000000 }}",
      "{% set ns = namespace(x='ab') %}{% for i in range(60) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}",
      "{% set ns = namespace(x=[1]) %}{% for i in range(60) %}{% set ns.x = ns.x + ns.x %}{% endfor %}",
      shared + "{{ ns.x }}",
      shared + "{{ ns.x | tojson }}",
      shared + "{{ ns.x | pprint }}",
      shared + "{{ ns.x | string | length }}",
      shared + other + "{{ ns.x == n2.x }}",
      shared + other + "{{ ns.x < n2.x }}",
      shared + "{{ {} | tojson(separators=[ns.x | join, '']) }}",
      large + "{{ x.replace('a', x) }}",
      large + "{{ x | replace('a', x) }}",
      large + "{{ x.join(x) }}",
      large + "{{ x | join(x) }}",
      large + "{{ x | wordwrap(1, wrapstring=x) }}",
      large + "{% for i in range(100000) %}{{ x | wordwrap(2000000) | length }}{% endfor %}",
      large + "{% for i in range(100000) %}{{ ('a' ~ '-' * 1000000) | wordwrap(50) | length }}{% endfor %}",
      large + "{% for i in range(100000) %}{{ {'k': x} | xmlattr | length }}{% endfor %}",
      "{% set d = {}.fromkeys(range(100000)) %}{% for i in range(1000000) %}{{ d | xmlattr }}{% endfor %}",
      "{% for i in range(100000) %}{{ ('a ' ~ '\x1f' * 100000 ~ 'x') | wordwrap(1) | length }}{% endfor %}",
      large + "{% for i in range(100000) %}{{ x == x ~ '' }}{% endfor %}",
      large + "{% for i in range(100000) %}{{ x < x ~ '' }}{% endfor %}",
      large + "{% for i in range(100000) %}{{ 'b' in x }}{% endfor %}",
      large + "{% for i in range(100000) %}{{ ('a' * 1000000 ~ 'b') in x }}{% endfor %}",
      large + "{% for i in range(100000) %}{{ {x: 1}.get(x) }}{% endfor %}",
      large + "{{ ([x] * 100000) | map('upper') | list }}",
      large + "{{ ([x ~ 'b', x ~ 'c'] * 1000) | sort }}",
      large + "{{ x | list }}" + repeated("{{ x | list | tojson }}", 100),
      large + "{{ '{0}{0}{0}'.format(x).format() }}{{ ('%s' * 1000) % (([x] * 1000) | batch(1000) | first) }}",
      "{{ '%999999999999s' % 1 }}",
      "{{ '%.999999999f' % 1.5 }}",
      "{{ '{:>999999999999}'.format(1) }}",
      "{{ '{:.999999999f}'.format(1.5) }}",
      "{{ 'a'.center(9000000000000000000) }}",
      "{{ 'a'.zfill(9000000000000000000) }}",
      "{{ 'a\tb'.expandtabs(9000000000000000000) }}",
      "{{ 'a' | indent(first=true, width=9000000000000000000) }}{{ 'a' | indent(9000000000000000000) }}",
      "{{ [1] | tojson(indent=9000000000000000000) }}",
      "{{ [1] | batch(9000000000000000000, 1) | list }}",
      "{{ [1] | slice(9000000000000000000) | list }}",
      "{{ range(9000000000000000000) | length }}",
      "{{ 3 ** 9000000000000000000 }}",
      "{% macro f(n) %}{{ n }}{{ f(n ~ n) }}{% endmacro %}{{ f('abcdefgh') }}",
      "{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}",
      "{% macro f() %}{{ caller() }}{% endmacro %}{% macro g() %}{% call f() %}{{ g() }}{% endcall %}{% endmacro %}{{ "
      "g() }}",
  };
  size_t index = 0;
  for (const std::string& source : sources) {
    if (!in_share(index++)) {
      continue;
    }
    const std::string found = run(source, "{}", 1'000'000, 32 << 20);
    EXPECT_EQ(found.substr(0, 2), "1:") << source << ": " << found.substr(0, 200);
    EXPECT_EQ(found.find("unknown filter"), std::string::npos) << source << ": " << found.substr(0, 200);
  }
  EXPECT_EQ(run(doubled + "{{ ns.x | length }}"), "16777216");  // freed memory no longer counts
}

/// Templates with a long list of arguments, parameters, targets or entries are read in time proportional to its length.
TEST_F(ChatTemplateTest, LongListsAreReadInLinearTime) {
  struct List {
    const char* begin;
    const char* part;  // @ is replaced by the number of the part
    const char* end;
  };
  size_t index = 0;
  for (const List& list : {List{"{{ dict(", "a@=1,", ") | length }}"},
                           {"{{ 1 | default(", "a@=1,", ") }}"},
                           {"{{ f(", "@,", ") }}"},
                           {"{% macro m(", "a@,", "z) %}{% endmacro %}"},
                           {"{% call(", "a@,", "z) m() %}{% endcall %}"},
                           {"{% set ", "a@,", "z = [] %}"},
                           {"{% for ", "a@,", "z in [] %}{% endfor %}"},
                           {"{% with ", "a@=1,", "z=1 %}{% endwith %}"},
                           {"{{ {", "'a@':1,", "} | length }}"},
                           {"{% if 0 %}", "{% elif @ %}", "{% endif %}"},
                           {"", "{% block a@ %}{% endblock %}", ""},
                           {"", "{% macro a@() %}{% endmacro %}", ""},
                           {"", "{{ a@ }}", ""},
                           {"{# ", "{# ", ""},
                           {"{% raw %}", "{% ", ""}}) {
    if (!in_share(index++)) {
      continue;
    }
    std::string source = list.begin;
    const std::string part = list.part;
    const size_t place = part.find('@');
    for (int i = 0; i < 20000; i++) {
      source += part.substr(0, place) + (place == std::string::npos ? "" : std::to_string(i) + part.substr(place + 1));
    }
    const std::clock_t begin = std::clock();
    run(source + list.end);
    EXPECT_LT(static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC, 5) << list.begin << list.part;
  }
}

/// The depth is bounded by the stack that the thread has, and only by that.
TEST_F(ChatTemplateTest, DepthIsBoundedByTheStack) {
  size_t index = 0;
  for (const char* const part :
       {"(", "[", "-", "not ", "x if ", "1+", "x|", "x is ", "{1:", "f(", "a.", "a and ", "1 if 1 else "}) {
    if (in_share(index++)) {
      EXPECT_NE(run("{{ " + repeated(part, 100000)), "") << part;
    }
  }
  EXPECT_NE(run("{{ " + repeated("1+", 100000) + "1 }}").find("nested"), std::string::npos);
  EXPECT_NE(run(repeated("{% if 1 %}", 100000)).find("nested"), std::string::npos);
  EXPECT_NE(
      run("{% set ns = namespace(x=1) %}{% for i in range(1000) %}{% set ns.x = [ns.x] %}{% endfor %}").find("nested"),
      std::string::npos);
  EXPECT_EQ(run("{% set ns = namespace(x=1) %}{% set ns.x = [ns] %}{{ ns.x | length }}"), "1");
  for (const char* const shown : {"ns.x", "ns.x | pprint"}) {
    EXPECT_NE(run("{% set ns = namespace(x=1) %}{% set ns.x = [ns] %}{{ " + std::string(shown) + " }}").find("nested"),
              std::string::npos);
  }
  const std::string recursion = "{% macro f() %}" + repeated("{% if 1 %}", 30) + "{{ f() }}" +
                                repeated("{% endif %}", 30) + "{% endmacro %}{{ f() }}";
  EXPECT_NE(run(recursion).find("nested too deeply for the stack"), std::string::npos);
  EXPECT_EQ(run("{% macro f(n) %}{{ f(n - 1) if n else 'end' }}{% endmacro %}{{ f(300) }}"), "end");
  jinja::Problem problem;
  Budget budget(1'000'000, 1 << 30);
  jinja::Work work(budget, problem);
  jinja::Value value;
  std::string message;
  EXPECT_FALSE(jinja::parse_json(work, repeated("[", 5000) + repeated("]", 5000), value, message));
  EXPECT_EQ(message, "lists and objects are nested deeper than 98");
}

#if !defined(_WIN32)
void* on_small_stack(void*) {
  for (const char* const source :
       {"{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}",
        "{% set ns = namespace(x=1) %}{% set ns.x = [ns] %}{{ ns }}",
        "{% macro f() %}{% if 1 %}{% if 1 %}{% if 1 %}{{ f() | upper }}{% endif %}{% endif %}{% endif %}{% endmacro "
        "%}{{ f() }}"}) {
    EXPECT_NE(run(source).find("nested too deeply for the stack"), std::string::npos) << source;
  }
  const std::pair<const char*, const char*> parts[] = {{"(", ")"},   {"[", "]"},  {"-", ""},           {"not ", ""},
                                                       {"{1:", "}"}, {"f(", ")"}, {"1 if 1 else ", ""}};
  for (const auto& [open, close] : parts) {
    const std::string source = "{{ " + repeated(open, 20000) + "1" + repeated(close, 20000) + " }}";
    EXPECT_NE(run(source).find("nested"), std::string::npos) << open;
  }
  EXPECT_EQ(run("{{ 'plain' | upper }}"), "PLAIN");
  return nullptr;
}

/// Stacks of threads have 1 MB or less on phones, and 128 KB with musl.
TEST_F(ChatTemplateTest, SmallStacksAreEnough) {
  for (const size_t kilobytes : {1024, 512, 256}) {
    pthread_attr_t attributes;
    pthread_t thread;
    ASSERT_EQ(pthread_attr_init(&attributes), 0);
    ASSERT_EQ(pthread_attr_setstacksize(&attributes, kilobytes * 1024), 0);
    ASSERT_EQ(pthread_create(&thread, &attributes, on_small_stack, nullptr), 0);
    ASSERT_EQ(pthread_join(thread, nullptr), 0);
    pthread_attr_destroy(&attributes);
  }
}
#endif

}  // namespace
