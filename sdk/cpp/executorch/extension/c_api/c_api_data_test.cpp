// SPDX-License-Identifier: BSD-3-Clause
// Programs with data files through the C interface.
#include "c_api_test_support.h"

using namespace c_api_test;

namespace {

TEST(CApiTest, UsesADataFile) {
  et_options* made = nullptr;
  ASSERT_EQ(et_options_create(&made, nullptr), et_status{ET_STATUS_OK});
  const Options options(made);
  const std::string data = std::string(kCorpusFolder) + "/ptd_portable/_default_external_constant.ptd";
  ASSERT_EQ(et_options_add_data_file(options.get(), data.c_str(), nullptr), et_status{ET_STATUS_OK});
  const Module module = load("ptd_portable", options.get());
  std::vector<float> x(32, 0.5f);
  const Tensor input = wrap(x, {2, 16});
  const auto first = execute(module, "forward", {value_of(input)});
  // The program from memory, in a module that shares it.
  PlacedBytes bytes(bytes_of(program("ptd_portable")), 0);
  const Module from_memory =
      C_API_MAKE(Module, et_module_load_buffer, bytes.data(), bytes.size(), nullptr, nullptr, options.get());
  const Module shared = C_API_MAKE(Module, et_module_share, from_memory.get());
  const auto second = execute(shared, "forward", {value_of(input)});
  EXPECT_EQ(floats(value_at(first, 0).payload.as_tensor), floats(value_at(second, 0).payload.as_tensor));
}

TEST(CApiTest, UsesDataInMemory) {
  const std::string folder = std::string(kCorpusFolder) + "/ptd_portable/";
  std::vector<float> x(32, 0.5f);
  const Tensor input = wrap(x, {2, 16});
  et_options* with_file = nullptr;
  ASSERT_EQ(et_options_create(&with_file, nullptr), et_status{ET_STATUS_OK});
  const Options from_file(with_file);
  const std::string path = folder + "_default_external_constant.ptd";
  ASSERT_EQ(et_options_add_data_file(with_file, path.c_str(), nullptr), et_status{ET_STATUS_OK});
  const std::vector<float> expected =
      floats(value_at(execute(load("ptd_portable", with_file), "forward", {value_of(input)}), 0).payload.as_tensor);

  for (const size_t offset : {0, 1}) {  // in place, and copied
    int released = 0;
    PlacedBytes bytes(bytes_of(path), offset);
    {
      et_options* made = nullptr;
      ASSERT_EQ(et_options_create(&made, nullptr), et_status{ET_STATUS_OK});
      Options options(made);
      ASSERT_EQ(et_options_add_data_buffer(made, bytes.data(), bytes.size(), count_release, &released, nullptr),
                et_status{ET_STATUS_OK});
      Module module = load("ptd_portable", made);
      options.reset();
      const Module shared = C_API_MAKE(Module, et_module_share, module.get());
      module.reset();
      const auto result = execute(shared, "forward", {value_of(input)});
      EXPECT_EQ(floats(value_at(result, 0).payload.as_tensor), expected);
      EXPECT_EQ(released, offset == 0 ? 0 : 1);
    }
    EXPECT_EQ(released, 1);
  }
}

TEST(CApiTest, RefusesDataInMemoryThatIsNotThereAndReleasesIt) {
  int released = 0;
  C_API_EXPECT_ERROR(ET_STATUS_INVALID_ARGUMENT, "options", et_options_add_data_buffer, nullptr, "data", 4,
                     count_release, &released);
  EXPECT_EQ(released, 1);
  et_options* made = nullptr;
  ASSERT_EQ(et_options_create(&made, nullptr), et_status{ET_STATUS_OK});
  const Options options(made);
  C_API_EXPECT_ERROR(ET_STATUS_INVALID_ARGUMENT, "data", et_options_add_data_buffer, made, nullptr, 0, nullptr,
                     nullptr);
  // The content of the bytes is checked only when a module is loaded with them.
  alignas(16) static const char kNotData[64] = "these are bytes of something else";
  ASSERT_EQ(et_options_add_data_buffer(made, kNotData, sizeof(kNotData), nullptr, nullptr, nullptr),
            et_status{ET_STATUS_OK});
  et_module* module = nullptr;
  C_API_EXPECT_ERROR(ET_STATUS_INVALID_EXTERNAL_DATA, "", et_module_load_file, program("ptd_portable").c_str(), made,
                     &module);
}

}  // namespace
