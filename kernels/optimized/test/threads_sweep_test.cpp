// SPDX-License-Identifier: BSD-3-Clause
// Runs every kernel of the library at sizes around the grain sizes, on 1, 2, 3 and 8 threads, alone and within a task
// of the pool. Results must be bitwise equal. If a kernel hangs, the test names it and its size.
#include <executorch/runtime/kernel/thread_parallel_interface.h>
#include <kernels/optimized/RegisterKernels.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <string>

#include "kernels/optimized/test/threads_sweep.h"

#ifdef ET_USE_THREADPOOL
#include <executorch/extension/threadpool/test/watchdog.h>
#include <executorch/extension/threadpool/threadpool.h>

namespace torch::executor::native {
namespace {

using ::executorch::extension::parallel_for;
using ::executorch::extension::threadpool::get_threadpool;

class OptimizedThreadSweep : public ::testing::TestWithParam<SweptKernel> {
 protected:
  static void SetUpTestSuite() { ::executorch::runtime::runtime_init(); }
  void TearDown() override { get_threadpool()->_unsafe_reset_threadpool(0); }

  /// The results of one call alone, and of kNested calls within tasks of the pool.
  static std::vector<std::vector<float>> results_of(const Call& call) {
    TensorFactory<ScalarType::Float> floats;
    std::vector<Tensor> outs;
    for (size_t i = 0; i < kNested; ++i) {
      outs.push_back(floats.full(call.out, kNaN));
    }
    std::vector<std::vector<float>> results;
    const auto keep = [&](const Tensor& out) {
      const float* data = out.const_data_ptr<float>();
      results.emplace_back(data, data + out.numel());
    };
    KernelRuntimeContext alone;
    call.run(alone, outs[0], 0);
    EXPECT_EQ(alone.failure_state(), Error::Ok) << call.sizes;
    keep(outs[0]);
    parallel_for(0, kNested, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        KernelRuntimeContext ctx;
        call.run(ctx, outs[static_cast<size_t>(i)], static_cast<size_t>(i));
        EXPECT_EQ(ctx.failure_state(), Error::Ok) << call.sizes;
      }
    });
    for (const Tensor& out : outs) {
      keep(out);
    }
    return results;
  }
};

TEST_P(OptimizedThreadSweep, SameResultsOnAnyNumberOfThreads) {
  Watchdog watchdog;
  Calls calls;
  GetParam().add_calls(calls);
  ASSERT_FALSE(calls.all.empty());
  std::vector<std::vector<float>> expected(calls.all.size());
  for (const uint32_t threads : {1u, 2u, 3u, 8u}) {
    ASSERT_TRUE(get_threadpool()->_unsafe_reset_threadpool(threads));
    for (size_t i = 0; i < calls.all.size(); ++i) {
      const std::string work =
          std::string(GetParam().name) + " at " + calls.all[i].sizes + " on " + std::to_string(threads) + " threads";
      SCOPED_TRACE(work);
      watchdog.begin(work);
      for (const std::vector<float>& result : results_of(calls.all[i])) {
        expected[i] = expected[i].empty() ? result : expected[i];
        ASSERT_EQ(result.size(), expected[i].size());
        ASSERT_EQ(std::memcmp(result.data(), expected[i].data(), result.size() * sizeof(float)), 0);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, OptimizedThreadSweep, ::testing::ValuesIn(swept_kernels()), [](const auto& kernel) {
  const std::string qualified = kernel.param.name;
  std::string name = qualified.substr(qualified.find("::") + 2);
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
});

TEST(OptimizedThreadSweepTest, CallsEveryKernelOfTheLibrary) {
  std::set<std::string> of_library, swept;
  for (const auto& kernel : optimized_kernels()) {
    of_library.insert(kernel.name_);
  }
  for (const SweptKernel& kernel : swept_kernels()) {
    swept.insert(kernel.name);
  }
  EXPECT_EQ(swept, of_library);
}

}  // namespace
}  // namespace torch::executor::native
#endif
