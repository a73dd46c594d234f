// SPDX-License-Identifier: BSD-3-Clause
// Allocations fail, one in each run, while the words of a sound and their times are found: the result is an error, no
// exception leaves the library, and the same runner works afterwards.
#include <executorch/extension/asr/runner/runner.h>

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor.h>
#include <executorch/runtime/platform/runtime.h>

#include "faults.h"
#include "paths.h"

using executorch::extension::from_blob;
using executorch::extension::Module;
using executorch::extension::TensorPtr;
using executorch::extension::asr::AsrRunner;
using executorch::extension::asr::Segment;
using executorch::runtime::Error;
using executorch::tests::kDataFolder;
using faults::Kind;

namespace {

TEST(AsrFaultsTest, AnyAllocationOfFindingWordsFails) {
  executorch::runtime::runtime_init();
  const std::string folder = std::string(kDataFolder) + "/speech/";
  AsrRunner runner(folder + "timed.pte", std::nullopt, "");
  runner.set_preprocessor(std::make_unique<Module>(folder + "preprocessor.pte"));
  auto config = runner.default_config();
  ASSERT_TRUE(config.ok());
  config->max_new_tokens = 12;
  config->word_times = true;
  std::vector<float> samples(16 * 200);
  for (size_t i = 0; i < samples.size(); i++) {
    samples[i] = static_cast<float>(i * 37 % 256) / 256.0F;
  }
  const auto words = [&](const std::vector<Segment>& segments) {
    size_t count = 0;
    for (const Segment& segment : segments) {
      count += segment.words.size();
    }
    return count;
  };
  const auto wanted = runner.transcribe_segments(samples, *config);
  ASSERT_TRUE(wanted.ok());
  ASSERT_GT(words(*wanted), 0U);
  size_t n = 0;
  for (bool met = true; met; n += 1 + n / 50) {  // a run makes thousands
    Error error = Error::Internal;
    size_t found = 0;
    faults::arm(Kind::kAllocation, n);
    EXPECT_NO_THROW({
      const auto segments = runner.transcribe_segments(samples, *config);
      error = segments.error();
      found = segments.ok() ? words(*segments) : 0;
    }) << "allocation "
       << n;
    met = faults::disarm();
    EXPECT_TRUE(met || error == Error::Ok) << "allocation " << n;
    EXPECT_TRUE(error != Error::Ok || found == words(*wanted)) << "allocation " << n;
  }
  EXPECT_GT(n, 100U);
}

/// Calls `function` with one failing allocation, again and again, until it makes no more; `prepare` before each call.
template <typename Function>
void expect_errors(const char* name, const Function& function, const std::function<void()>& prepare = [] {}) {
  size_t n = 0;
  for (bool met = true; met; n += 1 + n / 20) {
    Error error = Error::Internal;
    prepare();
    faults::arm(Kind::kAllocation, n);
    EXPECT_NO_THROW(error = function()) << name << ", allocation " << n;
    met = faults::disarm();
    EXPECT_TRUE(met || error == Error::Ok) << name << ", allocation " << n;
  }
  EXPECT_GT(n, 1U) << name;
}

TEST(AsrFaultsTest, NoExceptionLeavesAnyCall) {
  executorch::runtime::runtime_init();
  const std::string folder = std::string(kDataFolder) + "/speech/";
  const auto make = [&] {
    auto runner = std::make_unique<AsrRunner>(folder + "timed.pte", std::nullopt, "");
    runner->set_preprocessor(std::make_unique<Module>(folder + "preprocessor.pte"));
    return runner;
  };
  const auto loading = make();
  expect_errors("load", [&] { return loading->load(); });
  const auto runner = make();
  std::vector<float> samples(16 * 200);
  for (size_t i = 0; i < samples.size(); i++) {
    samples[i] = static_cast<float>(i * 37 % 256) / 256.0F;
  }
  const TensorPtr sound = from_blob(samples.data(), {static_cast<executorch::aten::SizesType>(samples.size())});
  auto config = runner->default_config();
  const auto features = runner->preprocess(sound);
  const auto wanted = runner->transcribe_samples(samples, *config);
  ASSERT_TRUE(config.ok() && features.ok() && wanted.ok());
  config->max_new_tokens = 4;
  expect_errors("default_config", [&] { return runner->default_config().error(); });
  expect_errors("preprocess", [&] { return runner->preprocess(sound).error(); });
  auto given = *config;  // the copy that transcribe() takes is made by its caller
  expect_errors(
      "transcribe", [&] { return runner->transcribe(*features, std::move(given)).error(); }, [&] { given = *config; });
  expect_errors("transcribe_samples", [&] { return runner->transcribe_samples(samples, *config).error(); });
  // The program names no languages, which is found after allocations.
  expect_errors("detect_language", [&] {
    const Error error = runner->detect_language(samples).error();
    return error == Error::NotSupported ? Error::Ok : error;
  });
  const auto again = runner->transcribe_samples(samples, *runner->default_config());
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(*again, *wanted) << "the runner works after the errors";
}

}  // namespace
