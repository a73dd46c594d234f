// SPDX-License-Identifier: BSD-3-Clause
// Module runs every program of the original in tests/data/corpus with the results of PyTorch's eager mode.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <executorch/extension/module/module.h>
#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/core/exec_aten/util/scalar_type_util.h>
#include <executorch/runtime/platform/platform.h>

#include "inputs.h"
#include "manifest.h"

using corpus::Inputs;
using corpus::position;
using corpus::Value;
using executorch::aten::ScalarType;
using executorch::aten::Tensor;
using executorch::extension::Module;
using executorch::runtime::elementSize;
using executorch::runtime::Error;
using executorch::runtime::EValue;
using executorch::runtime::get_backend_class;

namespace {

// Programs of backends that a build may lack.
bool lacks_backend(const std::string& program) {
  return program.find("xnn") != std::string::npos && get_backend_class("XnnpackBackend") == nullptr;
}

std::vector<std::string> logged;

void keep_log(et_timestamp_t, et_pal_log_level_t, const char*, const char*, size_t, const char* text, size_t length) {
  logged.emplace_back(text, length);
}

template <typename T>
double element(const uint8_t* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(value));
  return static_cast<double>(value);
}

/// An element of a floating point dtype.
double read_float(ScalarType dtype, const uint8_t* bytes) {
  switch (dtype) {
    case ScalarType::Half:
      return element<executorch::aten::Half>(bytes);
    case ScalarType::Float:
      return element<float>(bytes);
    default:
      return element<double>(bytes);
  }
}

/// The effect of one rounding in a sum of a few hundred terms, relative to the value, or to 1 for smaller values. 0 for
/// other dtypes, whose bytes must be equal.
double tolerance(ScalarType dtype) {
  switch (dtype) {
    case ScalarType::Half:
      return 2e-3;
    case ScalarType::Float:
      return 1e-5;
    case ScalarType::Double:
      return 1e-12;
    default:
      return 0;
  }
}

/// Eager quantises the activations of this program with one scale, the backend each row separately.
constexpr const char kQuantizedByRow[] = "q8_dynamic_linear_xnn";

void check_tensor(const Tensor& found, const Value& expected, const std::string& program) {
  ASSERT_EQ(found.scalar_type(), expected.dtype);
  ASSERT_EQ(std::vector<int32_t>(found.sizes().begin(), found.sizes().end()), expected.sizes);
  ASSERT_EQ(found.nbytes(), expected.data.size());
  const std::vector<uint8_t> order(found.dim_order().begin(), found.dim_order().end());
  EXPECT_EQ(order, expected.dim_order);
  const size_t item = elementSize(expected.dtype);
  const size_t count = expected.data.size() / item;
  const auto* bytes = static_cast<const uint8_t*>(found.const_data_ptr());
  const double relative = program == kQuantizedByRow ? 1e-2 : tolerance(expected.dtype);
  double largest = 0;
  for (size_t i = 0; relative > 0 && i < count; ++i) {
    const double value = std::fabs(read_float(expected.dtype, &expected.data[i * item]));
    largest = std::isfinite(value) ? std::max(largest, value) : largest;
  }
  for (size_t i = 0; i < count; ++i) {
    const uint8_t* at = bytes + position(i, expected.sizes, order) * item;
    if (relative == 0) {
      ASSERT_EQ(std::memcmp(at, &expected.data[i * item], item), 0) << "element " << i;
      continue;
    }
    const double value = read_float(expected.dtype, at);
    const double wanted = read_float(expected.dtype, &expected.data[i * item]);
    if (std::isfinite(wanted)) {
      ASSERT_NEAR(value, wanted, relative * (std::fabs(wanted) + std::min(largest, 1.0))) << "element " << i;
    } else {
      ASSERT_TRUE(std::isnan(wanted) ? std::isnan(value) : value == wanted) << "element " << i << " is " << value;
    }
  }
}

void check(const EValue& found, const Value& expected, const std::string& program) {
  if (expected.type == "tensor") {
    ASSERT_TRUE(found.isTensor());
    check_tensor(found.toTensor(), expected, program);
  } else if (expected.type == "int") {
    ASSERT_TRUE(found.isInt());
    EXPECT_EQ(found.toInt(), expected.integer);
  } else if (expected.type == "double") {
    ASSERT_TRUE(found.isDouble());
    EXPECT_EQ(found.toDouble(), expected.real);
  } else if (expected.type == "bool") {
    ASSERT_TRUE(found.isBool());
    EXPECT_EQ(found.toBool(), expected.flag);
  } else if (expected.type == "string") {
    ASSERT_TRUE(found.isString());
    EXPECT_EQ(std::string(found.toString()), expected.text);
  } else {
    EXPECT_TRUE(found.isNone());
  }
}

/// Fills free blocks of the heap with 0xFF, so that a read of memory that was not initialised gives wrong results.
void dirty_heap() {
  std::vector<std::unique_ptr<uint8_t[]>> blocks;
  for (size_t size = 64; size <= (size_t{1} << 20); size *= 2) {
    for (int i = 0; i < 4; ++i) {
      blocks.emplace_back(new uint8_t[size]);
      std::memset(blocks.back().get(), 0xFF, size);
    }
  }
}

class CorpusTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    static const bool registered =
        executorch::runtime::register_pal(executorch::runtime::PalImpl::create(keep_log, __FILE__));
    ASSERT_TRUE(registered);
    logged.clear();
    dirty_heap();
  }
};

TEST_P(CorpusTest, GivesWhatEagerGave) {
  const corpus::Manifest manifest = corpus::read_manifest(GetParam());
  ASSERT_FALSE(manifest.calls.empty());
  Module module(manifest.program_path, manifest.data_paths);
  if (lacks_backend(GetParam())) {
    EXPECT_EQ(module.load_method(manifest.calls[0].method), Error::NotFound);
    EXPECT_THAT(logged, ::testing::ElementsAre(::testing::HasSubstr("XnnpackBackend")));
    return;
  }
  for (size_t i = 0; i < manifest.calls.size(); ++i) {
    const corpus::Call& call = manifest.calls[i];
    SCOPED_TRACE("call " + std::to_string(i) + " of " + call.method);
    const Inputs inputs(call.inputs);
    const auto outputs = module.execute(call.method, inputs.evalues());
    ASSERT_TRUE(outputs.ok()) << ::testing::PrintToString(logged);
    ASSERT_EQ(outputs->size(), call.outputs.size());
    for (size_t k = 0; k < call.outputs.size(); ++k) {
      SCOPED_TRACE("output " + std::to_string(k));
      check(outputs->at(k), call.outputs[k], GetParam());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Programs, CorpusTest, ::testing::ValuesIn(corpus::program_names()),
                         [](const auto& info) { return info.param; });

TEST(CorpusListTest, HasProgramsWithAndWithoutDelegates) {
  const auto names = corpus::program_names();
  const auto delegated = std::count_if(names.begin(), names.end(),
                                       [](const std::string& name) { return name.find("xnn") != std::string::npos; });
  EXPECT_GE(delegated, 14);
  EXPECT_GE(static_cast<ptrdiff_t>(names.size()) - delegated, 44);
}

// Without this check, programs of a built backend would count as run even if none was.
TEST(CorpusListTest, HasTheBackendsItWasBuiltWith) {
  std::istringstream ids(CORPUS_BACKENDS);
  for (std::string id; std::getline(ids, id, ',');) {
    EXPECT_NE(get_backend_class(id.c_str()), nullptr) << id;
  }
}

}  // namespace
