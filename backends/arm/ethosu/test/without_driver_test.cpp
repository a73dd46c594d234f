// SPDX-License-Identifier: BSD-3-Clause
// The delegate in a program that links no driver.
#include <gtest/gtest.h>

#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/platform/runtime.h>

TEST(EthosUWithoutDriverTest, IsNotAvailable) {
  executorch::runtime::runtime_init();
  const auto* const backend = executorch::runtime::get_backend_class("EthosUBackend");
  ASSERT_NE(backend, nullptr);
  EXPECT_FALSE(backend->is_available());
}
