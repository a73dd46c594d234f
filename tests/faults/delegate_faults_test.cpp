// SPDX-License-Identifier: BSD-3-Clause
// Allocations that fail in a backend: an error, never an exception, and a delegate that does not load is destroyed.
#include <algorithm>
#include <array>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include <executorch/extension/memory_allocator/load_delegate.h>
#include <executorch/extension/memory_allocator/report_bad_alloc.h>
#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/platform/runtime.h>

#include "faults.h"

namespace {

using executorch::extension::internal::load_delegate;
using executorch::runtime::BackendInitContext;
using executorch::runtime::BackendOption;
using executorch::runtime::BackendOptionContext;
using executorch::runtime::DelegateHandle;
using executorch::runtime::Error;
using executorch::runtime::MemoryAllocator;
using executorch::runtime::Result;
using executorch::runtime::Span;

/// A length that every std::string allocates memory for.
constexpr size_t kLong = 100;

/// Allocates heap memory before and after load().
struct FakeDelegate {
  FakeDelegate() : before(kLong, 'a') {}
  Error load(Error error) {
    after = std::make_unique<std::string>(kLong, 'b');
    return error;
  }
  std::string before;
  std::unique_ptr<std::string> after;
};

class DelegateFaultsTest : public ::testing::Test {
 protected:
  void SetUp() override { executorch::runtime::runtime_init(); }

  Result<DelegateHandle*> make(Error error) {
    MemoryAllocator arena(sizeof(memory_), memory_);
    BackendInitContext context(&arena);
    return load_delegate<FakeDelegate>(context, [&](FakeDelegate* place, FakeDelegate*& delegate) -> Error {
      const std::string options(kLong, 'c');
      delegate = new (place) FakeDelegate;
      return delegate->load(error);
    });
  }

  alignas(16) unsigned char memory_[1024];
};

TEST_F(DelegateFaultsTest, ADelegateThatDoesNotLoadIsDestroyed) {
  size_t failures = 0;
  for (bool met = true; met; ++failures) {
    const long before = faults::live_blocks();
    faults::arm(faults::Kind::kAllocation, failures);
    const auto made = make(Error::Ok);
    met = faults::disarm();
    EXPECT_EQ(made.error(), met ? Error::MemoryAllocationFailed : Error::Ok) << failures;
    if (made.ok()) {
      static_cast<FakeDelegate*>(*made)->~FakeDelegate();
    }
    EXPECT_EQ(faults::live_blocks(), before) << "allocation " << failures;
  }
  EXPECT_EQ(failures, 5u) << "four allocations can fail: of the options, of the constructor, and two of load()";
  const long before = faults::live_blocks();
  EXPECT_EQ(make(Error::InvalidProgram).error(), Error::InvalidProgram);
  EXPECT_EQ(faults::live_blocks(), before);
}

TEST_F(DelegateFaultsTest, AnArenaWithoutMemoryIsAnError) {
  MemoryAllocator arena(0, nullptr);
  BackendInitContext context(&arena);
  const auto made = load_delegate<FakeDelegate>(context, [](FakeDelegate*, FakeDelegate*&) { return Error::Ok; });
  EXPECT_EQ(made.error(), Error::MemoryAllocationFailed);
}

/// Exhausted memory is not reported as a missing backend.
TEST_F(DelegateFaultsTest, AvailabilityOfEveryBackendThatIsLinked) {
  using executorch::extension::internal::is_found;
  EXPECT_TRUE(is_found([] { return Error::Ok; }));
  EXPECT_FALSE(is_found([] { return Error::NotSupported; }));
  EXPECT_FALSE(is_found([]() -> Error { throw std::runtime_error("a driver's error"); }));
  EXPECT_TRUE(is_found([]() -> Error { throw std::bad_alloc(); }));
  for (size_t i = 0; i < executorch::runtime::get_num_registered_backends(); ++i) {
    const auto name = executorch::runtime::get_backend_name(i);
    ASSERT_TRUE(name.ok());
    const auto* const backend = executorch::runtime::get_backend_class(*name);
    ASSERT_NE(backend, nullptr);
    const bool is_available = backend->is_available();
    size_t n = 0;
    for (bool met = true; met; ++n) {
      faults::arm(faults::Kind::kAllocation, n);
      bool is_still_available = false;
      EXPECT_NO_THROW(is_still_available = backend->is_available()) << *name << ", allocation " << n;
      met = faults::disarm();
      EXPECT_TRUE(is_still_available || !is_available) << *name << ", allocation " << n;
    }
  }
}

/// Texts among the options of backends. Backends ignore the keys of others.
constexpr const char* kTextOptions[] = {"cache_dir", "device", "packed_cache_path", "cache_folder"};

TEST_F(DelegateFaultsTest, OptionsOfEveryBackendThatIsLinked) {
  if (executorch::runtime::get_num_registered_backends() == 0) {
    GTEST_SKIP() << "this build has no backend";
  }
  for (size_t i = 0; i < executorch::runtime::get_num_registered_backends(); ++i) {
    const auto name = executorch::runtime::get_backend_name(i);
    ASSERT_TRUE(name.ok());
    auto* const backend = executorch::runtime::get_backend_class(*name);
    ASSERT_NE(backend, nullptr);
    for (const char* key : kTextOptions) {
      BackendOption option{};
      std::copy_n(key, std::char_traits<char>::length(key), option.key);
      std::array<char, executorch::runtime::kMaxOptionValueLength> text{};
      text.fill('x');
      text.back() = '\0';
      option.value = text;
      BackendOptionContext context;
      BackendOption before = option;
      Span<BackendOption> asked(&before, 1);
      ASSERT_EQ(backend->get_option(context, asked), Error::Ok);
      size_t n = 0;
      for (bool met = true; met; ++n) {
        faults::arm(faults::Kind::kAllocation, n);
        Error error = Error::Internal;
        EXPECT_NO_THROW(error = backend->set_option(context, Span<BackendOption>(&option, 1)))
            << *name << ", " << key << ", allocation " << n;
        met = faults::disarm();
        if (met) {
          EXPECT_EQ(error, Error::MemoryAllocationFailed) << *name << ", " << key << ", allocation " << n;
        }
      }
      (void)backend->set_option(context, asked);
    }
  }
}

}  // namespace
