// SPDX-License-Identifier: BSD-3-Clause
// Wrong use of the C interface gives an error that says what was expected, and never a crash.
#include <atomic>
#include <cstdlib>
#include <new>
#include <thread>

#include "c_api_test_support.h"
#include "paths.h"

using namespace c_api_test;
using executorch::tests::kCorpusFolder;

namespace {

constexpr et_status kInvalid = ET_STATUS_INVALID_ARGUMENT;

TEST(CApiMisuseTest, NullPointersAreNamed) {
  const Module module = load("add");
  et_module* m = nullptr;
  et_tensor* t = nullptr;
  et_result* r = nullptr;
  et_options* o = nullptr;
  const et_method_meta* meta = nullptr;
  et_value_info info = {};
  const int32_t size = 1;
  C_API_EXPECT_ERROR(kInvalid, "`path`", et_module_load_file, nullptr, nullptr, &m);
  C_API_EXPECT_ERROR(kInvalid, "`out`", et_module_load_file, "x.pte", nullptr, nullptr);
  C_API_EXPECT_ERROR(kInvalid, "`data`", et_module_load_buffer, nullptr, 8, nullptr, nullptr, nullptr, &m);
  C_API_EXPECT_ERROR(kInvalid, "`module`", et_module_share, nullptr, &m);
  C_API_EXPECT_ERROR(kInvalid, "`module`", et_module_load_method, nullptr, "forward");
  C_API_EXPECT_ERROR(kInvalid, "`method`", et_module_load_method, module.get(), nullptr);
  C_API_EXPECT_ERROR(kInvalid, "`module`", et_module_unload_method, nullptr, "forward");
  C_API_EXPECT_ERROR(kInvalid, "`tensor`", et_module_set_output, module.get(), "forward", 0, nullptr);
  C_API_EXPECT_ERROR(kInvalid, "`module`", et_module_execute, nullptr, "forward", nullptr, 0, &r);
  C_API_EXPECT_ERROR(kInvalid, "`inputs`", et_module_execute, module.get(), "forward", nullptr, 2, &r);
  C_API_EXPECT_ERROR(kInvalid, "`module`", et_module_method, nullptr, "forward", &meta);
  C_API_EXPECT_ERROR(kInvalid, "`meta`", et_method_meta_input, nullptr, 0, &info);
  C_API_EXPECT_ERROR(kInvalid, "`out`", et_method_meta_output, et_module_method_at(module.get(), 0), 0, nullptr);
  C_API_EXPECT_ERROR(kInvalid, "`out`", et_options_create, nullptr);
  C_API_EXPECT_ERROR(kInvalid, "`options`", et_options_set_load_mode, o, ET_LOAD_MODE_FILE);
  C_API_EXPECT_ERROR(kInvalid, "`out`", et_tensor_create, ET_DTYPE_FLOAT32, &size, 1, nullptr);
  C_API_EXPECT_ERROR(kInvalid, "`sizes`", et_tensor_create, ET_DTYPE_FLOAT32, nullptr, 1, &t);
  C_API_EXPECT_ERROR(kInvalid, "`data`", et_tensor_wrap, ET_DTYPE_FLOAT32, &size, 1, nullptr, nullptr, 4, nullptr,
                     nullptr, &t);
  C_API_EXPECT_ERROR(kInvalid, "`tensor`", et_tensor_clone, nullptr, &t);
  C_API_EXPECT_ERROR(kInvalid, "`tensor`", et_tensor_resize, nullptr, &size, 1);
  EXPECT_EQ(m, nullptr);
  EXPECT_EQ(t, nullptr);
  EXPECT_EQ(r, nullptr);
}

TEST(CApiMisuseTest, FunctionsWithoutAStatusTakeNull) {
  et_error_free(nullptr);
  et_tensor_free(nullptr);
  et_options_free(nullptr);
  et_module_free(nullptr);
  et_result_free(nullptr);
  EXPECT_EQ(et_error_message(nullptr), nullptr);
  EXPECT_EQ(et_error_status(nullptr), et_status{ET_STATUS_OK});
  EXPECT_EQ(et_tensor_data(nullptr), nullptr);
  EXPECT_EQ(et_tensor_mutable_data(nullptr), nullptr);
  EXPECT_EQ(et_tensor_sizes(nullptr), nullptr);
  EXPECT_EQ(et_tensor_dim_order(nullptr), nullptr);
  EXPECT_EQ(et_tensor_rank(nullptr) + et_tensor_numel(nullptr) + et_tensor_nbytes(nullptr), 0u);
  EXPECT_EQ(et_result_size(nullptr), 0u);
  EXPECT_EQ(et_result_values(nullptr), nullptr);
  EXPECT_EQ(et_module_method_count(nullptr), 0u);
  EXPECT_EQ(et_module_method_at(nullptr, 0), nullptr);
  EXPECT_EQ(et_method_meta_name(nullptr), nullptr);
  EXPECT_EQ(et_method_meta_input_count(nullptr) + et_method_meta_output_count(nullptr), 0u);
  EXPECT_EQ(et_method_meta_backend(nullptr, 0), nullptr);
  EXPECT_EQ(et_method_meta_planned_bytes(nullptr), 0u);
}

TEST(CApiMisuseTest, TensorsThatCannotBe) {
  et_tensor* t = nullptr;
  std::vector<float> data(6);
  const std::vector<int32_t> sizes{2, 3};
  const std::vector<int32_t> negative{2, -3};
  const std::vector<int32_t> huge{INT32_MAX, INT32_MAX, INT32_MAX};
  const std::vector<int32_t> ones(17, 1);
  const uint8_t twice[] = {1, 1};
  const auto wrap_with = [&](et_dtype dtype, const std::vector<int32_t>& of, const uint8_t* order, void* at,
                             size_t bytes, et_error** error) {
    return et_tensor_wrap(dtype, of.data(), of.size(), order, at, bytes, nullptr, nullptr, &t, error);
  };
  C_API_EXPECT_ERROR(kInvalid, "dtype", wrap_with, 999, sizes, nullptr, data.data(), 24);
  C_API_EXPECT_ERROR(kInvalid, "dtype", wrap_with, -1, sizes, nullptr, data.data(), 24);
  C_API_EXPECT_ERROR(kInvalid, "-3", wrap_with, ET_DTYPE_FLOAT32, negative, nullptr, data.data(), 24);
  C_API_EXPECT_ERROR(kInvalid, "more bytes than", wrap_with, ET_DTYPE_FLOAT32, huge, nullptr, data.data(), 24);
  C_API_EXPECT_ERROR(kInvalid, "rank of at most 16", wrap_with, ET_DTYPE_FLOAT32, ones, nullptr, data.data(), 24);
  C_API_EXPECT_ERROR(kInvalid, "24 bytes, found 23", wrap_with, ET_DTYPE_FLOAT32, sizes, nullptr, data.data(), 23);
  C_API_EXPECT_ERROR(kInvalid, "dim order", wrap_with, ET_DTYPE_FLOAT32, sizes, twice, data.data(), 24);
  char* const odd = reinterpret_cast<char*>(data.data()) + 1;
  C_API_EXPECT_ERROR(kInvalid, "multiple of 4", wrap_with, ET_DTYPE_FLOAT32, std::vector<int32_t>{1}, nullptr, odd, 4);
  EXPECT_EQ(t, nullptr);
  const Tensor tensor = wrap(data, {2, 3});
  const std::vector<int32_t> more{3, 3};
  C_API_EXPECT_ERROR(ET_STATUS_NOT_SUPPORTED, "", et_tensor_resize, tensor.get(), more.data(), 2);
  C_API_EXPECT_ERROR(ET_STATUS_NOT_SUPPORTED, "", et_tensor_resize, tensor.get(), more.data(), 1);
}

TEST(CApiMisuseTest, MemoryIsReleasedOnceAlsoAfterAFailure) {
  int released = 0;
  const et_release release = [](void*, void* context) { ++*static_cast<int*>(context); };
  et_tensor* t = nullptr;
  et_module* m = nullptr;
  const int32_t size = 100;
  float value = 0;
  EXPECT_EQ(et_tensor_wrap(ET_DTYPE_FLOAT32, &size, 1, nullptr, &value, 4, release, &released, &t, nullptr), kInvalid);
  EXPECT_EQ(released, 1);
  EXPECT_EQ(et_tensor_wrap(ET_DTYPE_FLOAT32, nullptr, 0, nullptr, &value, 4, release, &released, nullptr, nullptr),
            kInvalid);
  EXPECT_EQ(released, 2);
  alignas(16) char garbage[128] = "no program";
  EXPECT_EQ(et_module_load_buffer(garbage, sizeof(garbage), release, &released, nullptr, &m, nullptr),
            et_status{ET_STATUS_INVALID_PROGRAM});
  EXPECT_EQ(released, 3);
  EXPECT_EQ(et_module_load_buffer(garbage + 1, 100, release, &released, nullptr, &m, nullptr),
            et_status{ET_STATUS_INVALID_PROGRAM});
  EXPECT_EQ(released, 4);
}

TEST(CApiMisuseTest, FilesAndDescriptorsThatAreNoPrograms) {
  et_module* m = nullptr;
  C_API_EXPECT_ERROR(ET_STATUS_ACCESS_FAILED, "/nowhere/x.pte", et_module_load_file, "/nowhere/x.pte", nullptr, &m);
  C_API_EXPECT_ERROR(ET_STATUS_INVALID_PROGRAM, "manifest.json", et_module_load_file,
                     (std::string(kCorpusFolder) + "/add/manifest.json").c_str(), nullptr, &m);
  C_API_EXPECT_ERROR(ET_STATUS_ACCESS_FAILED, "descriptor -1", et_module_load_fd, -1, 0, 0, nullptr, &m);
  std::FILE* const file = std::tmpfile();
  C_API_EXPECT_ERROR(kInvalid, "inside the file", et_module_load_fd, fileno(file), 0, 100, nullptr, &m);
  C_API_EXPECT_ERROR(kInvalid, "inside the file", et_module_load_fd, fileno(file), UINT64_MAX, 0, nullptr, &m);
  std::fclose(file);
}

TEST(CApiMisuseTest, OptionsThatDoNotExist) {
  et_options* made = nullptr;
  ASSERT_EQ(et_options_create(&made, nullptr), et_status{ET_STATUS_OK});
  const Options options(made);
  const std::string long_text(1000, 'x');
  C_API_EXPECT_ERROR(kInvalid, "load mode", et_options_set_load_mode, made, 99);
  C_API_EXPECT_ERROR(kInvalid, "name of a backend", et_options_set_backend_int, made, "", "key", 1);
  C_API_EXPECT_ERROR(kInvalid, "name of a backend", et_options_set_backend_bool, made, long_text.c_str(), "key", true);
  C_API_EXPECT_ERROR(kInvalid, "a key", et_options_set_backend_int, made, "B", long_text.c_str(), 1);
  C_API_EXPECT_ERROR(kInvalid, "at most 255", et_options_set_backend_string, made, "B", "key", long_text.c_str());
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(et_options_set_backend_int(made, std::to_string(i).c_str(), "key", i, nullptr), et_status{ET_STATUS_OK});
  }
  C_API_EXPECT_ERROR(kInvalid, "at most 8 backends", et_options_set_backend_int, made, "ninth", "key", 1);
  C_API_EXPECT_ERROR(kInvalid, "a level", et_set_log_sink, nullptr, nullptr, 17);
}

TEST(CApiMisuseTest, InputsThatDoNotFit) {
  const Module module = load("add");
  std::vector<float> x(6);
  const Tensor good = wrap(x, {2, 3});
  const Tensor turned = wrap(x, {3, 2});
  et_result* r = nullptr;
  const auto run = [&](const std::vector<et_value>& inputs, et_error** error) {
    return et_module_execute(module.get(), "forward", inputs.data(), inputs.size(), &r, error);
  };
  et_value number = {};
  number.tag = ET_TAG_INT;
  et_value unknown = {};
  unknown.tag = 77;
  et_value list = {};
  list.tag = ET_TAG_LIST_INT;
  et_value null_tensor = {};
  null_tensor.tag = ET_TAG_TENSOR;
  et_value null_string = {};
  null_string.tag = ET_TAG_STRING;
  null_string.payload.as_span.size = 3;
  const et_value tensor = value_of(good);
  const std::vector<et_value> one{tensor};
  const std::vector<et_value> wrong_kind{tensor, number};
  C_API_EXPECT_ERROR(kInvalid, "takes 2 inputs, found 1", run, one);
  C_API_EXPECT_ERROR(kInvalid, "must be a Tensor, found Int", run, wrong_kind);
  for (const et_value& value : {unknown, list}) {
    const std::vector<et_value> inputs{tensor, value};
    C_API_EXPECT_ERROR(ET_STATUS_INVALID_TYPE, "input 1", run, inputs);
  }
  for (const et_value& value : {null_tensor, null_string}) {
    const std::vector<et_value> inputs{tensor, value};
    C_API_EXPECT_ERROR(kInvalid, "input 1", run, inputs);
  }
  const std::vector<et_value> wrong_sizes{tensor, value_of(turned)};
  C_API_EXPECT_ERROR(kInvalid, "(2, 3)", run, wrong_sizes);
  C_API_EXPECT_ERROR(kInvalid, "the program has: forward", et_module_execute, module.get(), "backward", nullptr, 0, &r);
  EXPECT_EQ(r, nullptr);
  // The module can still be used.
  const std::vector<et_value> inputs{tensor, tensor};
  EXPECT_EQ(run(inputs, nullptr), et_status{ET_STATUS_OK});
  et_result_free(r);
}

TEST(CApiMisuseTest, ResultsKeepTheirMethodAndTheirTensors) {
  const Module module = load("add");
  std::vector<float> x(6, 2.f);
  const Tensor input = wrap(x, {2, 3});
  auto result = execute(module, "forward", {value_of(input), value_of(input)});
  C_API_EXPECT_ERROR(ET_STATUS_INVALID_STATE, "free them first", et_module_unload_method, module.get(), "forward");
  auto* const output = const_cast<et_tensor*>(value_at(result, 0).payload.as_tensor);
  const int32_t sizes[] = {1, 3};
  C_API_EXPECT_ERROR(ET_STATUS_INVALID_STATE, "belongs to a result", et_tensor_resize, output, sizes, 2);
  C_API_EXPECT_ERROR(kInvalid, "belongs to a result", et_module_set_output, module.get(), "forward", 0, output);
  et_tensor_free(output);
  EXPECT_EQ(floats(value_at(result, 0).payload.as_tensor), std::vector<float>(6, 4.f));
  C_API_EXPECT_ERROR(kInvalid, "memory-planned", et_module_set_output, module.get(), "forward", 0, input.get());
  result.reset();
  EXPECT_EQ(et_module_unload_method(module.get(), "forward", nullptr), et_status{ET_STATUS_OK});
}

TEST(CApiMisuseTest, ACallThatMeetsAnotherIsRefused) {
  const Module module = load("convs");
  const et_method_meta* const meta = et_module_method_at(module.get(), 0);
  std::vector<Tensor> tensors;
  std::vector<et_value> inputs;
  for (size_t i = 0; i < et_method_meta_input_count(meta); ++i) {
    et_value_info info = {};
    ASSERT_EQ(et_method_meta_input(meta, i, &info, nullptr), et_status{ET_STATUS_OK});
    tensors.push_back(C_API_MAKE(Tensor, et_tensor_create, info.dtype, info.sizes, info.rank));
    inputs.push_back(value_of(tensors.back()));
  }
  std::atomic<int> ran{0};
  std::atomic<int> refused{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        et_result* result = nullptr;
        et_error* error = nullptr;  // wanted, so that it is not logged
        const et_status status =
            et_module_execute(module.get(), et_method_meta_name(meta), inputs.data(), inputs.size(), &result, &error);
        et_error_free(error);
        EXPECT_TRUE(status == ET_STATUS_OK || status == ET_STATUS_INVALID_STATE) << et_status_name(status);
        ++(status == ET_STATUS_OK ? ran : refused);
        et_result_free(result);
      }
    });
  }
  for (auto& thread : threads) {
    thread.join();
  }
  EXPECT_GT(ran, 0);
  EXPECT_EQ(ran + refused, 200);
}

TEST(CApiMisuseTest, TextsOfErrorsAreUtf8) {
  const Module module = load("add");
  et_error* error = nullptr;
  const et_method_meta* meta = nullptr;
  EXPECT_EQ(et_module_method(module.get(), "gr\xC3\xBC\xC3\x9F \xFF\xE2\x82 end", &meta, &error), kInvalid);
  EXPECT_NE(take(error).find("gr\xC3\xBC\xC3\x9F ??? end"), std::string::npos);
}

}  // namespace
