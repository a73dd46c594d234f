// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/delegate/backend.h>

#include <gtest/gtest.h>

#include <cstring>
#include <new>
#include <string>
#include <vector>

#include <executorch/runtime/backend/options.h>
#include <executorch/runtime/core/memory_allocator.h>
#include <executorch/runtime/platform/runtime.h>

namespace executorch {
namespace extension {
namespace delegate {
namespace {

using runtime::BackendExecutionContext;
using runtime::BackendInitContext;
using runtime::BackendOption;
using runtime::BackendOptionContext;
using runtime::CompileSpec;
using runtime::DelegateHandle;
using runtime::Error;
using runtime::EValue;
using runtime::FreeableBuffer;
using runtime::MemoryAllocator;
using runtime::Result;
using runtime::Span;

int living = 0;

struct Delegate {
  explicit Delegate(int factor) : factor(factor) { ++living; }
  ~Delegate() { --living; }
  int factor;
  std::string name = "a name that is long enough for memory of the heap";
};

struct Options {
  int factor = 2;
};
constexpr Option<Options> kOptions[] = {{"factor", &Options::factor, 0, 10, "from 0 to 10"}};
constexpr OptionTable<Options> kTable("Multiplier", kOptions);

/// Multiplies a number; the payload selects a failure.
class Multiplier final : public DelegateBackendWithOptions<Delegate, Options> {
 public:
  Multiplier() : DelegateBackendWithOptions(kTable) {}
  bool is_available() const override { return true; }

 protected:
  Error load(Loading<Delegate>& loading) const override {
    const std::string what(static_cast<const char*>(loading.payload.data()), loading.payload.size());
    if (what == "throws before") {
      throw std::bad_alloc();
    }
    if (what == "throws otherwise") {
      std::vector<int>().at(1);
    }
    const Result<Options> options = options_of(loading.context);
    ET_CHECK_OK_OR_RETURN_ERROR(options.error());
    Delegate& delegate = loading.make(options->factor);
    if (what == "throws after") {
      throw std::bad_alloc();
    }
    delegate.factor += static_cast<int>(loading.compile_specs.size());
    return what == "fails after" ? Error::DelegateInvalidCompatibility : Error::Ok;
  }

  Error run(BackendExecutionContext&, Delegate& delegate, Span<EValue*> args) const override {
    if (args.empty()) {
      throw std::bad_alloc();
    }
    if (args[0]->isNone()) {
      throw 1;
    }
    *args[0] = EValue(args[0]->toInt() * delegate.factor);
    return Error::Ok;
  }
};

class DelegateBackendTest : public ::testing::Test {
 protected:
  void SetUp() override { runtime::runtime_init(); }
  void TearDown() override { EXPECT_EQ(living, 0); }

  Result<DelegateHandle*> init(const std::string& payload, size_t memory = sizeof(memory_),
                               std::vector<BackendOption> specs = {}) {
    MemoryAllocator allocator(static_cast<uint32_t>(memory), memory_);
    BackendInitContext context(&allocator, nullptr, "forward", nullptr, {specs.data(), specs.size()});
    FreeableBuffer buffer(payload.data(), payload.size(), nullptr);
    const CompileSpec spec{"key", {nullptr, 0}};
    return backend_.init(context, &buffer, {&spec, 1});
  }

  static BackendOption factor(int value) {
    BackendOption option;
    std::strcpy(option.key, "factor");
    option.value = value;
    return option;
  }

  int64_t run(DelegateHandle* handle, int64_t number) {
    EValue value(number);
    EValue* const args[] = {&value};
    BackendExecutionContext context;
    EXPECT_EQ(backend_.execute(context, handle, {const_cast<EValue**>(args), 1}), Error::Ok);
    return value.toInt();
  }

  Multiplier backend_;
  alignas(Delegate) uint8_t memory_[256]{};
};

TEST_F(DelegateBackendTest, MakesRunsAndDestroysDelegates) {
  const Result<DelegateHandle*> handle = init("");
  ASSERT_TRUE(handle.ok());
  EXPECT_EQ(living, 1);
  EXPECT_EQ(run(*handle, 5), 15);  // 2 and one compile spec
  backend_.destroy(*handle);
  backend_.destroy(nullptr);
}

TEST_F(DelegateBackendTest, ADelegateThatDoesNotLoadIsDestroyed) {
  EXPECT_EQ(init("fails after").error(), Error::DelegateInvalidCompatibility);
  EXPECT_EQ(living, 0);
}

#if ET_HAS_EXCEPTIONS
TEST_F(DelegateBackendTest, MemoryThatRunsOutIsAnError) {
  EXPECT_EQ(init("throws before").error(), Error::MemoryAllocationFailed);
  EXPECT_EQ(init("throws after").error(), Error::MemoryAllocationFailed);
  EXPECT_EQ(living, 0);
  const Result<DelegateHandle*> handle = init("");
  ASSERT_TRUE(handle.ok());
  BackendExecutionContext context;
  EXPECT_EQ(backend_.execute(context, *handle, {}), Error::MemoryAllocationFailed);
  backend_.destroy(*handle);
}

TEST_F(DelegateBackendTest, AnyOtherExceptionIsAnError) {
  EXPECT_EQ(init("throws otherwise").error(), Error::Internal);
  const Result<DelegateHandle*> handle = init("");
  ASSERT_TRUE(handle.ok());
  EValue none;
  EValue* args[] = {&none};
  BackendExecutionContext context;
  EXPECT_EQ(backend_.execute(context, *handle, {args, 1}), Error::Internal);
  backend_.destroy(*handle);
}
#endif

TEST_F(DelegateBackendTest, AMethodWithoutMemoryGetsNoDelegate) {
  EXPECT_EQ(init("", sizeof(Delegate) - 1).error(), Error::MemoryAllocationFailed);
}

TEST_F(DelegateBackendTest, OptionsHoldForAllOrForOneLoad) {
  BackendOptionContext context;
  BackendOption set = factor(7);
  ASSERT_EQ(backend_.set_option(context, {&set, 1}), Error::Ok);
  const Result<DelegateHandle*> usual = init("");
  EXPECT_EQ(run(*usual, 1), 8);
  backend_.destroy(*usual);
  const Result<DelegateHandle*> changed = init("", sizeof(memory_), {factor(3)});
  EXPECT_EQ(run(*changed, 1), 4);
  backend_.destroy(*changed);
  BackendOption asked = factor(0);
  Span<BackendOption> span(&asked, 1);
  EXPECT_EQ(backend_.get_option(context, span), Error::Ok);
  EXPECT_EQ(std::get<int>(asked.value), 7);
}

TEST_F(DelegateBackendTest, WrongOptionsAreErrorsOfSettingAndOfLoading) {
  BackendOptionContext context;
  BackendOption set = factor(11);
  EXPECT_EQ(backend_.set_option(context, {&set, 1}), Error::InvalidArgument);
  EXPECT_EQ(init("", sizeof(memory_), {set}).error(), Error::InvalidArgument);
}

}  // namespace
}  // namespace delegate
}  // namespace extension
}  // namespace executorch
