// SPDX-License-Identifier: BSD-3-Clause
// Functions that take a TensorPtr refuse a null pointer. The rank, the strides and the elements of a tensor are checked
// when it is made.
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <executorch/extension/tensor/tensor.h>
#include <executorch/runtime/platform/runtime.h>

using namespace executorch::extension;  // NOLINT: as the documents' samples do
using executorch::aten::ScalarType;
using executorch::aten::SizesType;

namespace {

using Makers = std::vector<std::function<TensorPtr()>>;

void refuses(const Makers& makers, const std::string& words) {
  executorch::runtime::runtime_init();
  for (size_t i = 0; i < makers.size(); ++i) {
    testing::internal::CaptureStderr();
    EXPECT_EQ(makers[i](), nullptr) << "case " << i;
    EXPECT_THAT(testing::internal::GetCapturedStderr(), testing::HasSubstr(words)) << "case " << i;
  }
}

TEST(RefusedTensorsTest, NullGivesNull) {
  const TensorPtr none;
  refuses({[&] { return make_tensor_ptr(none); }, [&] { return make_tensor_ptr(none, {1}); },
           [&] { return clone_tensor_ptr(none); }, [&] { return clone_tensor_ptr(none, ScalarType::Int); },
           [&] { return empty_like(none); }, [&] { return full_like(none, 1); }, [&] { return ones_like(none); },
           [&] { return zeros_like(none); }, [&] { return zeros_like(none, ScalarType::Int); },
           [&] { return rand_like(none); }, [&] { return randn_like(none); }, [&] { return randint_like(none, 0, 9); }},
          "expected a tensor, found a null pointer");
  const auto other = make_tensor_ptr({2, 3}, std::vector<float>(6, 2.0f));
  EXPECT_EQ(full_like(other, 7)->const_data_ptr<float>()[5], 7.0f);
  EXPECT_EQ(zeros_like(other, ScalarType::Int)->scalar_type(), ScalarType::Int);
}

TEST(RefusedTensorsTest, RanksAboveTheLimitAreRefused) {
  std::vector<SizesType> most(16, 1);
  EXPECT_NE(zeros(most), nullptr);
  const std::vector<SizesType> more(17, 1);
  float element = 1;
  refuses({[&] { return zeros(more); }, [&] { return rand(more); },
           [&] { return make_tensor_ptr(more, std::vector<float>(1)); },
           [&] { return make_tensor_ptr(more, std::vector<uint8_t>(4)); },
           [&] { return make_tensor_ptr(more, std::vector<float>(1), ScalarType::Int); },
           [&] { return from_blob(&element, more); }, [&] { return make_tensor_ptr(zeros(most), more); }},
          "a tensor has at most 16 dimensions, found 17");
}

TEST(RefusedTensorsTest, NumbersBeyondAnIntegerTypeAreRefused) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  refuses({[] { return full({2}, 300, ScalarType::Byte); }, [] { return full({2}, -256, ScalarType::Byte); },
           [] { return full({2}, 128, ScalarType::Char); }, [] { return full({2}, -40000, ScalarType::Short); },
           [] { return full({2}, INT64_MAX, ScalarType::Int); }, [] { return full({2}, 1e10, ScalarType::Int); },
           [] { return full({2}, 127.9, ScalarType::Char); }, [] { return full({2}, -128.9, ScalarType::Char); },
           [] { return full({2}, 255.5, ScalarType::Byte); }, [] { return full({2}, -0.5, ScalarType::Byte); },
           [] { return full({2}, -1.0, ScalarType::Byte); }, [] { return full({2}, kInfinity, ScalarType::Long); },
           [] { return full({2}, 0x1p63, ScalarType::Long); }, [] { return full({2}, std::nan(""), ScalarType::Char); },
           [] { return scalar_tensor(65536, ScalarType::UInt16); }},
          "has no element");
  EXPECT_EQ(full({1}, -1, ScalarType::Byte)->const_data_ptr<uint8_t>()[0], 255) << "wraps, as in PyTorch";
  EXPECT_EQ(full({1}, -2.9, ScalarType::Int)->const_data_ptr<int32_t>()[0], -2);
  EXPECT_EQ(full({1}, -0x1p63, ScalarType::Long)->const_data_ptr<int64_t>()[0], INT64_MIN);
  EXPECT_EQ(full({1}, INT64_MIN, ScalarType::Long)->const_data_ptr<int64_t>()[0], INT64_MIN);
  EXPECT_TRUE(full({1}, 300, ScalarType::Bool)->const_data_ptr<bool>()[0]);
  EXPECT_EQ(full({1}, 1e300)->const_data_ptr<float>()[0], std::numeric_limits<float>::infinity());
}

TEST(RefusedTensorsTest, ComplexTensorsAreFilledWithARealNumber) {
  const TensorPtr tensor = ones({2}, ScalarType::ComplexFloat);
  ASSERT_NE(tensor, nullptr);
  const auto* const parts = static_cast<const float*>(tensor->const_data_ptr());
  EXPECT_THAT(std::vector<float>(parts, parts + 4), testing::ElementsAre(1, 0, 1, 0));
  EXPECT_EQ(zeros({3}, ScalarType::ComplexDouble)->nbytes(), 48u);
}

TEST(RefusedTensorsTest, RandomNumbersOfUnsignedTypesAreDefined) {
  executorch::runtime::runtime_init();
  for (const ScalarType type : {ScalarType::Byte, ScalarType::Char, ScalarType::UInt32, ScalarType::Bool}) {
    EXPECT_NE(randn({1000}, type), nullptr);
  }
}

#if !defined(USE_ATEN_LIB)
/// Strides have 32 bits, also those of tensors without elements.
TEST(RefusedTensorsTest, StridesBeyondTheirTypeAreRefused) {
  uint8_t byte = 0;
  const SizesType most = INT32_MAX;
  refuses({[&] { return empty({0, most, most, most}); }, [&] { return empty({0, 65536, 65536}); },
           [&] { return from_blob(&byte, {1, 65536, 65536}, ScalarType::Byte); },
           [&] { return from_blob(&byte, {2, most, 2}, ScalarType::Byte); }},
          "a stride does not fit 4 bytes");
  EXPECT_NE(from_blob(&byte, {2, most}, ScalarType::Byte), nullptr);
}

/// Code that logs, copies or prints tensors has arrays for the largest rank.
TEST(RefusedTensorsTest, NoTensorWithoutOwnerHasAHigherRank) {
  executorch::runtime::runtime_init();
  std::vector<SizesType> sizes(17, 1);
  float element = 1;
  executorch::aten::TensorImpl impl(ScalarType::Float, 17, sizes.data(), &element);
  EXPECT_EQ(impl.dim(), 1);
  EXPECT_EQ(impl.numel(), 0);
  EXPECT_EQ(clone_tensor_ptr(executorch::aten::Tensor(&impl)), nullptr);
  EXPECT_EQ(executorch::aten::safe_numel(sizes.data(), 17).error(), executorch::runtime::Error::InvalidArgument);
}
#endif

}  // namespace
