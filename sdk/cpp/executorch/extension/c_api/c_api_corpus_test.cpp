// SPDX-License-Identifier: BSD-3-Clause
// Every program of tests/data/corpus gives the results of PyTorch eager through the C interface.
#include <cmath>
#include <cstring>
#include <set>
#include <sstream>

#include "../../../../../tests/corpus/error_table.h"
#include "c_api_test_support.h"

using namespace c_api_test;
using corpus::position;
using corpus::Value;

namespace {

/// Inputs with the tensors and strings they refer to.
class Inputs {
 public:
  explicit Inputs(const std::vector<Value>& values) {
    for (const Value& value : values) {
      add(value);
    }
  }
  const std::vector<et_value>& values() const { return values_; }

 private:
  void add(const Value& value) {
    et_value result = {};
    if (value.type == "tensor") {
      const auto dtype = static_cast<et_dtype>(value.dtype);
      const size_t item = et_dtype_size(dtype);
      data_.emplace_back(value.data.size() / sizeof(double) + 1);
      auto* const bytes = reinterpret_cast<uint8_t*>(data_.back().data());
      for (size_t i = 0; i < value.data.size() / item; ++i) {
        std::memcpy(bytes + position(i, value.sizes, value.dim_order) * item, &value.data[i * item], item);
      }
      tensors_.push_back(C_API_MAKE(Tensor, et_tensor_wrap, dtype, value.sizes.data(), value.sizes.size(),
                                    value.dim_order.data(), bytes, value.data.size(), nullptr, nullptr));
      result = value_of(tensors_.back());
    } else if (value.type == "int") {
      result.tag = ET_TAG_INT;
      result.payload.as_int = value.integer;
    } else if (value.type == "double") {
      result.tag = ET_TAG_DOUBLE;
      result.payload.as_double = value.real;
    } else if (value.type == "bool") {
      result.tag = ET_TAG_BOOL;
      result.payload.as_bool = value.flag;
    } else if (value.type == "string") {
      result.tag = ET_TAG_STRING;
      result.payload.as_span = {value.text.data(), value.text.size()};
    }
    values_.push_back(result);
  }

  std::vector<et_value> values_;
  std::vector<Tensor> tensors_;
  std::vector<std::vector<double>> data_;  // aligned for every dtype
};

/// An element as a double. float16 is decoded from sign, exponent and fraction (IEEE 754 binary16).
double number(et_dtype dtype, const uint8_t* bytes) {
  if (dtype == ET_DTYPE_FLOAT32) {
    float value;
    std::memcpy(&value, bytes, sizeof(value));
    return value;
  }
  if (dtype == ET_DTYPE_FLOAT64) {
    double value;
    std::memcpy(&value, bytes, sizeof(value));
    return value;
  }
  uint16_t half;
  std::memcpy(&half, bytes, sizeof(half));
  const int exponent = half >> 10 & 31;
  const int fraction = half & 1023;
  const double magnitude = exponent == 31  ? (fraction != 0 ? NAN : INFINITY)
                           : exponent == 0 ? std::ldexp(fraction, -24)
                                           : std::ldexp(1024 + fraction, exponent - 25);
  return half >> 15 != 0 ? -magnitude : magnitude;
}

/// The tolerance relative to the largest element, for sums of a few hundred terms. 0: the elements must be equal.
double tolerance(et_dtype dtype) {
  return dtype == ET_DTYPE_FLOAT16 ? 2e-3 : dtype == ET_DTYPE_FLOAT32 ? 1e-5 : dtype == ET_DTYPE_FLOAT64 ? 1e-12 : 0;
}

/// In this program, eager quantises all activations with one scale, but the backend has a scale for each row.
constexpr const char* kQuantizedByRow = "q8_dynamic_linear_xnn";

void check_tensor(const et_tensor* found, const Value& expected, const std::string& program) {
  const auto dtype = static_cast<et_dtype>(expected.dtype);
  const double relative = program == kQuantizedByRow ? 1e-2 : tolerance(dtype);
  ASSERT_EQ(et_tensor_dtype(found), dtype);
  ASSERT_EQ(std::vector<int32_t>(et_tensor_sizes(found), et_tensor_sizes(found) + et_tensor_rank(found)),
            expected.sizes);
  ASSERT_EQ(et_tensor_nbytes(found), expected.data.size());
  const std::vector<uint8_t> order(et_tensor_dim_order(found), et_tensor_dim_order(found) + et_tensor_rank(found));
  EXPECT_EQ(order, expected.dim_order);
  const size_t item = et_dtype_size(dtype);
  const auto* const bytes = static_cast<const uint8_t*>(et_tensor_data(found));
  double largest = 0;
  for (size_t i = 0; relative > 0 && i < et_tensor_numel(found); ++i) {
    const double value = std::fabs(number(dtype, &expected.data[i * item]));
    largest = std::isfinite(value) ? std::max(largest, value) : largest;
  }
  for (size_t i = 0; i < et_tensor_numel(found); ++i) {
    const uint8_t* const at = bytes + position(i, expected.sizes, order) * item;
    if (relative == 0) {
      ASSERT_EQ(std::memcmp(at, &expected.data[i * item], item), 0) << "element " << i;
      continue;
    }
    const double wanted = number(dtype, &expected.data[i * item]);
    const double value = number(dtype, at);
    if (std::isfinite(wanted)) {
      ASSERT_NEAR(value, wanted, relative * (std::fabs(wanted) + std::min(largest, 1.0))) << "element " << i;
    } else {
      ASSERT_TRUE(std::isnan(wanted) ? std::isnan(value) : value == wanted) << "element " << i << " is " << value;
    }
  }
}

void check(const et_value& found, const Value& expected, const std::string& program) {
  if (expected.type == "tensor") {
    ASSERT_EQ(found.tag, ET_TAG_TENSOR);
    check_tensor(found.payload.as_tensor, expected, program);
  } else if (expected.type == "int") {
    ASSERT_EQ(found.tag, ET_TAG_INT);
    EXPECT_EQ(found.payload.as_int, expected.integer);
  } else if (expected.type == "double") {
    ASSERT_EQ(found.tag, ET_TAG_DOUBLE);
    EXPECT_EQ(found.payload.as_double, expected.real);
  } else if (expected.type == "bool") {
    ASSERT_EQ(found.tag, ET_TAG_BOOL);
    EXPECT_EQ(found.payload.as_bool != 0, expected.flag);
  } else if (expected.type == "string") {
    ASSERT_EQ(found.tag, ET_TAG_STRING);
    EXPECT_EQ(std::string(static_cast<const char*>(found.payload.as_span.data), found.payload.as_span.size),
              expected.text);
  } else {
    EXPECT_EQ(found.tag, ET_TAG_NONE);
  }
}

/// Returns a backend that the method uses and this build lacks; null if there is no such backend.
const char* missing_backend(const et_method_meta* meta) {
  for (size_t i = 0; i < et_method_meta_backend_count(meta); ++i) {
    bool found = false;
    for (size_t k = 0; k < et_backend_count(); ++k) {
      found = found || std::strcmp(et_backend_name(k), et_method_meta_backend(meta, i)) == 0;
    }
    if (!found) {
      return et_method_meta_backend(meta, i);
    }
  }
  return nullptr;
}

class CApiCorpusTest : public ::testing::TestWithParam<std::string> {};

TEST_P(CApiCorpusTest, GivesWhatEagerGave) {
  const corpus::Manifest manifest = corpus::read_manifest(GetParam());
  ASSERT_FALSE(manifest.calls.empty());
  et_options* made = nullptr;
  ASSERT_EQ(et_options_create(&made, nullptr), et_status{ET_STATUS_OK});
  const Options options(made);
  for (const std::string& path : manifest.data_paths) {
    ASSERT_EQ(et_options_add_data_file(made, path.c_str(), nullptr), et_status{ET_STATUS_OK});
  }
  const Module module = C_API_MAKE(Module, et_module_load_file, manifest.program_path.c_str(), made);
  for (const corpus::Call& call : manifest.calls) {
    SCOPED_TRACE(call.method);
    const et_method_meta* meta = nullptr;
    ASSERT_EQ(et_module_method(module.get(), call.method.c_str(), &meta, nullptr), et_status{ET_STATUS_OK});
    if (const char* const backend = missing_backend(meta)) {
      C_API_EXPECT_ERROR(ET_STATUS_NOT_FOUND, backend, et_module_load_method, module.get(), call.method.c_str());
      return;
    }
    const Inputs inputs(call.inputs);
    const auto result = execute(module, call.method.c_str(), inputs.values());
    ASSERT_EQ(et_result_size(result.get()), call.outputs.size());
    for (size_t i = 0; i < call.outputs.size(); ++i) {
      SCOPED_TRACE("output " + std::to_string(i));
      check(value_at(result, i), call.outputs[i], GetParam());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Programs, CApiCorpusTest, ::testing::ValuesIn(corpus::program_names()),
                         [](const auto& info) { return info.param; });

/// Checks that the programs of each backend in this build were run, not skipped.
TEST(CApiCorpusListTest, RunsEveryProgramOfTheBackendsItWasBuiltWith) {
  EXPECT_GE(corpus::program_names().size(), 58u);
  std::set<std::string> found, expected;
  for (size_t i = 0; i < et_backend_count(); ++i) {
    found.insert(et_backend_name(i));
  }
  std::istringstream ids(CORPUS_BACKENDS);
  for (std::string id; std::getline(ids, id, ',');) {
    expected.insert(id);
  }
  EXPECT_EQ(found, expected);
}

/// tests/data/errors.json: a mistake gives the same status and message in every language.
TEST(CApiErrorTableTest, EveryMistakeHasItsStatusAndItsWords) {
  const corpus::ErrorTable table = corpus::read_error_table();
  for (const corpus::Mistake& mistake : table.mistakes) {
    et_module* loaded = nullptr;
    et_error* error = nullptr;
    // The address of an empty program must not be null.
    const void* const bytes = mistake.program.empty() ? static_cast<const void*>("") : mistake.program.data();
    et_status status = et_module_load_buffer(bytes, mistake.program.size(), nullptr, nullptr, nullptr, &loaded, &error);
    const Module module(loaded);
    if (status == ET_STATUS_OK && !mistake.method.empty()) {
      const Inputs inputs(mistake.inputs);
      et_result* result = nullptr;
      status = et_module_execute(module.get(), mistake.method.c_str(), inputs.values().data(), inputs.values().size(),
                                 &result, &error);
      et_result_free(result);
    }
    const std::string text = take(error);
    EXPECT_EQ(et_status_name(status), mistake.error) << mistake.name << ": " << text;
    EXPECT_EQ(status, table.codes.at(mistake.error)) << mistake.name;
    for (const std::string& words : mistake.words) {
      EXPECT_NE(text.find(words), std::string::npos) << mistake.name << ": " << text;
    }
  }
  for (const auto& [name, code] : table.codes) {
    EXPECT_EQ(et_status_name(code), name);
  }
}

}  // namespace
