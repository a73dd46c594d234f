// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/core/testing_util/error_matchers.h>

#include "signatures.h"

namespace surface {

/// Uses every matcher and macro once.
[[maybe_unused]] void use(Error error, const Result<int>& result) {
  EXPECT_THAT(result, runtime::testing::IsOk());
  EXPECT_THAT(error, runtime::testing::HasError(Error::NotFound));
  EXPECT_THAT(result, runtime::testing::IsOkAndHolds(::testing::Gt(3)));
  EXPECT_OK(error);
  ASSERT_OK(error);
  [[maybe_unused]] const int value = ASSERT_OK_AND_UNWRAP(Result<int>(3));
}

}  // namespace surface
