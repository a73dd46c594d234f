// SPDX-License-Identifier: BSD-3-Clause
// Functions that take a TensorPtr refuse a null pointer, and the rank of a tensor is limited when it is made.
#include <functional>
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

#if !defined(USE_ATEN_LIB)
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
