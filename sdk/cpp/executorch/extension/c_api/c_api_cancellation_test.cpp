// SPDX-License-Identifier: BSD-3-Clause
// Cancelling runs from another thread.
#include <chrono>
#include <thread>

#include "c_api_test_support.h"
#include "paths.h"

using namespace c_api_test;
using executorch::tests::kDataFolder;

namespace {

using Cancellation = std::unique_ptr<et_cancellation, FreeWith<et_cancellation_free>>;

Cancellation make_cancellation() {
  et_cancellation* made = nullptr;
  EXPECT_EQ(et_cancellation_create(&made, nullptr), et_status{ET_STATUS_OK});
  return Cancellation(made);
}

class CancellationTest : public ::testing::Test {
 protected:
  et_status run(const Module& module, const et_cancellation* cancellation, et_error** error = nullptr) {
    const et_value inputs[] = {value_of(input_)};
    et_result* result = nullptr;
    const et_status status =
        et_module_execute_cancellable(module.get(), "forward", inputs, 1, cancellation, &result, error);
    EXPECT_EQ(result != nullptr, status == ET_STATUS_OK);
    et_result_free(result);
    return status;
  }

  std::vector<float> x_ = std::vector<float>(3, 1.f);
  Tensor input_ = wrap(x_, {3});
};

TEST_F(CancellationTest, StopsRunsThatBeginLater) {
  const Module module = load("counter");
  const Cancellation cancellation = make_cancellation();
  EXPECT_FALSE(et_cancellation_is_cancelled(cancellation.get()));
  EXPECT_EQ(run(module, cancellation.get()), et_status{ET_STATUS_OK});
  et_cancellation_cancel(cancellation.get());
  EXPECT_TRUE(et_cancellation_is_cancelled(cancellation.get()));
  for (int i = 0; i < 2; ++i) {
    et_error* error = nullptr;
    EXPECT_EQ(run(module, cancellation.get(), &error), et_status{ET_STATUS_CANCELLED});
    const std::string text = take(error);
    EXPECT_NE(text.find("'forward' was stopped"), std::string::npos) << text;
  }
  // Runs without the cancellation object continue.
  EXPECT_EQ(run(module, nullptr), et_status{ET_STATUS_OK});
  EXPECT_EQ(run(module, make_cancellation().get()), et_status{ET_STATUS_OK});
  EXPECT_STREQ(et_status_name(ET_STATUS_CANCELLED), "Cancelled");
}

TEST_F(CancellationTest, StopsALoopThatNeverEnds) {
  const Module module =
      C_API_MAKE(Module, et_module_load_file, (std::string(kDataFolder) + "/endless.pte").c_str(), nullptr);
  for (int round = 0; round < 2; ++round) {  // the module can be used again
    const Cancellation cancellation = make_cancellation();
    std::thread other([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      et_cancellation_cancel(cancellation.get());
    });
    et_error* error = nullptr;
    EXPECT_EQ(run(module, cancellation.get(), &error), et_status{ET_STATUS_CANCELLED});
    EXPECT_NE(take(error), "");
    other.join();
  }
}

TEST_F(CancellationTest, TakesNullForNone) {
  et_cancellation_cancel(nullptr);
  EXPECT_FALSE(et_cancellation_is_cancelled(nullptr));
  et_cancellation_free(nullptr);
  C_API_EXPECT_ERROR(ET_STATUS_INVALID_ARGUMENT, "out", et_cancellation_create, nullptr);
}

}  // namespace
