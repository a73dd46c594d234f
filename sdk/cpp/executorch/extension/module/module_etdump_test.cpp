// SPDX-License-Identifier: BSD-3-Clause
//
// A Module with an ETDumpGen writes a dump if the runtime is compiled with tracing, and none otherwise.
#include <cstdlib>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include <executorch/devtools/etdump/etdump_flatcc.h>
#include <executorch/extension/module/bundled_module.h>
#include <executorch/extension/tensor/tensor.h>
#include <executorch/runtime/core/event_tracer_hooks.h>
#include <executorch/schema/etdump_generated.h>

#include "paths.h"

using executorch::etdump::ETDumpGen;
using executorch::etdump::ETDumpResult;
using executorch::extension::Module;
using executorch::runtime::EventTracer;
using executorch::runtime::EventTracerDebugLogLevel;
using executorch::tests::kCorpusFolder;

namespace {

const std::string kFolder = kCorpusFolder;
constexpr bool kTraced = executorch::runtime::internal::kEventTracerEnabled;

using Guard = std::unique_ptr<void, decltype(&std::free)>;

}  // namespace

TEST(ModuleETDumpTest, TracesAModule) {  // ETD-02, ETD-03, ETD-06, ETD-07, MOD-22, MOD-23, MDB-02
  Module module(kFolder + "/add/model.pte", Module::LoadMode::File, std::make_unique<ETDumpGen>());
  auto* etdump = dynamic_cast<ETDumpGen*>(module.event_tracer());
  ASSERT_NE(etdump, nullptr);
  alignas(64) static uint8_t debug[4096];
  ASSERT_TRUE(etdump->set_debug_buffer({debug, sizeof(debug)}).ok());
  etdump->set_event_tracer_debug_level(EventTracerDebugLogLevel::kIntermediateOutputs);
  const auto input = executorch::extension::full({2, 3}, 2);
  ASSERT_TRUE(module.forward({input, input}).ok());

  const ETDumpResult trace = etdump->get_etdump_data();
  const Guard guard(trace.buf, &std::free);
  ASSERT_EQ(trace.buf != nullptr, kTraced);
  ASSERT_EQ(trace.size > 0, kTraced);
  if (!kTraced) {
    return;
  }
  const auto* blocks = ::etdump::GetSizePrefixedETDump(trace.buf)->run_data();
  ASSERT_EQ(blocks->size(), 2u);
  EXPECT_EQ(blocks->Get(0)->name()->str(), "Default");
  EXPECT_EQ(blocks->Get(1)->name()->str(), "Execute");
  bool saw_method = false;
  bool saw_operator = false;
  bool saw_kernel = false;
  float output = 0;
  float result = 0;  // the result of the only instruction
  for (const auto* event : *blocks->Get(1)->events()) {
    if (const auto* profile = event->profile_event()) {
      saw_method = saw_method || profile->name()->str() == "Method::execute";
      saw_operator = saw_operator || profile->name()->str() == "OPERATOR_CALL";
      saw_kernel = saw_kernel || profile->name()->str() == "native_call_add.out";
      EXPECT_LE(profile->start_time(), profile->end_time());
    } else if (const auto* entry = event->debug_event()->debug_entry(); entry->tensor() != nullptr) {
      const bool is_output = entry->output() != nullptr && entry->output()->bool_val();
      (is_output ? output : result) = *reinterpret_cast<const float*>(debug + entry->tensor()->offset());
    }
  }
  EXPECT_TRUE(saw_method);
  EXPECT_TRUE(saw_operator);
  EXPECT_TRUE(saw_kernel);
  EXPECT_EQ(output, 4.0f);
  EXPECT_EQ(result, 4.0f);
}

TEST(ModuleETDumpTest, KnowsTheBundledInput) {
  using executorch::extension::ET_BUNDLED_MODULE_NAMESPACE::BundledModule;
  auto module =
      BundledModule::from_file(kFolder + "/bundled/model.bpte", nullptr, nullptr, std::make_unique<ETDumpGen>());
  ASSERT_TRUE(module.ok());
  ASSERT_TRUE((*module)->execute("forward", 2).ok());
  auto* etdump = dynamic_cast<ETDumpGen*>((*module)->event_tracer());
  ASSERT_NE(etdump, nullptr);
  EXPECT_EQ(etdump->bundled_input_index(), kTraced ? 2 : executorch::runtime::kUnsetBundledInputIndex);
}
