// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/delegate/options.h>

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include <executorch/runtime/platform/runtime.h>

namespace executorch {
namespace extension {
namespace delegate {
namespace {

using runtime::BackendOption;
using runtime::Error;

struct Options {
  bool is_fast = false;
  int threads = 1;
  std::string folder = "none";
  std::string unit;
};

bool is_unit(const std::string& text) {
  return text == "cpu" || text == "gpu";
}

constexpr Option<Options> kOptions[] = {
    {"fast", &Options::is_fast},
    {"threads", &Options::threads, 0, 8, "from 0 to 8"},
    {"folder", &Options::folder},
    {"unit", &Options::unit, "cpu or gpu", is_unit},
};
constexpr OptionTable<Options> kTable("Backend", kOptions);

template <typename T>
BackendOption option(const char* key, const T& value) {
  BackendOption made;
  std::strncpy(made.key, key, runtime::kMaxOptionKeyLength - 1);
  if constexpr (std::is_convertible_v<T, std::string>) {
    made.value = OptionTable<Options>::option_text(value);
  } else {
    made.value = value;
  }
  return made;
}

std::string text_of(const BackendOption& option) {
  return std::get<OptionTable<Options>::Text>(option.value).data();
}

class DelegateOptionsTest : public ::testing::Test {
 protected:
  void SetUp() override { runtime::runtime_init(); }
};

TEST_F(DelegateOptionsTest, ValuesComeBackAsTheyWereSet) {
  Options options;
  const std::vector<BackendOption> all = {option("fast", true), option("threads", 8), option("folder", "/tmp"),
                                          option("unit", "gpu"), option("of_another_backend", 5)};
  EXPECT_EQ(kTable.set({all.data(), all.size()}, options), Error::Ok);
  BackendOption fast = option("fast", false), threads = option("threads", 0), folder = option("folder", ""),
                unknown = option("of_another_backend", 7);
  for (BackendOption* each : {&fast, &threads, &folder, &unknown}) {
    kTable.get(options, *each);
  }
  EXPECT_TRUE(std::get<bool>(fast.value));
  EXPECT_EQ(std::get<int>(threads.value), 8);
  EXPECT_EQ(text_of(folder), "/tmp");
  EXPECT_EQ(std::get<int>(unknown.value), 7);
}

TEST_F(DelegateOptionsTest, OtherTypesAndValuesAreRefused) {
  for (const BackendOption& wrong :
       {option("fast", 1), option("fast", "true"), option("threads", true), option("threads", -1), option("threads", 9),
        option("threads", "1"), option("folder", 1), option("unit", "tpu"), option("unit", false)}) {
    Options options;
    EXPECT_EQ(kTable.set(wrong, options), Error::InvalidArgument) << wrong.key;
    EXPECT_TRUE(!options.is_fast && options.threads == 1 && options.folder == "none" && options.unit.empty());
  }
}

TEST_F(DelegateOptionsTest, TheEmptyTextTakesAChoiceBack) {
  Options options;
  EXPECT_EQ(kTable.set(option("unit", "cpu"), options), Error::Ok);
  EXPECT_EQ(kTable.set(option("unit", ""), options), Error::Ok);
  EXPECT_EQ(options.unit, "");
}

TEST_F(DelegateOptionsTest, AfterAnErrorNoneOfSeveralIsSet) {
  OptionStore<Options> store(kTable);
  const std::vector<BackendOption> some = {option("threads", 4), option("unit", "tpu")};
  EXPECT_EQ(store.set({some.data(), some.size()}), Error::InvalidArgument);
  EXPECT_EQ(store.current().threads, 1);
  EXPECT_EQ(store.set({some.data(), 1}), Error::Ok);
  EXPECT_EQ(store.current().threads, 4);
  std::vector<BackendOption> asked = {option("threads", 0)};
  store.get({asked.data(), asked.size()});
  EXPECT_EQ(std::get<int>(asked[0].value), 4);
}

TEST_F(DelegateOptionsTest, TextsAsLongAsAnOptionMayBe) {
  Options options;
  BackendOption full = option("folder", std::string(runtime::kMaxOptionValueLength + 10, 'x'));
  EXPECT_EQ(kTable.set(full, options), Error::Ok);
  EXPECT_EQ(options.folder, std::string(runtime::kMaxOptionValueLength - 1, 'x'));
  std::get<OptionTable<Options>::Text>(full.value).fill('y');  // without a terminating NUL
  EXPECT_EQ(kTable.set(full, options), Error::Ok);
  EXPECT_EQ(options.folder, std::string(runtime::kMaxOptionValueLength, 'y'));
  kTable.get(options, full);
  EXPECT_EQ(text_of(full), std::string(runtime::kMaxOptionValueLength - 1, 'y'));
}

}  // namespace
}  // namespace delegate
}  // namespace extension
}  // namespace executorch
