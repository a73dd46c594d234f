// SPDX-License-Identifier: BSD-3-Clause
// Support for tests of the C interface. The tests use executorch.h only, as a binding would.
#pragma once

#include <cstdint>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <executorch/extension/c_api/executorch.h>

#include "paths.h"

namespace c_api_test {

using executorch::tests::kCorpusFolder;

template <auto Function>
struct FreeWith {
  template <typename T>
  void operator()(T* object) const {
    Function(object);
  }
};
using Tensor = std::unique_ptr<et_tensor, FreeWith<et_tensor_free>>;
using Options = std::unique_ptr<et_options, FreeWith<et_options_free>>;
using Module = std::unique_ptr<et_module, FreeWith<et_module_free>>;
using ExecutionResult = std::unique_ptr<et_result, FreeWith<et_result_free>>;

inline std::string program(const std::string& name) {
  return std::string(kCorpusFolder) + "/" + name + "/model.pte";
}

/// The text of an error, which this frees.
inline std::string take(et_error* error) {
  const std::string text = error != nullptr ? et_error_message(error) : "";
  et_error_free(error);
  return text;
}

/// Runs `function(arguments..., &out, &error)`, which must succeed.
#define C_API_MAKE(Type, function, ...)                                              \
  [&] {                                                                              \
    decltype(Type().release()) c_api_made = nullptr;                                 \
    et_error* c_api_error = nullptr;                                                 \
    const et_status c_api_status = function(__VA_ARGS__, &c_api_made, &c_api_error); \
    EXPECT_EQ(c_api_status, et_status{ET_STATUS_OK});                                \
    EXPECT_EQ(take(c_api_error), "");                                                \
    return Type(c_api_made);                                                         \
  }()

/// Checks that `function(arguments..., &error)` fails with a status and a text that has `part`.
#define C_API_EXPECT_ERROR(wanted, part, function, ...)                                   \
  do {                                                                                    \
    et_error* c_api_error = nullptr;                                                      \
    EXPECT_EQ(function(__VA_ARGS__, &c_api_error), et_status{wanted});                    \
    EXPECT_NE(c_api_error, nullptr);                                                      \
    EXPECT_EQ(et_error_status(c_api_error), et_status{wanted});                           \
    const std::string c_api_text = take(c_api_error);                                     \
    EXPECT_NE(c_api_text.find(part), std::string::npos) << "the text is: " << c_api_text; \
  } while (0)

inline Module load(const std::string& name, const et_options* options = nullptr) {
  return C_API_MAKE(Module, et_module_load_file, program(name).c_str(), options);
}

/// A float tensor over `data`, which must outlive it.
inline Tensor wrap(std::vector<float>& data, std::vector<int32_t> sizes) {
  return C_API_MAKE(Tensor, et_tensor_wrap, ET_DTYPE_FLOAT32, sizes.data(), sizes.size(), nullptr, data.data(),
                    data.size() * sizeof(float), nullptr, nullptr);
}

inline et_value value_of(const Tensor& tensor) {
  et_value value = {};
  value.tag = ET_TAG_TENSOR;
  value.payload.as_tensor = tensor.get();
  return value;
}

inline ExecutionResult execute(const Module& module, const char* method, const std::vector<et_value>& inputs) {
  return C_API_MAKE(ExecutionResult, et_module_execute, module.get(), method, inputs.data(), inputs.size());
}

/// The elements of a float tensor.
inline std::vector<float> floats(const et_tensor* tensor) {
  EXPECT_EQ(et_tensor_dtype(tensor), ET_DTYPE_FLOAT32);
  const auto* data = static_cast<const float*>(et_tensor_data(tensor));
  return std::vector<float>(data, data + et_tensor_numel(tensor));
}

inline const et_value& value_at(const ExecutionResult& result, size_t index) {
  EXPECT_LT(index, et_result_size(result.get()));
  return et_result_values(result.get())[index];
}

inline std::vector<char> bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::vector<char>(std::istreambuf_iterator<char>(file), {});
}

/// Bytes of a program at a multiple of 16, or one byte after that.
class PlacedBytes {
 public:
  PlacedBytes(const std::vector<char>& bytes, size_t offset) : storage_(bytes.size() + 32), size_(bytes.size()) {
    const auto address = reinterpret_cast<uintptr_t>(storage_.data());
    start_ = storage_.data() + (16 - address % 16) + offset;
    std::memcpy(start_, bytes.data(), bytes.size());
  }
  void* data() const { return start_; }
  size_t size() const { return size_; }
  void wipe() { std::memset(start_, 0xEE, size_); }

 private:
  std::vector<char> storage_;
  size_t size_;
  char* start_;
};

inline void count_release(void*, void* context) {
  ++*static_cast<int*>(context);
}

/// The text that the callback receive() has received, and when it stops the generation.
struct Answer {
  std::string text;
  size_t pieces = 0;
  size_t most_pieces = 1000;
  std::function<void()> on_piece;
};

inline bool receive(const char* text, size_t size, void* context) {
  auto& answer = *static_cast<Answer*>(context);
  EXPECT_EQ(text[size], '\0');
  answer.text.append(text, size);
  answer.pieces++;
  if (answer.on_piece) {
    answer.on_piece();
  }
  return answer.pieces < answer.most_pieces;
}

}  // namespace c_api_test
