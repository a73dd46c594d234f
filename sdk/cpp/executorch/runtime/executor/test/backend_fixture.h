// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/executor/test/method_fixture.h>

namespace executorch {
namespace runtime {
namespace testing {

// For tests with `using namespace executorch::runtime::testing`.
using ::executorch::runtime::ArrayRef;
using ::executorch::runtime::BackendExecutionContext;
using ::executorch::runtime::BackendInitContext;
using ::executorch::runtime::CompileSpec;
using ::executorch::runtime::DelegateHandle;
using ::executorch::runtime::Error;
using ::executorch::runtime::EValue;
using ::executorch::runtime::FreeableBuffer;
using ::executorch::runtime::Result;
using ::executorch::runtime::Span;

/// A backend that counts the delegates that it holds.
class CountingBackend : public BackendInterface {
 public:
  bool is_available() const override { return true; }
  void destroy(DelegateHandle*) const override { --alive; }

  mutable int alive = 0;
};

/// For tests with a backend that was registered: none of its delegates are left from the test before.
template <auto& backend, const Error& registered>
class BackendFixture : public MethodFixture {
 protected:
  void SetUp() override {
    MethodFixture::SetUp();
    ASSERT_EQ(registered, Error::Ok);
    ASSERT_EQ(backend.alive, 0);
  }
};

}  // namespace testing
}  // namespace runtime
}  // namespace executorch
