// SPDX-License-Identifier: BSD-3-Clause
// ETDumps and bundled programs, and the errors of a library that is built without them.
#include <cstring>
#include <fstream>
#include <iterator>

#include "c_api_test_support.h"
#include "paths.h"

using namespace c_api_test;
using executorch::tests::kCorpusFolder;

namespace {

using Bytes = std::unique_ptr<et_bytes, FreeWith<et_bytes_free>>;

const std::string& bundle_path() {
  static const std::string path = std::string(kCorpusFolder) + "/bundled/model.bpte";
  return path;
}

std::vector<char> bundle_bytes() {
  std::ifstream file(bundle_path(), std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// The message of an optional part of the library: "" if it is built. `error` is a reference because the call in the
/// same list of arguments may set it.
std::string missing(et_status status, et_error* const& error) {
  const std::string text = take(error);
  EXPECT_TRUE(status == ET_STATUS_OK || (status == ET_STATUS_NOT_SUPPORTED && !text.empty())) << text;
  return text;
}

class BundledTest : public ::testing::Test {
 protected:
  void SetUp() override {
    et_module* made = nullptr;
    et_error* error = nullptr;
    const et_status status = et_module_load_bundled_file(bundle_path().c_str(), nullptr, &made, &error);
    module_.reset(made);
    const std::string text = missing(status, error);
    if (!text.empty()) {
      EXPECT_NE(text.find("-DEXECUTORCH_BUILD_DEVTOOLS=ON"), std::string::npos) << text;
      GTEST_SKIP() << text;
    }
  }

  et_status verify(const Module& module, size_t index, double tolerance = 1e-5) {
    return et_module_verify_bundled(module.get(), "forward", index, tolerance, tolerance, nullptr);
  }

  Module module_;
};

TEST_F(BundledTest, EveryCaseGivesWhatItExpects) {
  ASSERT_EQ(et_module_bundled_case_count(module_.get(), "forward"), 3u);
  for (size_t i = 0; i < 3; ++i) {
    const auto result = C_API_MAKE(ExecutionResult, et_module_execute_bundled, module_.get(), "forward", i);
    EXPECT_EQ(et_result_size(result.get()), 1u);
    EXPECT_EQ(verify(module_, i), et_status{ET_STATUS_OK});
  }
}

TEST_F(BundledTest, SaysWhatDiffers) {
  const auto result = C_API_MAKE(ExecutionResult, et_module_execute_bundled, module_.get(), "forward", size_t{0});
  const et_tensor* const output = value_at(result, 0).payload.as_tensor;
  auto* const data = const_cast<float*>(static_cast<const float*>(et_tensor_data(output)));
  data[1] += 0.25f;
  C_API_EXPECT_ERROR(ET_STATUS_NOT_FOUND, "", et_module_verify_bundled, module_.get(), "forward", size_t{0}, 1e-5,
                     1e-5);
  EXPECT_EQ(verify(module_, 0, 1), et_status{ET_STATUS_OK}) << "within the tolerance";
}

TEST_F(BundledTest, ComparesOnlyWhatTheCaseGave) {
  const char* const text = "was not that of case";
  const auto expect_refused = [&](size_t index) {
    C_API_EXPECT_ERROR(ET_STATUS_INVALID_STATE, text, et_module_verify_bundled, module_.get(), "forward", index, 0.,
                       0.);
  };
  expect_refused(0);
  (void)C_API_MAKE(ExecutionResult, et_module_execute_bundled, module_.get(), "forward", size_t{1});
  expect_refused(0);
  std::vector<float> x(4, 1.f);
  const Tensor input = wrap(x, {1, 4});
  (void)execute(module_, "forward", {value_of(input)});
  expect_refused(1);
  (void)C_API_MAKE(ExecutionResult, et_module_execute_bundled, module_.get(), "forward", size_t{1});
  EXPECT_EQ(verify(module_, 1), et_status{ET_STATUS_OK});
  ASSERT_EQ(et_module_unload_method(module_.get(), "forward", nullptr), et_status{ET_STATUS_OK});
  expect_refused(1);
}

TEST_F(BundledTest, RefusesWhatIsNotThere) {
  et_result* result = nullptr;
  C_API_EXPECT_ERROR(ET_STATUS_INVALID_ARGUMENT, "3", et_module_execute_bundled, module_.get(), "forward", size_t{3},
                     &result);
  C_API_EXPECT_ERROR(ET_STATUS_INVALID_ARGUMENT, "no method", et_module_execute_bundled, module_.get(), "none",
                     size_t{0}, &result);
  C_API_EXPECT_ERROR(ET_STATUS_INVALID_ARGUMENT, "tolerances", et_module_verify_bundled, module_.get(), "forward",
                     size_t{0}, -1., 0.);
  EXPECT_EQ(et_module_bundled_case_count(module_.get(), "none"), 0u);
  EXPECT_EQ(et_module_bundled_case_count(module_.get(), nullptr), 0u);
  const Module plain = load("add");
  EXPECT_EQ(et_module_bundled_case_count(plain.get(), "forward"), 0u);
  C_API_EXPECT_ERROR(ET_STATUS_INVALID_STATE, "not a bundled one", et_module_execute_bundled, plain.get(), "forward",
                     size_t{0}, &result);
  et_module* module = nullptr;
  C_API_EXPECT_ERROR(ET_STATUS_NOT_SUPPORTED, "et_module_load_file", et_module_load_bundled_file,
                     program("add").c_str(), nullptr, &module);
  C_API_EXPECT_ERROR(ET_STATUS_ACCESS_FAILED, "/nowhere", et_module_load_bundled_file, "/nowhere.bpte", nullptr,
                     &module);
}

TEST_F(BundledTest, LoadsFromMemoryAndIsShared) {
  std::vector<char> bytes = bundle_bytes();
  int released = 0;
  const auto count = [](void*, void* context) { ++*static_cast<int*>(context); };
  Module module =
      C_API_MAKE(Module, et_module_load_bundled_buffer, bytes.data(), bytes.size(), count, &released, nullptr);
  const Module shared = C_API_MAKE(Module, et_module_share, module.get());
  module.reset();
  const auto result = C_API_MAKE(ExecutionResult, et_module_execute_bundled, shared.get(), "forward", size_t{2});
  EXPECT_EQ(verify(shared, 2), et_status{ET_STATUS_OK});
  EXPECT_EQ(et_module_bundled_case_count(shared.get(), "forward"), 3u);
}

TEST_F(BundledTest, GivesTheMemoryBackAndRefusesDamage) {
  for (const size_t size : {size_t{0}, size_t{7}, size_t{64}, bundle_bytes().size() / 2}) {
    std::vector<char> bytes = bundle_bytes();
    bytes.resize(size);
    bytes.reserve(1);  // otherwise data() of an empty vector may be null
    int released = 0;
    const auto count = [](void*, void* context) { ++*static_cast<int*>(context); };
    et_module* module = nullptr;
    et_error* error = nullptr;
    EXPECT_NE(et_module_load_bundled_buffer(bytes.data(), size, count, &released, nullptr, &module, &error),
              et_status{ET_STATUS_OK});
    EXPECT_NE(take(error), "");
    EXPECT_EQ(released, 1);
  }
}

class EtdumpTest : public ::testing::Test {
 protected:
  void SetUp() override {
    et_options* made = nullptr;
    ASSERT_EQ(et_options_create(&made, nullptr), et_status{ET_STATUS_OK});
    options_.reset(made);
    et_error* error = nullptr;
    const std::string text = missing(et_options_set_etdump(made, true, &error), error);
    EXPECT_EQ(et_has_etdump(), text.empty());
    if (!text.empty()) {
      EXPECT_NE(text.find("-DEXECUTORCH_ENABLE_EVENT_TRACER=ON"), std::string::npos) << text;
      EXPECT_EQ(et_options_set_etdump(made, false, nullptr), et_status{ET_STATUS_OK});
      GTEST_SKIP() << text;
    }
  }

  Options options_;
};

TEST_F(EtdumpTest, RecordsWhatRan) {
  const Module module = load("add", options_.get());
  std::vector<float> x(6, 1.f);
  const Tensor input = wrap(x, {2, 3});
  for (int round = 0; round < 2; ++round) {
    (void)execute(module, "forward", {value_of(input), value_of(input)});
    const Bytes dump = C_API_MAKE(Bytes, et_module_take_etdump, module.get());
    const std::string bytes(static_cast<const char*>(et_bytes_data(dump.get())), et_bytes_size(dump.get()));
    // A size-prefixed flatbuffer with the identifier of the format.
    ASSERT_GT(bytes.size(), 12u);
    EXPECT_EQ(bytes.substr(8, 4), "ED00");
    EXPECT_NE(bytes.find("OPERATOR_CALL"), std::string::npos);
  }
  const Bytes nothing = C_API_MAKE(Bytes, et_module_take_etdump, module.get());
  EXPECT_EQ(et_bytes_size(nothing.get()), 0u);
}

TEST_F(EtdumpTest, IsNotForModulesWithAnEventSink) {
  const et_event_sink sink = [](const et_event*, void*) {};
  C_API_EXPECT_ERROR(ET_STATUS_INVALID_STATE, "or an event sink", et_options_set_event_sink, options_.get(), sink,
                     nullptr, true);
  ASSERT_EQ(et_options_set_etdump(options_.get(), false, nullptr), et_status{ET_STATUS_OK});
  ASSERT_EQ(et_options_set_event_sink(options_.get(), sink, nullptr, true, nullptr), et_status{ET_STATUS_OK});
  C_API_EXPECT_ERROR(ET_STATUS_INVALID_STATE, "event sink", et_options_set_etdump, options_.get(), true);
}

TEST(CApiEtdumpTest, SaysWhenAModuleRecordsNone) {
  const Module module = load("add");
  et_bytes* bytes = nullptr;
  C_API_EXPECT_ERROR(ET_STATUS_INVALID_STATE, "et_options_set_etdump", et_module_take_etdump, module.get(), &bytes);
  EXPECT_EQ(bytes, nullptr);
  EXPECT_EQ(et_bytes_data(nullptr), nullptr);
  EXPECT_EQ(et_bytes_size(nullptr), 0u);
  et_bytes_free(nullptr);
}

}  // namespace
