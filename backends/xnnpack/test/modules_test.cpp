// SPDX-License-Identifier: BSD-3-Clause
// Four Modules on four threads at once, with and without delegates, on pools of several sizes.
#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor.h>
#include <executorch/extension/threadpool/test/watchdog.h>
#include <executorch/extension/threadpool/threadpool.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "paths.h"

using executorch::extension::make_tensor_ptr;
using executorch::extension::Module;
using executorch::extension::TensorPtr;
using executorch::extension::threadpool::get_threadpool;
using executorch::runtime::Error;
using executorch::tests::kDataFolder;

namespace {

// The same as in tests/data/make_at_once.py.
constexpr std::array<int32_t, 4> kHeights = {64, 40, 33, 17};
constexpr int32_t kWidth = 64;
constexpr size_t kClasses = 10;
constexpr int kRounds = 3;

std::string file(const std::string& name) {
  return std::string(kDataFolder) + "/at_once/" + name;
}

std::vector<float> expected_results() {
  std::vector<float> results(kHeights.size() * kClasses);
  std::ifstream stream(file("results.bin"), std::ios::binary);
  stream.read(reinterpret_cast<char*>(results.data()), static_cast<std::streamsize>(results.size() * sizeof(float)));
  EXPECT_TRUE(stream);
  return results;
}

TensorPtr image(int32_t height) {
  std::vector<float> values(static_cast<size_t>(3 * height * kWidth));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(static_cast<int>(7 * i % 13) - 6) / 4.0f;
  }
  return make_tensor_ptr({1, 3, height, kWidth}, std::move(values));
}

struct Mix {
  const char* name;
  std::array<const char*, 4> programs;
};

const Mix kMixes[] = {{"Kernels", {"portable.pte", "portable.pte", "portable.pte", "portable.pte"}},
                      {"Delegates", {"xnnpack.pte", "xnnpack.pte", "xnnpack.pte", "xnnpack.pte"}},
                      {"Both", {"portable.pte", "xnnpack.pte", "portable.pte", "xnnpack.pte"}}};

class ModulesAtOnce : public ::testing::TestWithParam<std::tuple<Mix, uint32_t>> {
 protected:
  void TearDown() override { get_threadpool()->_unsafe_reset_threadpool(0); }
};

/// Runs the module on images of each height. Each thread begins with another height.
void run(Module& module, size_t number, const std::vector<float>& expected) {
  for (size_t call = 0; call < kRounds * kHeights.size(); ++call) {
    const size_t which = (number + call) % kHeights.size();
    const auto results = module.forward(image(kHeights[which]));
    ASSERT_EQ(results.error(), Error::Ok);
    const auto& out = results->at(0).toTensor();
    ASSERT_EQ(out.numel(), static_cast<ssize_t>(kClasses));
    for (size_t i = 0; i < kClasses; ++i) {
      ASSERT_NEAR(out.const_data_ptr<float>()[i], expected[which * kClasses + i], 1e-5) << kHeights[which];
    }
  }
}

template <typename MakeModule>
void run_at_once(const MakeModule& make) {
  const std::vector<float> expected = expected_results();
  std::vector<std::thread> threads;
  for (size_t number = 0; number < 4; ++number) {
    threads.emplace_back([&, number] {
      const auto module = make(number);
      run(*module, number, expected);
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

// RT-13, RT-14
TEST_P(ModulesAtOnce, GiveEagersResults) {
  const auto& [mix, threads] = GetParam();
  Watchdog watchdog;
  watchdog.begin(std::string(mix.name) + " on " + std::to_string(threads) + " threads");
  ASSERT_TRUE(get_threadpool()->_unsafe_reset_threadpool(threads));
  run_at_once([&programs = mix.programs](size_t number) { return std::make_unique<Module>(file(programs[number])); });
}

TEST_P(ModulesAtOnce, MayShareAProgram) {
  const auto& [mix, threads] = GetParam();
  Watchdog watchdog;
  watchdog.begin(std::string(mix.name) + " of one program on " + std::to_string(threads) + " threads");
  ASSERT_TRUE(get_threadpool()->_unsafe_reset_threadpool(threads));
  Module first(file(mix.programs[0])), second(file(mix.programs[1]));
  ASSERT_EQ(first.load(), Error::Ok);
  ASSERT_EQ(second.load(), Error::Ok);
  run_at_once(
      [&](size_t number) { return std::make_unique<Module>(number % 2 == 0 ? first.program() : second.program()); });
}

INSTANTIATE_TEST_SUITE_P(All, ModulesAtOnce,
                         ::testing::Combine(::testing::ValuesIn(kMixes), ::testing::Values(1u, 2u, 3u, 8u)),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param).name) + std::to_string(std::get<1>(info.param));
                         });

}  // namespace
