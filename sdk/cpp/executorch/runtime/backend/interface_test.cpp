// SPDX-License-Identifier: BSD-3-Clause
#include <string>

#include <executorch/runtime/backend/backend_options_map.h>
#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/core/testing_util/error_matchers.h>
#include <executorch/runtime/platform/test/pal_spy.h>
#include <gtest/gtest.h>

using namespace executorch::runtime;
using executorch::runtime::testing::HasError;
using executorch::runtime::testing::IsOkAndHolds;
using ::testing::HasSubstr;

namespace {

class FakeBackend final : public BackendInterface {
 public:
  bool is_available() const override { return true; }
  Result<DelegateHandle*> init(BackendInitContext& context, FreeableBuffer*, ArrayRef<CompileSpec>) const override {
    return context.get_runtime_allocator()->allocate(4);
  }
  Error execute(BackendExecutionContext& context, DelegateHandle*, Span<EValue*>) const override {
    return context.allocate(16) == nullptr ? Error::MemoryAllocationFailed : Error::Ok;
  }
  Error set_option(BackendOptionContext&, const Span<BackendOption>& options) override {
    number_of_options = options.size();
    return Error::Ok;
  }
  Error get_option(BackendOptionContext&, Span<BackendOption>& options) override {
    options[0].value = 42;
    return Error::Ok;
  }
  size_t number_of_options = 0;
};

FakeBackend registered;
const Error registered_by_initialiser = register_backend({"interface_test_backend", &registered});

}  // namespace

// RTB-05, RTB-06
TEST(BackendRegistryTest, FindsBackendsByName) {
  EXPECT_EQ(registered_by_initialiser, Error::Ok);
  EXPECT_EQ(get_backend_class("interface_test_backend"), &registered);
  EXPECT_EQ(get_backend_class("interface_test"), nullptr);
  ASSERT_EQ(get_num_registered_backends(), 1u);
  auto name = get_backend_name(0);
  ASSERT_TRUE(name.ok());
  EXPECT_STREQ(*name, "interface_test_backend");
  PalSpy spy;
  InterceptWith intercept(spy);
  EXPECT_THAT(get_backend_name(1), HasError(Error::InvalidArgument));
}

TEST(BackendRegistryTest, RefusesDuplicatesAndNulls) {
  PalSpy spy;
  InterceptWith intercept(spy);
  FakeBackend other;
  EXPECT_EQ(register_backend({"interface_test_backend", &other}), Error::InvalidArgument);
  EXPECT_THAT(spy.last_log_message_args.message, HasSubstr("interface_test_backend"));
  EXPECT_EQ(register_backend({nullptr, &other}), Error::InvalidArgument);
  EXPECT_EQ(register_backend({"other", nullptr}), Error::InvalidArgument);
  EXPECT_EQ(get_backend_class("interface_test_backend"), &registered);
  EXPECT_EQ(get_backend_class(nullptr), nullptr);
  EXPECT_EQ(set_option(nullptr, {}), Error::InvalidArgument);
  EXPECT_EQ(get_option(nullptr, {}), Error::InvalidArgument);
}

TEST(BackendRegistryTest, OptionsReachTheBackend) {
  BackendOptions<2> options;
  ASSERT_EQ(options.set_option("threads", 4), Error::Ok);
  EXPECT_EQ(set_option("interface_test_backend", options.view()), Error::Ok);
  EXPECT_EQ(registered.number_of_options, 1u);
  EXPECT_EQ(get_option("interface_test_backend", options.view()), Error::Ok);
  int threads = 0;
  EXPECT_EQ(options.get_option("threads", threads), Error::Ok);
  EXPECT_EQ(threads, 42);
  PalSpy spy;
  InterceptWith intercept(spy);
  EXPECT_EQ(set_option("nobody", options.view()), Error::NotFound);
  EXPECT_EQ(get_option("nobody", options.view()), Error::NotFound);
}

TEST(BackendOptionsTest, KeepsThreeKindsOfValues) {
  BackendOptions<3> options;
  EXPECT_EQ(options.set_option("flag", true), Error::Ok);
  EXPECT_EQ(options.set_option("number", 3), Error::Ok);
  EXPECT_EQ(options.set_option("text", "abc"), Error::Ok);
  EXPECT_EQ(options.set_option("number", 4), Error::Ok);
  BackendOptions<3> copy(options);
  bool flag = false;
  int number = 0;
  const char* text = nullptr;
  EXPECT_EQ(copy.get_option("flag", flag), Error::Ok);
  EXPECT_EQ(copy.get_option("number", number), Error::Ok);
  EXPECT_EQ(copy.get_option("text", text), Error::Ok);
  EXPECT_TRUE(flag);
  EXPECT_EQ(number, 4);
  EXPECT_STREQ(text, "abc");
  PalSpy spy;
  InterceptWith intercept(spy);
  EXPECT_EQ(copy.get_option("flag", number), Error::InvalidArgument);
  EXPECT_EQ(copy.get_option("missing", number), Error::NotFound);
  EXPECT_EQ(copy.set_option("fourth", 1), Error::InvalidArgument);
  EXPECT_EQ(copy.set_option("text", static_cast<const char*>(nullptr)), Error::InvalidArgument);
  const std::string long_text(1000, 'x');
  EXPECT_EQ(copy.set_option("text", long_text.c_str()), Error::Ok);
  EXPECT_EQ(copy.get_option("text", text), Error::Ok);
  EXPECT_EQ(std::string(text).size(), kMaxOptionValueLength - 1);
}

TEST(LoadBackendOptionsMapTest, FindsOptionsByBackend) {
  BackendOptions<1> first;
  BackendOptions<1> second;
  ASSERT_EQ(first.set_option("a", 1), Error::Ok);
  ASSERT_EQ(second.set_option("b", true), Error::Ok);
  LoadBackendOptionsMap map;
  EXPECT_EQ(map.set_options("first", first.view()), Error::Ok);
  EXPECT_EQ(map.set_options("second", second.view()), Error::Ok);
  EXPECT_EQ(map.set_options("first", second.view()), Error::Ok);
  EXPECT_EQ(map.size(), 2u);
  EXPECT_TRUE(map.has_options("first"));
  EXPECT_FALSE(map.has_options("third"));
  EXPECT_FALSE(map.has_options(nullptr));
  EXPECT_STREQ(map.get_options("first")[0].key, "b");
  EXPECT_TRUE(map.get_options("third").empty());
  EXPECT_STREQ(map.entry_at(1).backend_id, "second");
  EXPECT_EQ(map.entry_at(2).backend_id, nullptr);
  PalSpy spy;
  InterceptWith intercept(spy);
  EXPECT_EQ(map.set_options(nullptr, first.view()), Error::InvalidArgument);
  EXPECT_EQ(map.set_options("", first.view()), Error::InvalidArgument);
  EXPECT_EQ(map.set_options(std::string(64, 'x').c_str(), first.view()), Error::InvalidArgument);
  for (size_t i = 2; i < LoadBackendOptionsMap::kMaxBackends; ++i) {
    EXPECT_EQ(map.set_options(std::to_string(i).c_str(), first.view()), Error::Ok);
  }
  EXPECT_EQ(map.set_options("one too many", first.view()), Error::InvalidArgument);
}

TEST(BackendContextTest, GivesWhatItHolds) {
  uint8_t pool[16];
  MemoryAllocator allocator(sizeof(pool), pool);
  BackendOptions<2> options;
  ASSERT_EQ(options.set_option("threads", 4), Error::Ok);
  ASSERT_EQ(options.set_option("mode", "fast"), Error::Ok);
  const auto view = options.view();
  BackendInitContext init(&allocator, nullptr, "forward", nullptr, {view.data(), view.size()});
  EXPECT_EQ(init.get_runtime_allocator(), &allocator);
  EXPECT_STREQ(init.get_method_name(), "forward");
  EXPECT_THAT(init.get_runtime_spec<int>("threads"), IsOkAndHolds(4));
  EXPECT_STREQ(*init.get_runtime_spec<const char*>("mode"), "fast");
  EXPECT_THAT(init.get_runtime_spec<bool>("missing"), HasError(Error::NotFound));
  PalSpy spy;
  InterceptWith intercept(spy);
  EXPECT_THAT(init.get_runtime_spec<bool>("threads"), HasError(Error::InvalidArgument));

  BackendExecutionContext empty;
  EXPECT_EQ(empty.allocate(1), nullptr);
  BackendExecutionContext execution(nullptr, &allocator, "forward");
  EXPECT_NE(execution.allocate(8, 1), nullptr);
  EXPECT_EQ(execution.allocate(16, 1), nullptr);
}
