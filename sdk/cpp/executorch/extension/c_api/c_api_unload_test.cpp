// SPDX-License-Identifier: BSD-3-Clause
// The shared library of the C interface is opened while the process runs, used on threads, and closed.
#include <cmath>
#include <fstream>
#include <vector>

#include <gtest/gtest.h>

#include <executorch/extension/c_api/executorch.h>
#include <executorch/extension/threadpool/test/unloading.h>

#include "paths.h"

using executorch::tests::kDataFolder;
using executorch::tests::kLibrary;

namespace {

constexpr int32_t kHeight = 64;  // height of the first image of results.bin

std::vector<float> expected_results() {
  std::ifstream file(std::string(kDataFolder) + "/at_once/results.bin", std::ios::binary | std::ios::ate);
  std::vector<float> results(static_cast<size_t>(file.tellg()) / sizeof(float) / 4);
  file.seekg(0).read(reinterpret_cast<char*>(results.data()),
                     static_cast<std::streamsize>(results.size() * sizeof(float)));
  return results;
}

/// The function of the library.
#define FUNCTION(name) auto* const name##_of = reinterpret_cast<decltype(&name)>(dlsym(library, #name))

/// Runs a model on three threads. True if its results are right.
bool use(void* library) {
  FUNCTION(et_set_thread_count);
  FUNCTION(et_module_load_file);
  FUNCTION(et_tensor_wrap);
  FUNCTION(et_module_execute);
  FUNCTION(et_result_values);
  FUNCTION(et_tensor_data);
  FUNCTION(et_tensor_numel);
  FUNCTION(et_result_free);
  FUNCTION(et_tensor_free);
  FUNCTION(et_module_free);
  std::vector<float> image(3 * kHeight * 64);
  for (size_t i = 0; i < image.size(); ++i) {
    image[i] = static_cast<float>(static_cast<int>(7 * i % 13) - 6) / 4;
  }
  const int32_t sizes[] = {1, 3, kHeight, 64};
  et_module* module = nullptr;
  et_tensor* tensor = nullptr;
  et_result* result = nullptr;
  if (et_set_thread_count_of(3, nullptr) != ET_STATUS_OK ||
      et_module_load_file_of((std::string(kDataFolder) + "/at_once/portable.pte").c_str(), nullptr, &module, nullptr) !=
          ET_STATUS_OK ||
      et_tensor_wrap_of(ET_DTYPE_FLOAT32, sizes, 4, nullptr, image.data(), image.size() * sizeof(float), nullptr,
                        nullptr, &tensor, nullptr) != ET_STATUS_OK) {
    return false;
  }
  et_value input{};
  input.tag = ET_TAG_TENSOR;
  input.payload.as_tensor = tensor;
  if (et_module_execute_of(module, "forward", &input, 1, &result, nullptr) != ET_STATUS_OK) {
    return false;
  }
  const et_tensor* const output = et_result_values_of(result)[0].payload.as_tensor;
  const auto* const found = static_cast<const float*>(et_tensor_data_of(output));
  const std::vector<float> expected = expected_results();
  bool is_right = says(et_tensor_numel_of(output) == expected.size(), "the number of results");
  for (size_t i = 0; is_right && i < expected.size(); ++i) {
    is_right = std::abs(found[i] - expected[i]) <= 1e-5f;
  }
  et_result_free_of(result);
  et_tensor_free_of(tensor);
  et_module_free_of(module);
  return is_right;
}

// Each runs in a separate process, whose crash fails the test.
TEST(CApiUnloadTest, ThreadsEndWithTheLibrary) {
  EXPECT_TRUE(holds_in_child([] { return unloads(kLibrary, use); }));
}

TEST(CApiUnloadTest, ThreadsEndWithTheLibraryAfterAFork) {
  for (const bool is_used_in_child : {true, false}) {
    EXPECT_TRUE(holds_in_child([=] { return unloads_after_fork(kLibrary, use, is_used_in_child); }));
  }
}

}  // namespace
