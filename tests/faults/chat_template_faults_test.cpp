// SPDX-License-Identifier: BSD-3-Clause
// Each allocation in turn fails while a chat template is parsed or renders: the result is an error, nothing leaks, no
// exception leaves the library, and the same template gives the right text afterwards.
#include <string>

#include <gtest/gtest.h>

#include <executorch/extension/llm/chat_template/chat_template.h>
#include <executorch/runtime/platform/runtime.h>

#include "faults.h"

using executorch::extension::llm::ChatTemplate;
using executorch::runtime::Error;
using faults::Kind;

namespace {

const char* const kSource =
    "{% macro m(x) %}<{{ x }}{{ caller(x) }}>{% endmacro %}{% set ns = namespace(n=0) %}"
    "{% for a in messages if a.role %}{% set ns.n = ns.n + loop.index %}{{ a.content | trim | upper }}{{ loop.last }}"
    "{% call(y) m(a) %}{{ y | tojson(indent=2) }}{% endcall %}{% endfor %}{{ ns.n }}"
    "{{ messages | map(attribute='role') | sort | join(', ') }}{{ 'a b'.split() }}{{ '%5s|{}' % 'x' }}{{ {'a': 1} }}";
const char* const kVariables = R"({"messages": [{"role": "user", "content": " hi "}, {"role": "b", "thinking": "c"}]})";

TEST(ChatTemplateFaultsTest, AnyAllocationOfParsingFails) {
  executorch::runtime::runtime_init();
  ASSERT_TRUE(ChatTemplate::parse(kSource).ok());
  size_t n = 0;
  for (bool met = true; met; n++) {
    const std::string source = kSource;
    const long before = faults::live_blocks();
    {
      faults::arm(Kind::kAllocation, n);
      const auto parsed = ChatTemplate::parse(source);
      met = faults::disarm();
      EXPECT_EQ(parsed.error(), met ? Error::MemoryAllocationFailed : Error::Ok) << "allocation " << n;
    }
    ASSERT_EQ(faults::live_blocks(), before) << "allocation " << n << " leaks";
  }
  EXPECT_GT(n, 100u);
}

TEST(ChatTemplateFaultsTest, AnyAllocationOfRenderingFails) {
  executorch::runtime::runtime_init();
  const auto parsed = ChatTemplate::parse(kSource);
  ASSERT_TRUE(parsed.ok());
  const std::string variables = kVariables;
  const auto expected = parsed->render(variables);
  ASSERT_TRUE(expected.ok());
  size_t n = 0;
  for (bool met = true; met; n++) {
    const long before = faults::live_blocks();
    {
      faults::arm(Kind::kAllocation, n);
      const auto text = parsed->render(variables);
      met = faults::disarm();
      if (text.ok()) {  // std::stable_sort also works without its buffer
        EXPECT_EQ(*text, *expected) << "allocation " << n;
      } else {
        // The JSON reader returns InvalidArgument when it has no memory.
        EXPECT_TRUE(met && (text.error() == Error::MemoryAllocationFailed || text.error() == Error::InvalidArgument))
            << "allocation " << n;
      }
    }
    ASSERT_EQ(faults::live_blocks(), before) << "allocation " << n << " leaks";
  }
  EXPECT_GT(n, 100u);
  EXPECT_EQ(*parsed->render(variables), *expected);
}

}  // namespace
