// SPDX-License-Identifier: BSD-3-Clause
// Correct use of the C interface.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <thread>

#include <fcntl.h>
#include <unistd.h>

#include "c_api_test_support.h"
#include "paths.h"

using namespace c_api_test;
using executorch::tests::kCorpusFolder;
using executorch::tests::kDataFolder;

namespace {

/// Checks the result of `add` for 1 to 6 and tens.
void expect_adds(const Module& module) {
  std::vector<float> x{1, 2, 3, 4, 5, 6};
  std::vector<float> y{10, 20, 30, 40, 50, 60};
  const Tensor a = wrap(x, {2, 3});
  const Tensor b = wrap(y, {2, 3});
  const auto result = execute(module, "forward", {value_of(a), value_of(b)});
  ASSERT_EQ(et_result_size(result.get()), 1u);
  ASSERT_EQ(value_at(result, 0).tag, ET_TAG_TENSOR);
  EXPECT_EQ(floats(value_at(result, 0).payload.as_tensor), (std::vector<float>{11, 22, 33, 44, 55, 66}));
}

TEST(CApiTest, VersionIsTheHeaders) {
  EXPECT_EQ(et_c_api_version(), ET_C_API_VERSION);
  EXPECT_EQ(et_c_api_version() >> 16, 1u);
}

TEST(CApiTest, NamesStatusesDtypesAndTags) {
  EXPECT_STREQ(et_status_name(ET_STATUS_INVALID_PROGRAM), "InvalidProgram");
  EXPECT_STREQ(et_status_name(12345), "Unknown");
  EXPECT_STREQ(et_dtype_name(ET_DTYPE_INT64), "Long");
  EXPECT_STREQ(et_dtype_name(-1), "Unknown");
  EXPECT_EQ(et_dtype_size(ET_DTYPE_BFLOAT16), 2u);
  EXPECT_EQ(et_dtype_size(1000), 0u);
  EXPECT_STREQ(et_tag_name(ET_TAG_LIST_OPTIONAL_TENSOR), "ListOptionalTensor");
  EXPECT_STREQ(et_tag_name(-7), "Unknown");
}

TEST(CApiTest, ListsOperators) {
  bool found = false;
  for (size_t i = 0; i < et_operator_count(); ++i) {
    found = found || std::strcmp(et_operator_name(i), "aten::add.out") == 0;
  }
  EXPECT_TRUE(found);
  EXPECT_EQ(et_operator_name(et_operator_count()), nullptr);
  EXPECT_EQ(et_backend_name(et_backend_count()), nullptr);
}

TEST(CApiTest, LoadsFromAFileInEveryMode) {
  for (const et_load_mode mode : {ET_LOAD_MODE_FILE, ET_LOAD_MODE_MMAP, ET_LOAD_MODE_MMAP_USE_MLOCK_IGNORE_ERRORS}) {
    et_options* options = nullptr;
    ASSERT_EQ(et_options_create(&options, nullptr), et_status{ET_STATUS_OK});
    ASSERT_EQ(et_options_set_load_mode(options, mode, nullptr), et_status{ET_STATUS_OK});
    const Module module = load("add", options);
    et_options_free(options);  // the module has copied them
    expect_adds(module);
  }
}

TEST(CApiTest, LoadsFromMemoryInPlaceAndReleasesItAtTheEnd) {
  PlacedBytes bytes(bytes_of(program("add")), 0);
  int released = 0;
  Module module =
      C_API_MAKE(Module, et_module_load_buffer, bytes.data(), bytes.size(), count_release, &released, nullptr);
  expect_adds(module);
  std::vector<float> x(6, 1.f);
  const Tensor a = wrap(x, {2, 3});
  auto result = execute(module, "forward", {value_of(a), value_of(a)});
  module.reset();
  EXPECT_EQ(released, 0);  // the result keeps the module alive
  EXPECT_EQ(floats(value_at(result, 0).payload.as_tensor), std::vector<float>(6, 2.f));
  result.reset();
  EXPECT_EQ(released, 1);
}

TEST(CApiTest, CopiesAProgramThatIsNotAligned) {
  PlacedBytes bytes(bytes_of(program("add")), 1);
  int released = 0;
  const Module module =
      C_API_MAKE(Module, et_module_load_buffer, bytes.data(), bytes.size(), count_release, &released, nullptr);
  EXPECT_EQ(released, 1);
  bytes.wipe();
  expect_adds(module);
}

TEST(CApiTest, LoadsFromARangeOfADescriptorThatIsThenClosed) {
  const std::vector<char> bytes = bytes_of(program("add"));
  for (const size_t before : {size_t{0}, size_t{8192}, size_t{5}}) {
    std::FILE* const file = std::tmpfile();
    ASSERT_NE(file, nullptr);
    const std::string padding(before, 'x');  // unlike a vector, its data() is never null, which fwrite() requires
    std::fwrite(padding.data(), 1, padding.size(), file);
    std::fwrite(bytes.data(), 1, bytes.size(), file);
    std::fwrite("tail", 1, 4, file);
    std::fflush(file);
    const Module module = C_API_MAKE(Module, et_module_load_fd, fileno(file), before, bytes.size(), nullptr);
    std::fclose(file);
    expect_adds(module);
  }
}

TEST(CApiTest, SaysWhatMethodsTakeAndGive) {
  const Module module = load("multi_method");
  EXPECT_EQ(et_module_method_count(module.get()), 8u);
  EXPECT_EQ(et_module_method_at(module.get(), 8), nullptr);
  const et_method_meta* decode = nullptr;
  ASSERT_EQ(et_module_method(module.get(), "decode", &decode, nullptr), et_status{ET_STATUS_OK});
  EXPECT_STREQ(et_method_meta_name(decode), "decode");
  EXPECT_EQ(et_method_meta_input_count(decode), 2u);
  EXPECT_EQ(et_method_meta_output_count(decode), 1u);
  EXPECT_EQ(et_method_meta_backend_count(decode), 0u);
  EXPECT_EQ(et_method_meta_backend(decode, 0), nullptr);
  EXPECT_GT(et_method_meta_planned_bytes(decode), 0u);
  et_value_info info = {};
  ASSERT_EQ(et_method_meta_input(decode, 1, &info, nullptr), et_status{ET_STATUS_OK});
  EXPECT_EQ(info.tag, ET_TAG_TENSOR);
  EXPECT_EQ(info.dtype, ET_DTYPE_FLOAT32);
  ASSERT_EQ(info.rank, 2u);
  EXPECT_EQ(std::vector<int32_t>(info.sizes, info.sizes + 2), (std::vector<int32_t>{2, 4}));
  EXPECT_EQ(std::vector<int>(info.dim_order, info.dim_order + 2), (std::vector<int>{0, 1}));
  EXPECT_EQ(info.nbytes, 32u);
  const et_method_meta* length = nullptr;
  ASSERT_EQ(et_module_method(module.get(), "get_max_seq_len", &length, nullptr), et_status{ET_STATUS_OK});
  ASSERT_EQ(et_method_meta_output(length, 0, &info, nullptr), et_status{ET_STATUS_OK});
  EXPECT_EQ(info.tag, ET_TAG_INT);
  EXPECT_EQ(info.sizes, nullptr);
}

TEST(CApiTest, SharesStateBetweenMethods) {
  const Module module =
      C_API_MAKE(Module, et_module_load_file, (std::string(kDataFolder) + "/shared_state.pte").c_str(), nullptr);
  const std::pair<const char*, float> calls[] = {{"add", 2}, {"mul", 5}, {"add", 1}, {"mul", 3}};
  float count = 1;
  for (const auto& [method, number] : calls) {
    std::vector<float> data{number};
    const Tensor x = wrap(data, {1});
    count = method[0] == 'a' ? count + number : count * number;
    EXPECT_EQ(floats(value_at(execute(module, method, {value_of(x)}), 0).payload.as_tensor)[0], count);
  }
}

TEST(CApiTest, DescribesPlannedBuffersInstructionsAndAttributes) {
  const Module module = load("counter");
  const et_method_meta* const meta = et_module_method_at(module.get(), 0);
  uint64_t planned = 0;
  for (size_t i = 0; i < et_method_meta_planned_buffer_count(meta); ++i) {
    planned += et_method_meta_planned_buffer_bytes(meta, i);
  }
  EXPECT_GT(planned, 0u);
  EXPECT_EQ(planned, et_method_meta_planned_bytes(meta));
  EXPECT_EQ(et_method_meta_planned_buffer_bytes(meta, 1000), 0u);
  EXPECT_GT(et_method_meta_instruction_count(meta), 0u);
  EXPECT_EQ(et_method_meta_instruction_count(nullptr), 0u);
  const size_t attributes = et_method_meta_attribute_count(meta);
  for (size_t i = 0; i < attributes; ++i) {
    et_value_info info = {};
    ASSERT_EQ(et_method_meta_attribute(meta, i, &info, nullptr), et_status{ET_STATUS_OK});
    EXPECT_EQ(info.tag, ET_TAG_TENSOR);
    EXPECT_STRNE(et_method_meta_attribute_name(meta, i), "");
  }
  EXPECT_EQ(et_method_meta_attribute_name(meta, attributes), nullptr);
  et_value_info info = {};
  C_API_EXPECT_ERROR(ET_STATUS_INVALID_ARGUMENT, "", et_method_meta_attribute, meta, attributes, &info);
}

TEST(CApiTest, KnowsWhichMethodsAreLoaded) {
  const Module module = load("multi_method");
  EXPECT_FALSE(et_module_is_method_loaded(module.get(), "use_kv"));
  ASSERT_EQ(et_module_load_method(module.get(), "use_kv", nullptr), et_status{ET_STATUS_OK});
  EXPECT_TRUE(et_module_is_method_loaded(module.get(), "use_kv"));
  ASSERT_EQ(et_module_unload_method(module.get(), "use_kv", nullptr), et_status{ET_STATUS_OK});
  EXPECT_FALSE(et_module_is_method_loaded(module.get(), "use_kv"));
  EXPECT_FALSE(et_module_is_method_loaded(module.get(), "no such method"));
  EXPECT_FALSE(et_module_is_method_loaded(nullptr, "use_kv"));
}

TEST(CApiTest, GivesNumbersBoolsAndStrings) {
  const Module module = load("multi_method");
  EXPECT_EQ(value_at(execute(module, "get_max_seq_len", {}), 0).payload.as_int, 128);
  EXPECT_EQ(value_at(execute(module, "use_kv", {}), 0).payload.as_bool, 1);
  const auto two = execute(module, "get_two", {});
  EXPECT_EQ(value_at(two, 1).tag, ET_TAG_DOUBLE);
  EXPECT_EQ(value_at(two, 1).payload.as_double, 2.5);
}

TEST(CApiTest, WritesAnOutputIntoTheCallersMemory) {
  const Module module = load("no_planned_io");
  const et_method_meta* const meta = et_module_method_at(module.get(), 0);
  et_value_info in = {};
  et_value_info out = {};
  ASSERT_EQ(et_method_meta_input(meta, 0, &in, nullptr), et_status{ET_STATUS_OK});
  ASSERT_EQ(et_method_meta_output(meta, 0, &out, nullptr), et_status{ET_STATUS_OK});
  ASSERT_EQ(out.is_memory_planned, 0u);
  std::vector<et_value> inputs;
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < et_method_meta_input_count(meta); ++i) {
    ASSERT_EQ(et_method_meta_input(meta, i, &in, nullptr), et_status{ET_STATUS_OK});
    tensors.push_back(C_API_MAKE(Tensor, et_tensor_create, in.dtype, in.sizes, in.rank));
    inputs.push_back(value_of(tensors.back()));
  }
  const auto before = execute(module, et_method_meta_name(meta), inputs);
  const std::vector<float> expected = floats(value_at(before, 0).payload.as_tensor);
  Tensor target = C_API_MAKE(Tensor, et_tensor_create, out.dtype, out.sizes, out.rank);
  const void* const memory = et_tensor_data(target.get());
  ASSERT_EQ(et_module_set_output(module.get(), et_method_meta_name(meta), 0, target.get(), nullptr),
            et_status{ET_STATUS_OK});
  target.reset();  // the module keeps its output tensor alive
  const auto after = execute(module, et_method_meta_name(meta), inputs);
  EXPECT_EQ(et_tensor_data(value_at(after, 0).payload.as_tensor), memory);
  EXPECT_EQ(floats(value_at(after, 0).payload.as_tensor), expected);
}

// Outputs that are trained parameters: a run reads the values that were written to them.
TEST(CApiTest, GivesOutputsWithoutARun) {
  const Module module =
      C_API_MAKE(Module, et_module_load_file, (std::string(kDataFolder) + "/training/xor.pte").c_str(), nullptr);
  const auto parameters = C_API_MAKE(ExecutionResult, et_module_outputs, module.get(), "forward");
  ASSERT_EQ(et_result_size(parameters.get()), 10u);  // loss, prediction, four gradients, four parameters
  const et_tensor* const weight = value_at(parameters, 6).payload.as_tensor;
  EXPECT_EQ(std::vector<int32_t>(et_tensor_sizes(weight), et_tensor_sizes(weight) + 2), (std::vector<int32_t>{10, 2}));
  auto* const elements = static_cast<float*>(const_cast<void*>(et_tensor_data(weight)));
  EXPECT_NE(elements[0], 0.0f);

  std::vector<float> x = {1, 0};
  std::vector<int64_t> target = {1};
  const int32_t one = 1;
  const Tensor input = wrap(x, {1, 2});
  const Tensor label =
      C_API_MAKE(Tensor, et_tensor_wrap, ET_DTYPE_INT64, &one, 1, nullptr, target.data(), 8, nullptr, nullptr);
  const auto loss = [&] {
    const auto result = execute(module, "forward", {value_of(input), value_of(label)});
    EXPECT_EQ(et_tensor_data(value_at(result, 6).payload.as_tensor), elements);
    return floats(value_at(result, 0).payload.as_tensor)[0];
  };
  const float before = loss();
  std::fill(elements, elements + 20, 0.0f);
  EXPECT_NE(loss(), before);
  et_result* none = nullptr;
  C_API_EXPECT_ERROR(ET_STATUS_INVALID_ARGUMENT, "no method 'backward'", et_module_outputs, module.get(), "backward",
                     &none);
}

TEST(CApiTest, TakesSmallerSizesWhereTheShapeIsDynamic) {
  const Module module = load("dyn_batch");
  et_value_info info = {};
  ASSERT_EQ(et_method_meta_input(et_module_method_at(module.get(), 0), 0, &info, nullptr), et_status{ET_STATUS_OK});
  Tensor input = C_API_MAKE(Tensor, et_tensor_create, info.dtype, info.sizes, info.rank);
  std::vector<int32_t> sizes(info.sizes, info.sizes + info.rank);
  sizes[0] = 2;
  ASSERT_EQ(et_tensor_resize(input.get(), sizes.data(), sizes.size(), nullptr), et_status{ET_STATUS_OK});
  const auto result = execute(module, "forward", {value_of(input)});
  EXPECT_EQ(et_tensor_sizes(value_at(result, 0).payload.as_tensor)[0], 2);
}

TEST(CApiTest, ClonesAnOutputBeyondTheNextRun) {
  const Module module = load("add");
  std::vector<float> x(6, 1.f);
  const Tensor a = wrap(x, {2, 3});
  const auto result = execute(module, "forward", {value_of(a), value_of(a)});
  const Tensor kept = C_API_MAKE(Tensor, et_tensor_clone, value_at(result, 0).payload.as_tensor);
  x.assign(6, 7.f);
  (void)execute(module, "forward", {value_of(a), value_of(a)});
  EXPECT_EQ(floats(kept.get()), std::vector<float>(6, 2.f));
}

TEST(CApiTest, UnloadsAMethodWithItsState) {
  const Module module = load("counter");
  std::vector<float> x(3, 1.f);
  const Tensor input = wrap(x, {3});
  const auto state_after = [&] {
    const auto result = execute(module, "forward", {value_of(input)});
    return floats(value_at(result, 1).payload.as_tensor);
  };
  const auto first = state_after();
  EXPECT_NE(state_after(), first);
  ASSERT_EQ(et_module_unload_method(module.get(), "forward", nullptr), et_status{ET_STATUS_OK});
  EXPECT_EQ(state_after(), first);
}

TEST(CApiTest, SharedModulesRunInThreadsOfTheirOwn) {
  const Module first = load("linear");
  std::vector<std::thread> threads;
  std::vector<std::vector<float>> outputs(4);
  for (auto& output : outputs) {
    threads.emplace_back([&] {
      const Module module = C_API_MAKE(Module, et_module_share, first.get());
      std::vector<float> x(24, 0.25f);
      const Tensor input = wrap(x, {3, 8});
      for (int run = 0; run < 20; ++run) {
        output = floats(value_at(execute(module, "forward", {value_of(input)}), 0).payload.as_tensor);
      }
    });
  }
  for (auto& thread : threads) {
    thread.join();
  }
  for (const auto& output : outputs) {
    EXPECT_EQ(output, outputs[0]);
  }
}

TEST(CApiTest, SendsTheLogToASink) {
  std::vector<std::string> lines;
  const et_log_sink sink = [](et_log_level level, const char*, size_t, const char* message, void* context) {
    EXPECT_EQ(level, ET_LOG_LEVEL_ERROR);
    et_error* error = nullptr;
    EXPECT_EQ(et_set_log_sink(nullptr, nullptr, 0, &error), et_status{ET_STATUS_INVALID_STATE});
    EXPECT_NE(take(error), "");
    static_cast<std::vector<std::string>*>(context)->push_back(message);
  };
  ASSERT_EQ(et_set_log_sink(sink, &lines, ET_LOG_LEVEL_ERROR, nullptr), et_status{ET_STATUS_OK});
  et_module* module = nullptr;
  EXPECT_EQ(et_module_load_file("/nowhere.pte", nullptr, &module, nullptr), et_status{ET_STATUS_ACCESS_FAILED});
  ASSERT_EQ(et_set_log_sink(nullptr, nullptr, 0, nullptr), et_status{ET_STATUS_OK});
  ASSERT_FALSE(lines.empty());
  EXPECT_NE(lines[0].find("/nowhere.pte"), std::string::npos);
  const size_t before = lines.size();
  EXPECT_NE(et_module_load_file("/nowhere.pte", nullptr, &module, nullptr), et_status{ET_STATUS_OK});
  EXPECT_EQ(lines.size(), before);
}

TEST(CApiTest, ReportsEventsWhereTheyAreBuiltIn) {
  et_options* made = nullptr;
  ASSERT_EQ(et_options_create(&made, nullptr), et_status{ET_STATUS_OK});
  const Options options(made);
  std::vector<std::string> names;
  const et_event_sink sink = [](const et_event* event, void* context) {
    EXPECT_LE(event->start, event->end);
    EXPECT_EQ(event->is_delegate_time, 0u);
    static_cast<std::vector<std::string>*>(context)->push_back(event->name);
  };
  et_error* error = nullptr;
  const et_status status = et_options_set_event_sink(options.get(), sink, &names, true, &error);
  const std::string text = take(error);
  if (status == ET_STATUS_NOT_SUPPORTED) {
    EXPECT_NE(text.find("-DEXECUTORCH_ENABLE_EVENT_TRACER=ON"), std::string::npos);
    GTEST_SKIP() << text;
  }
  ASSERT_EQ(status, et_status{ET_STATUS_OK});
  expect_adds(load("add", options.get()));
  EXPECT_NE(std::find(names.begin(), names.end(), "OPERATOR_CALL"), names.end());
  EXPECT_NE(std::find(names.begin(), names.end(), "Method::execute"), names.end());
}

}  // namespace
