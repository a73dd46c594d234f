// SPDX-License-Identifier: BSD-3-Clause
// Tensors from memory, filled with a number, and random.
#include <numeric>

#include "tensor_test_support.h"

using namespace executorch::extension;  // NOLINT: as the documents' samples do
using executorch::aten::ScalarType;
using executorch::aten::TensorShapeDynamism;
using testing::Each;
using testing::ElementsAre;

using TensorMakerTest = TensorPtrTest;

// TEN-18 to TEN-20
TEST_F(TensorMakerTest, Blobs) {
  double data[] = {1, 2, 3, 4, 5, 6};
  const auto tensor = for_blob(data, {2, 3}, ScalarType::Double)
                          .strides({3, 1})
                          .dynamism(TensorShapeDynamism::STATIC)
                          .make_tensor_ptr();
  EXPECT_EQ(shape_dynamism(tensor), TensorShapeDynamism::STATIC);
  EXPECT_EQ(tensor->mutable_data_ptr(), data);
  float floats[] = {1, 2, 3};
  EXPECT_EQ(from_blob(floats, {3})->scalar_type(), ScalarType::Float);
  bool deleted = false;
  int numbers[] = {1, 2, 3};
  {
    const auto blob = from_blob(numbers, {3}, ScalarType::Int, [&](void*) { deleted = true; });
  }
  EXPECT_TRUE(deleted);
}

// TEN-21 to TEN-24, TEN-28
TEST_F(TensorMakerTest, Filled) {
  EXPECT_THAT(sizes(empty({2, 3})), ElementsAre(2, 3));
  EXPECT_THAT(dim_order(empty_strided({2, 3}, {1, 2})), ElementsAre(1, 0));
  EXPECT_THAT(values<float>(full({2, 3}, 42.0f)), Each(42.0f));
  EXPECT_THAT(values<int64_t>(full({3}, 7, ScalarType::Long)), Each(7));
  EXPECT_THAT(values<bool>(full({2}, true, ScalarType::Bool)), Each(true));
  EXPECT_THAT(values<float>(zeros({2, 3})), Each(0.0f));
  EXPECT_THAT(values<uint8_t>(ones({3, 4}, ScalarType::Byte)), Each(1));
  EXPECT_THAT(values<float>(ones_strided({2, 2}, {1, 2})), Each(1.0f));
  EXPECT_THAT(values<float>(zeros_strided({2, 2}, {1, 2})), Each(0.0f));
  EXPECT_THAT(sizes(empty_like(empty({2, 3}))), ElementsAre(2, 3));
  EXPECT_THAT(values<float>(full_strided({2, 2}, {1, 2}, 4)), Each(4.0f));
  const auto like = full_like(empty_strided({2, 3}, {1, 2}, ScalarType::Int), 5);
  EXPECT_EQ(like->scalar_type(), ScalarType::Int);
  EXPECT_THAT(strides(like), ElementsAre(1, 2));
  EXPECT_THAT(values<int32_t>(like), Each(5));
  EXPECT_EQ(zeros_like(like, ScalarType::Double)->scalar_type(), ScalarType::Double);
  EXPECT_THAT(values<int32_t>(zeros_like(like)), Each(0));
  EXPECT_THAT(values<int32_t>(ones_like(like)), Each(1));
  EXPECT_EQ(scalar_tensor(3.14f)->dim(), 0);
  EXPECT_FLOAT_EQ(scalar_tensor(3.14f)->const_data_ptr<float>()[0], 3.14f);
}

// TEN-25 to TEN-27
TEST_F(TensorMakerTest, Random) {
  const auto uniform = values<float>(rand({1000}));
  EXPECT_THAT(uniform, Each(testing::AllOf(testing::Ge(0.0f), testing::Lt(1.0f))));
  EXPECT_NEAR(std::accumulate(uniform.begin(), uniform.end(), 0.0) / 1000, 0.5, 0.1);  // ten standard errors
  EXPECT_THAT(values<float>(rand_like(empty({100}))), Each(testing::AllOf(testing::Ge(0.0f), testing::Lt(1.0f))));
  const auto normal = values<float>(randn({10000}));
  EXPECT_NEAR(std::accumulate(normal.begin(), normal.end(), 0.0) / 10000, 0.0, 0.1);
  const auto integers = values<int32_t>(randint(0, 10, {1000}));
  EXPECT_THAT(integers, Each(testing::AllOf(testing::Ge(0), testing::Lt(10))));
  EXPECT_THAT(integers, testing::Contains(0));
  EXPECT_THAT(integers, testing::Contains(9));
  EXPECT_THAT(sizes(randn_like(rand({2, 3}))), ElementsAre(2, 3));
  EXPECT_THAT(values<int64_t>(randint_like(empty({100}, ScalarType::Long), -2, 0)),
              Each(testing::AllOf(testing::Ge(-2), testing::Lt(0))));
  EXPECT_EQ(randint_like(rand({2}), 0, 2)->scalar_type(), ScalarType::Float);
}

// A float of [0, 1) rounds to 1 as BFloat16 in 1 of 512 cases, and as Half in 1 of 4096.
TEST_F(TensorMakerTest, RandomNumbersOfFewDigitsAreBelow1) {
  const auto half = values<executorch::aten::Half>(rand({100000}, ScalarType::Half));
  const auto bfloat16 = values<executorch::aten::BFloat16>(rand({20000}, ScalarType::BFloat16));
  float sum = 0;
  for (const auto number : half) {
    const auto value = static_cast<float>(number);
    ASSERT_TRUE(value >= 0 && value < 1) << value;
    sum += value;
  }
  EXPECT_NEAR(sum / static_cast<float>(half.size()), 0.5, 0.01);
  for (const auto number : bfloat16) {
    ASSERT_TRUE(static_cast<float>(number) >= 0 && static_cast<float>(number) < 1) << static_cast<float>(number);
  }
  const auto doubles = values<double>(rand({1000}, ScalarType::Double));
  EXPECT_THAT(doubles, Each(testing::AllOf(testing::Ge(0.0), testing::Lt(1.0))));
  EXPECT_THAT(doubles,
              testing::Contains(testing::ResultOf(
                  [](double x) { return static_cast<double>(static_cast<float>(x)) == x; }, testing::IsFalse())))
      << "with the digits of doubles";
}

// torch.randint raises an error for each of these. They would wrap to other numbers.
TEST_F(TensorMakerTest, RandomIntegersAreInTheRangeOfTheirType) {
  struct Case {
    int64_t low;
    int64_t high;
    ScalarType type;
    bool fits;
  };
  for (const Case& c :
       {Case{0, 256, ScalarType::Byte, true}, Case{0, 257, ScalarType::Byte, false},
        Case{-1, 3, ScalarType::Byte, false}, Case{-128, 128, ScalarType::Char, true},
        Case{-129, 0, ScalarType::Char, false}, Case{0, 32769, ScalarType::Short, false},
        Case{0, int64_t{1} << 31, ScalarType::Int, true}, Case{0, (int64_t{1} << 31) + 1, ScalarType::Int, false},
        Case{INT64_MIN, INT64_MAX, ScalarType::Long, true}, Case{0, 65537, ScalarType::UInt16, false},
        Case{0, int64_t{1} << 32, ScalarType::UInt32, true}, Case{-1, 2, ScalarType::UInt64, false},
        Case{0, INT64_MAX, ScalarType::UInt64, true}, Case{0, 2, ScalarType::Bool, true},
        Case{0, 3, ScalarType::Bool, false}, Case{-65504, 65505, ScalarType::Half, true},
        Case{0, 65506, ScalarType::Half, false}, Case{INT64_MIN, INT64_MAX, ScalarType::Float, true}}) {
    EXPECT_EQ(randint(c.low, c.high, {20}, c.type) != nullptr, c.fits)
        << c.low << " to " << c.high << " of dtype " << static_cast<int>(c.type);
  }
}
