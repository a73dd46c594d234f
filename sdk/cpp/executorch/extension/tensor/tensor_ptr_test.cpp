// SPDX-License-Identifier: BSD-3-Clause
#include <limits>
#include <string>
#include <type_traits>

#include <executorch/runtime/core/device_allocator.h>
#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/test/mock_cuda_allocator.h>

#include "tensor_test_support.h"

using namespace executorch::extension;  // NOLINT: as the documents' samples do
using executorch::aten::DimOrderType;
using executorch::aten::ScalarType;
using executorch::aten::SizesType;
using executorch::aten::StridesType;
using executorch::aten::Tensor;
using executorch::aten::TensorShapeDynamism;
using executorch::runtime::Error;
using executorch::runtime::EValue;
using testing::ContainsRegex;
using testing::Each;
using testing::ElementsAre;

#ifndef USE_ATEN_LIB  // an at::Tensor owns its sizes
// TEN-01: a plain tensor owns neither data nor metadata.
TEST_F(TensorPtrTest, TensorsReferToWhatOthersOwn) {
  SizesType size_array[] = {2, 3};
  DimOrderType dim_order_array[] = {0, 1};
  StridesType stride_array[] = {3, 1};
  float data[] = {1, 2, 3, 4, 5, 6};
  executorch::aten::TensorImpl impl(ScalarType::Float, std::size(size_array), size_array, data, dim_order_array,
                                    stride_array);
  const Tensor tensor(&impl);
  EXPECT_EQ(sizeof(tensor), sizeof(void*));
  EXPECT_EQ(tensor.const_data_ptr(), data);
  EXPECT_EQ(tensor.sizes().data(), size_array);
  EXPECT_EQ(tensor.dim_order().data(), dim_order_array);
  EXPECT_EQ(tensor.strides().data(), stride_array);
}
#endif

// TEN-02, TEN-03
TEST_F(TensorPtrTest, OwnsDataOfTheDeducedType) {
  static_assert(std::is_same_v<TensorPtr, std::shared_ptr<Tensor>>);
  const auto tensor = make_tensor_ptr({2, 3}, {1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f});
  EXPECT_EQ(tensor->scalar_type(), ScalarType::Float);
  EXPECT_THAT(sizes(tensor), ElementsAre(2, 3));
  EXPECT_THAT(strides(tensor), ElementsAre(3, 1));
  EXPECT_THAT(dim_order(tensor), ElementsAre(0, 1));
  EXPECT_THAT(values<float>(tensor), ElementsAre(1, 2, 3, 4, 5, 6));
}

// TEN-04, TEN-11
TEST_F(TensorPtrTest, PointersAreNotOwnedVectorsAre) {
  float data[] = {1, 2, 3, 4, 5, 6};
  const auto view = make_tensor_ptr({2, 3}, data);
  view->mutable_data_ptr<float>()[0] = 7;
  EXPECT_EQ(data[0], 7);
  std::vector<float> vector = {1, 2};
  const float* address = vector.data();
  const auto owner = make_tensor_ptr({2}, std::move(vector));
  EXPECT_EQ(owner->const_data_ptr<float>(), address) << "a moved vector is not copied";
}

// TEN-05, TEN-06
TEST_F(TensorPtrTest, ScalarTensors) {
  const auto pi = make_tensor_ptr(3.14);
  EXPECT_EQ(pi->scalar_type(), ScalarType::Double);
  EXPECT_EQ(pi->dim(), 0);
  EXPECT_EQ(pi->numel(), 1);
  EXPECT_EQ(pi->const_data_ptr<double>()[0], 3.14);
  const auto number = make_tensor_ptr(42, ScalarType::Float);
  EXPECT_EQ(number->scalar_type(), ScalarType::Float);
  EXPECT_EQ(number->const_data_ptr<float>()[0], 42.0f);
  EXPECT_EQ(make_tensor_ptr(true)->scalar_type(), ScalarType::Bool);
}

// TEN-07
TEST_F(TensorPtrTest, ConvertsAndInfersOneDimension) {
  const auto tensor = make_tensor_ptr({1, 2, 3, 4, 5, 6}, ScalarType::Double);
  EXPECT_THAT(sizes(tensor), ElementsAre(6));
  EXPECT_THAT(values<double>(tensor), ElementsAre(1, 2, 3, 4, 5, 6));
  const auto half = make_tensor_ptr({1.5f, -2.0f}, ScalarType::Half);
  EXPECT_EQ(static_cast<float>(half->const_data_ptr<executorch::aten::Half>()[1]), -2.0f);
  EXPECT_THAT(values<bool>(make_tensor_ptr({true, false, true})), ElementsAre(true, false, true));
  EXPECT_THAT(values<int64_t>(make_tensor_ptr({true, false}, ScalarType::Long)), ElementsAre(1, 0));
}

// TEN-08, TEN-09
TEST_F(TensorPtrTest, LossyConversionsAreRefused) {
  EXPECT_THAT(refusal([&] { return make_tensor_ptr({1.5f, 2.5f}, ScalarType::Int); }),
              ContainsRegex("Float elements cannot become Int"));
  EXPECT_THAT(refusal([&] { return make_tensor_ptr({1, 2}, ScalarType::Bool); }),
              ContainsRegex("Int elements cannot become Bool"));
}

// TEN-10
TEST_F(TensorPtrTest, BytesAreReinterpreted) {
  const std::vector<int32_t> numbers = {1, -2, 3, 4, 5, 6};
  const auto* bytes = reinterpret_cast<const uint8_t*>(numbers.data());
  const auto tensor = make_tensor_ptr({2, 3}, std::vector<uint8_t>(bytes, bytes + 24), ScalarType::Int);
  EXPECT_THAT(values<int32_t>(tensor), ElementsAre(1, -2, 3, 4, 5, 6));
}

// TEN-10
TEST_F(TensorPtrTest, WrongAmountsOfDataAreRefused) {
  EXPECT_THAT(refusal([&] { return make_tensor_ptr({2, 3}, std::vector<uint8_t>(23), ScalarType::Int); }),
              ContainsRegex("holds 24 bytes, found 23"));
  EXPECT_THAT(refusal([&] { return make_tensor_ptr({2, 3}, {1.0f, 2.0f}); }),
              ContainsRegex("holds 6 elements, found 2"));
  EXPECT_THAT(refusal([&] { return make_tensor_ptr({2, -3}, nullptr); }), ContainsRegex("negative size -3"));
}

// TEN-12, TEN-13
TEST_F(TensorPtrTest, DeleterRunsOnce) {
  int calls = 0;
  auto* data = new double[6]{1, 2, 3, 4, 5, 6};
  {
    auto tensor =
        make_tensor_ptr({2, 3}, data, ScalarType::Double, TensorShapeDynamism::DYNAMIC_BOUND, [&calls](void* pointer) {
          ++calls;
          delete[] static_cast<double*>(pointer);
        });
    const auto shared = tensor;
    tensor.reset();
    EXPECT_EQ(calls, 0);
    EXPECT_EQ(shared->const_data_ptr<double>()[5], 6);
  }
  EXPECT_EQ(calls, 1);
}

// TEN-14
TEST_F(TensorPtrTest, ViewsHaveMetadataOfTheirOwn) {
  auto original = make_tensor_ptr({2, 3}, {1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f});
  auto view = make_tensor_ptr(*original);
  ASSERT_EQ(resize_tensor_ptr(view, {1, 3}), Error::Ok);
  EXPECT_THAT(sizes(original), ElementsAre(2, 3));
  view->mutable_data_ptr<float>()[0] = 9;
  EXPECT_EQ(original->const_data_ptr<float>()[0], 9);
  auto reshaped = make_tensor_ptr(original, {3, 2});
  original.reset();
  EXPECT_THAT(sizes(reshaped), ElementsAre(3, 2));
  EXPECT_EQ(reshaped->const_data_ptr<float>()[5], 6) << "a view of a TensorPtr keeps it alive";
}

TEST_F(TensorPtrTest, ViewsOfAsManyDimensionsKeepTheDimOrder) {
  float data[24] = {};
  const auto last = for_blob(data, {1, 2, 3, 4}).dim_order({0, 2, 3, 1}).make_tensor_ptr();
  const auto same = make_tensor_ptr(last, {1, 2, 3, 4});
  EXPECT_THAT(dim_order(same), ElementsAre(0, 2, 3, 1));
  EXPECT_THAT(strides(same), ElementsAre(24, 1, 8, 2));
  const auto other_sizes = make_tensor_ptr(last, {1, 4, 3, 2});
  EXPECT_THAT(dim_order(other_sizes), ElementsAre(0, 2, 3, 1));
  EXPECT_THAT(strides(other_sizes), ElementsAre(24, 1, 8, 4));
  const auto transposed =
      make_tensor_ptr(make_tensor_ptr({2, 3}, {1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f}), {3, 2}, {1, 0});
  EXPECT_THAT(strides(transposed), ElementsAre(1, 3));
  EXPECT_THAT(dim_order(make_tensor_ptr(transposed, {2, 3})), ElementsAre(1, 0));
  EXPECT_THAT(dim_order(make_tensor_ptr(transposed, {3, 2}, {}, {2, 1})), ElementsAre(0, 1)) << "strides decide";
  const auto flat = make_tensor_ptr(last, {24});
  EXPECT_THAT(dim_order(flat), ElementsAre(0));
  EXPECT_THAT(strides(make_tensor_ptr(last, {2, 3, 4})), ElementsAre(12, 4, 1)) << "another rank is contiguous";
}

TEST_F(TensorPtrTest, FloatsBecomeUnsignedIntegers) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto t32 = make_tensor_ptr({6}, {0.0f, 1.9f, 4.0e9f, -3.0f, 1.0e20f, nan}, ScalarType::UInt32);
  EXPECT_THAT(values<uint32_t>(t32), ElementsAre(0, 1, 4000000000u, 0, UINT32_MAX, 0));
  const auto t16 = make_tensor_ptr({3}, std::vector<double>{65535.5, 65536, 7}, ScalarType::UInt16);
  EXPECT_THAT(values<uint16_t>(t16), ElementsAre(65535, 65535, 7));
  const auto t64 = make_tensor_ptr({2}, {9.2e18f, 2.0e19f}, ScalarType::UInt64);
  EXPECT_THAT(values<uint64_t>(t64), ElementsAre(uint64_t{9200000267938955264u}, UINT64_MAX));
}

TEST_F(TensorPtrTest, ViewsCannotBeLarger) {
  const auto original = make_tensor_ptr({2, 3}, {1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f});
  EXPECT_THAT(refusal([&] { return make_tensor_ptr(*original, {7}); }),
              ContainsRegex("needs 7 elements, the tensor holds 6"));
}

// TEN-15
TEST_F(TensorPtrTest, ClonesAreIndependent) {
  float data[] = {1, 2, 3, 4};
  const auto original = for_blob(data, {1, 2, 1, 2}).strides({4, 1, 4, 2}).make_tensor_ptr();
  const auto clone = clone_tensor_ptr(original);
  data[0] = 9;
  EXPECT_THAT(values<float>(clone), ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(dim_order(clone), dim_order(original));
  EXPECT_THAT(values<double>(clone_tensor_ptr(*original, ScalarType::Double)), ElementsAre(9, 2, 3, 4));
}

// TEN-17
TEST_F(TensorPtrTest, ResizesWithinTheFirstSize) {
  auto tensor = make_tensor_ptr({2, 3}, {1, 2, 3, 4, 5, 6}, ScalarType::Int, TensorShapeDynamism::DYNAMIC_BOUND);
  EXPECT_THAT(values<int32_t>(tensor), ElementsAre(1, 2, 3, 4, 5, 6));
  for (const std::vector<SizesType>& allowed :
       std::vector<std::vector<SizesType>>{{2, 2}, {1, 3}, {3, 2}, {6, 1}, {0, 3}}) {
    ASSERT_EQ(resize_tensor_ptr(tensor, allowed), Error::Ok);
    EXPECT_THAT(sizes(tensor), testing::ElementsAreArray(allowed));
  }
  EXPECT_NE(resize_tensor_ptr(tensor, {7, 1}), Error::Ok);
  EXPECT_NE(resize_tensor_ptr(tensor, {6}), Error::Ok);
  auto fixed = make_tensor_ptr({2}, {1.0f, 2.0f}, {}, {}, ScalarType::Float, TensorShapeDynamism::STATIC);
  EXPECT_NE(resize_tensor_ptr(fixed, {1}), Error::Ok);
}

TEST_F(TensorPtrTest, LayoutsFollowFromStridesOrDimOrder) {
  const auto by_strides = for_blob(nullptr, {1, 3, 4, 5}).strides({60, 1, 15, 3}).make_tensor_ptr();
  EXPECT_THAT(dim_order(by_strides), ElementsAre(0, 2, 3, 1));
  const auto by_dim_order = for_blob(nullptr, {1, 3, 4, 5}).dim_order({0, 2, 3, 1}).make_tensor_ptr();
  EXPECT_THAT(strides(by_dim_order), ElementsAre(60, 1, 15, 3));
}

TEST_F(TensorPtrTest, ImpossibleLayoutsAreRefused) {
  EXPECT_THAT(refusal([&] { return from_blob(nullptr, {2, 3}, std::vector<StridesType>{6, 2}); }),
              ContainsRegex("stride 0 is 6, .* has 3 there|stride 1"));
  EXPECT_THAT(refusal([&] { return for_blob(nullptr, {2, 3}).dim_order({0, 0}).make_tensor_ptr(); }),
              ContainsRegex("lists every dimension"));
  EXPECT_THAT(refusal([&] { return for_blob(nullptr, {2, 3}).dim_order({0}).make_tensor_ptr(); }),
              ContainsRegex("of 2 dimensions, found 1"));
}

TEST_F(TensorPtrTest, NoArgumentEndsTheProcess) {
  const SizesType huge = std::numeric_limits<SizesType>::max();
  const auto no_dtype = static_cast<ScalarType>(100);
  EXPECT_THAT(refusal([&] { return make_tensor_ptr({huge, huge, huge}, nullptr); }), ContainsRegex("overflows"));
  EXPECT_THAT(refusal([&] { return zeros({huge, huge, huge}); }), ContainsRegex("overflows"));
  EXPECT_THAT(refusal([&] { return ones({-1}); }), ContainsRegex("negative size -1"));
  EXPECT_THAT(refusal([&] { return rand({-1}); }), ContainsRegex("negative size -1"));
  EXPECT_THAT(refusal([&] { return make_tensor_ptr({2}, nullptr, no_dtype); }), ContainsRegex("100 is not a dtype"));
  EXPECT_THAT(refusal([&] { return make_tensor_ptr({2}, std::vector<uint8_t>(8), no_dtype); }),
              ContainsRegex("100 is not a dtype"));
  EXPECT_THAT(refusal([&] { return empty({2}, no_dtype); }), ContainsRegex("100 is not a dtype"));
  EXPECT_THAT(refusal([&] { return make_tensor_ptr({2}, {1.0f, 2.0f}, {}, {}, no_dtype); }),
              ContainsRegex("100 is not a dtype"));
  EXPECT_THAT(refusal([&] { return full({2}, 1, ScalarType::QInt8); }), ContainsRegex("QInt8 are not supported"));
  EXPECT_THAT(refusal([&] { return rand({2}, ScalarType::QInt8); }), ContainsRegex("QInt8 are not supported"));
  EXPECT_THAT(refusal([&] { return randint(3, 3, {2}); }), ContainsRegex("low < high, found 3 and 3"));
  EXPECT_THAT(refusal([&] { return from_blob(nullptr, {2, 3}, std::vector<StridesType>{1}); }),
              ContainsRegex("expected 2 strides, found 1"));
  const auto tensor = make_tensor_ptr({1.5f, 2.5f});
  EXPECT_THAT(refusal([&] { return clone_tensor_ptr(*tensor, ScalarType::Int); }), ContainsRegex("cannot become Int"));
  // Sizes whose product is 0 are allowed, however large the others are.
  EXPECT_EQ(make_tensor_ptr({0, huge}, nullptr)->numel(), 0);
}

// TEN-29
TEST_F(TensorPtrTest, ConvertsToEValue) {
  const auto tensor = make_tensor_ptr({2}, {1.0f, 2.0f});
  const std::vector<EValue> inputs = {tensor, 3.0};
  ASSERT_TRUE(inputs[0].isTensor());
  EXPECT_EQ(inputs[0].toTensor().const_data_ptr<float>()[1], 2.0f);
}

// TEN-30
TEST_F(TensorPtrTest, EValuesDoNotKeepTensorsAlive) {
  auto tensor = make_tensor_ptr({2}, {1.0f, 2.0f});
  const std::weak_ptr<Tensor> watch = tensor;
  const EValue value = tensor;
  EXPECT_EQ(tensor.use_count(), 1);
  tensor.reset();
  EXPECT_TRUE(watch.expired());
}

// TEN-16
TEST_F(TensorPtrTest, ShapesMayChangeWithinTheirBounds) {
  EXPECT_EQ(shape_dynamism(zeros({2})), TensorShapeDynamism::DYNAMIC_BOUND);
  auto fixed = zeros({2, 3}, ScalarType::Float, TensorShapeDynamism::STATIC);
  EXPECT_EQ(shape_dynamism(fixed), TensorShapeDynamism::STATIC);
  EXPECT_EQ(resize_tensor_ptr(fixed, {2, 3}), Error::Ok);
  EXPECT_EQ(resize_tensor_ptr(fixed, {3, 2}), Error::NotSupported);
  // No allocator can grow the tensor, so that the first size limits it even if it is unbounded.
  auto unbound = zeros({2, 3}, ScalarType::Float, TensorShapeDynamism::DYNAMIC_UNBOUND);
  EXPECT_EQ(resize_tensor_ptr(unbound, {1, 3}), Error::Ok);
}

TEST_F(TensorPtrTest, Accessor) {
  const auto tensor = zeros({2, 3});
  const auto column_major = make_tensor_ptr({2, 3}, {1.0f, 4.0f, 2.0f, 5.0f, 3.0f, 6.0f}, {1, 0});
  auto accessor = make_tensor_accessor<float, 2>(*column_major);
  ASSERT_TRUE(accessor.ok());
  EXPECT_EQ(accessor.get()[0][2], 3);
  EXPECT_EQ(accessor.get()[1][0], 4);
  accessor.get()[1][0] = 8;
  EXPECT_EQ(column_major->const_data_ptr<float>()[1], 8);
  EXPECT_EQ((make_tensor_accessor<float, 3>(*tensor).error()), Error::InvalidArgument);
  EXPECT_EQ((make_tensor_accessor<int32_t, 2>(*tensor).error()), Error::InvalidArgument);
}

#ifndef USE_ATEN_LIB  // PyTorch's tensors copy themselves to PyTorch's devices
TEST_F(TensorPtrTest, CopiesToDevicesAndBack) {
  executorch::runtime::runtime_init();
  const auto cpu = make_tensor_ptr({2, 2}, {1.0f, 2.0f, 3.0f, 4.0f});
  const executorch::aten::Device device(executorch::aten::DeviceType::CUDA, 1);
  EXPECT_EQ(clone_tensor_ptr_to(cpu, device), nullptr) << "there is no such device";
  EXPECT_EQ(clone_tensor_ptr_to(nullptr, device), nullptr);

  static executorch::runtime::testing::MockCudaAllocator allocator;
  executorch::runtime::register_device_allocator(&allocator);
  auto there = clone_tensor_ptr_to(cpu, device);
  ASSERT_NE(there, nullptr);
  EXPECT_EQ(there->device(), device);
  EXPECT_TRUE(allocator.is_device_ptr(there->const_data_ptr()));
  EXPECT_EQ(allocator.last_allocate_index_, 1);
  const auto other = clone_tensor_ptr_to(there, executorch::aten::Device(executorch::aten::DeviceType::CUDA, 0));
  ASSERT_NE(other, nullptr);
  EXPECT_NE(other->const_data_ptr(), there->const_data_ptr());
  there.reset();
  EXPECT_EQ(allocator.deallocate_count_, 1) << "the copy owns its memory";
  const auto back = clone_tensor_ptr_to(other, executorch::aten::Device(executorch::aten::DeviceType::CPU));
  ASSERT_NE(back, nullptr);
  ASSERT_EQ(back->numel(), 4);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(back->const_data_ptr<float>()[i], static_cast<float>(i + 1));
  }
  for (const auto& target : {device, executorch::aten::Device(executorch::aten::DeviceType::CPU)}) {
    const auto empty_copy = clone_tensor_ptr_to(zeros({0, 3}), target);
    ASSERT_NE(empty_copy, nullptr) << "a tensor without elements has no data";
    EXPECT_THAT(sizes(empty_copy), ElementsAre(0, 3));
    EXPECT_EQ(empty_copy->device(), target);
  }
}
#endif
