// SPDX-License-Identifier: BSD-3-Clause
#include <memory>
#include <optional>

#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/exec_aten/testing_util/tensor_factory.h>
#include <executorch/runtime/core/testing_util/error_matchers.h>
#include <executorch/runtime/platform/test/pal_spy.h>
#include <gtest/gtest.h>

using namespace executorch::runtime;
using executorch::aten::Scalar;
using executorch::aten::ScalarType;
using executorch::aten::Tensor;
using executorch::runtime::testing::HasError;
using executorch::runtime::testing::IsOkAndHolds;
using executorch::runtime::testing::TensorFactory;

TEST(EValueTest, Scalars) {
  EXPECT_TRUE(EValue().isNone());
  EXPECT_EQ(EValue(int64_t(7)).toInt(), 7);
  EXPECT_EQ(EValue(2.5).toDouble(), 2.5);
  EXPECT_TRUE(EValue(true).toBool());
  EXPECT_EQ(EValue(Scalar(7)).tag, Tag::Int);
  EXPECT_EQ(EValue(Scalar(2.5)).tag, Tag::Double);
  EXPECT_EQ(EValue(Scalar(true)).tag, Tag::Bool);
  EXPECT_EQ(EValue(2.5).toScalar().to<double>(), 2.5);
  EXPECT_TRUE(EValue(int64_t(7)).isScalar());
  EXPECT_FALSE(EValue().isScalar());
}

TEST(EValueTest, WrongTypesAbortOrReturnInvalidType) {
  PalSpy spy;
  {
    InterceptWith intercept(spy);
    EXPECT_THAT(EValue(2.5).tryToInt(), HasError(Error::InvalidType));
    EXPECT_EQ(spy.last_log_message_args.message, "expected an EValue of type Int, found Double (tag 3)");
    EXPECT_THAT(EValue().tryToTensor(), HasError(Error::InvalidType));
    EXPECT_THAT(EValue().tryToScalar(), HasError(Error::InvalidType));
    EXPECT_THAT(EValue(true).tryToDouble(), HasError(Error::InvalidType));
    EXPECT_THAT(EValue(true).tryToString(), HasError(Error::InvalidType));
    EXPECT_THAT(EValue(true).tryToIntList(), HasError(Error::InvalidType));
    EXPECT_THAT(EValue(true).tryToDoubleList(), HasError(Error::InvalidType));
    EXPECT_THAT(EValue(int64_t(1)).tryToBool(), HasError(Error::InvalidType));
    EXPECT_THAT(EValue(int64_t(1)).tryToBoolList(), HasError(Error::InvalidType));
    EXPECT_THAT(EValue(int64_t(1)).tryToTensorList(), HasError(Error::InvalidType));
    EXPECT_THAT(EValue(int64_t(1)).tryToListOptionalTensor(), HasError(Error::InvalidType));
  }
  EXPECT_DEATH((void)EValue(2.5).toInt(), "expected an EValue of type Int, found Double");
  EXPECT_DEATH((void)EValue().toTensor(), "found None");
  EXPECT_DEATH((void)EValue().toScalar(), "found None");
}

TEST(EValueTest, TensorsAreHandles) {
  TensorFactory<ScalarType::Float> tf;
  Tensor tensor = tf.ones({2});
  EValue value(tensor);
  EXPECT_EQ(value.toTensor().unsafeGetTensorImpl(), tensor.unsafeGetTensorImpl());
  const EValue copy(value);
  EXPECT_EQ(copy.toTensor().const_data_ptr(), tensor.const_data_ptr());
  static_assert(std::is_same_v<decltype(value.to<Tensor>()), Tensor&>);
  static_assert(std::is_same_v<decltype(copy.to<Tensor>()), const Tensor&>);
  EValue moved(std::move(value));
  EXPECT_TRUE(value.isNone());
  EXPECT_TRUE(moved.isTensor());
  EXPECT_EQ(std::move(moved).toTensor().numel(), 2);
  EXPECT_TRUE(moved.isNone());
}

TEST(EValueTest, AssignmentReplacesTheTag) {
  TensorFactory<ScalarType::Float> tf;
  EValue value(tf.ones({2}));
  value = EValue(int64_t(4));
  EXPECT_EQ(value.toInt(), 4);
  EValue& alias = value;
  value = alias;
  EXPECT_EQ(value.toInt(), 4);
  value = EValue(tf.ones({3}));
  EXPECT_EQ(value.toTensor().numel(), 3);
}

TEST(EValueTest, SmartPointersAreDereferenced) {
  TensorFactory<ScalarType::Float> tf;
  const EValue value(std::make_shared<Tensor>(tf.ones({2})));
  EXPECT_TRUE(value.isTensor());
  EXPECT_EQ(EValue(std::make_unique<bool>(true)).tag, Tag::Bool);
  static_assert(!std::is_constructible_v<EValue, Tensor*>, "raw pointers to values are refused");
}

TEST(EValueTest, NullSmartPointersAreNoneThatCanBeToldFromOthers) {
  for (const EValue& value : {EValue(std::shared_ptr<Tensor>()), EValue(std::unique_ptr<bool>())}) {
    EXPECT_TRUE(value.isNone());
    EXPECT_TRUE(internal::is_null_pointer(value));
    EXPECT_TRUE(internal::is_null_pointer(EValue(value)));
    EXPECT_THAT(value.tryToTensor(), HasError(Error::InvalidType));
    EXPECT_DEATH(value.toTensor(), "read as Tensor");
  }
  EXPECT_FALSE(internal::is_null_pointer(EValue()));
  EXPECT_FALSE(internal::is_null_pointer(EValue(int64_t{internal::kNullPointer})));
}

TEST(EValueTest, StringsAndPlainLists) {
  ArrayRef<char> text("abc", size_t(3));
  EXPECT_EQ(EValue(&text).toString(), "abc");
  const double doubles[] = {1.5, 2.5};
  ArrayRef<double> double_list(doubles);
  EXPECT_EQ(EValue(&double_list).toDoubleList()[1], 2.5);
  const bool bools[] = {true, false};
  ArrayRef<bool> bool_list(bools);
  EXPECT_FALSE(EValue(&bool_list).toBoolList()[1]);
  EXPECT_EQ(EValue(&bool_list).tag, Tag::ListBool);
  ArrayRef<char>* no_text = nullptr;
  EXPECT_DEATH(EValue{no_text}, "null String");
}

TEST(EValueTest, IntListsFollowTheirValues) {
  EValue values[] = {int64_t(1), int64_t(2)};
  EValue* wrapped[] = {&values[0], &values[1]};
  int64_t unwrapped[2];
  BoxedEvalueList<int64_t> boxed(wrapped, unwrapped, 2);
  const EValue list(&boxed);
  EXPECT_EQ(list.toIntList()[1], 2);
  values[1] = EValue(int64_t(30));
  EXPECT_EQ(list.toIntList()[1], 30);
  values[1] = EValue(2.0);
  PalSpy spy;
  InterceptWith intercept(spy);
  EXPECT_THAT(list.tryToIntList(), HasError(Error::InvalidType));
  wrapped[1] = nullptr;
  EXPECT_THAT(list.tryToIntList(), HasError(Error::InvalidState));
}

TEST(EValueTest, TensorListsMayHaveHoles) {
  TensorFactory<ScalarType::Float> tf;
  EValue tensor(tf.ones({2}));
  EValue none;
  EValue* wrapped[] = {&tensor, nullptr, &none};
  // Uninitialised memory, as the executor hands it over.
  alignas(std::optional<Tensor>) unsigned char storage[3 * sizeof(std::optional<Tensor>)];
  std::fill(std::begin(storage), std::end(storage), 0xff);
  BoxedEvalueList<std::optional<Tensor>> boxed(wrapped, reinterpret_cast<std::optional<Tensor>*>(storage), 3);
  const auto optional_tensors = EValue(&boxed).toListOptionalTensor();
  ASSERT_EQ(optional_tensors.size(), 3u);
  EXPECT_TRUE(optional_tensors[0].has_value());
  EXPECT_FALSE(optional_tensors[1].has_value());
  EXPECT_FALSE(optional_tensors[2].has_value());

  EValue* only_tensors[] = {&tensor, &tensor};
  alignas(Tensor) unsigned char tensor_storage[2 * sizeof(Tensor)];
  BoxedEvalueList<Tensor> tensors(only_tensors, reinterpret_cast<Tensor*>(tensor_storage), 2);
  EXPECT_EQ(EValue(&tensors).toTensorList()[1].numel(), 2);
  EXPECT_DEATH((BoxedEvalueList<int64_t>(nullptr, nullptr, -1)), "0 or more elements");
  EXPECT_DEATH((BoxedEvalueList<int64_t>(nullptr, nullptr, 1)), "needs both arrays");
}

TEST(EValueTest, ConversionsByType) {
  EValue five(int64_t(5));
  EXPECT_EQ(five.to<int64_t>(), 5);
  EXPECT_EQ(five.to<Scalar>().to<int64_t>(), 5);
  EXPECT_EQ(five.to<ScalarType>(), ScalarType::Half);
  EXPECT_EQ(five.to<std::optional<int64_t>>(), std::optional<int64_t>(5));
  EXPECT_EQ(EValue().to<std::optional<int64_t>>(), std::nullopt);
  EXPECT_FALSE(EValue().to<std::optional<Tensor>>().has_value());
  EXPECT_THAT(EValue().tryToOptional<double>(), IsOkAndHolds(std::nullopt));
  EXPECT_THAT(EValue(2.0).tryToOptional<double>(), IsOkAndHolds(std::optional<double>(2.0)));
  EXPECT_THAT(five.tryTo<int64_t>(), IsOkAndHolds(5));
  EXPECT_EQ(EValue(int64_t(1)).to<executorch::aten::Device>().type(), executorch::aten::DeviceType::CUDA);
  EXPECT_EQ(EValue(int64_t(1)).toMemoryFormat(), executorch::aten::MemoryFormat::Preserve);
  EXPECT_EQ(EValue(int64_t(0)).toLayout(), executorch::aten::Layout::Strided);
  PalSpy spy;
  InterceptWith intercept(spy);
  EXPECT_THAT(five.tryTo<double>(), HasError(Error::InvalidType));
  EXPECT_THAT(five.tryTo<std::optional<double>>(), HasError(Error::InvalidType));
  EXPECT_THAT(EValue(int64_t(31)).tryToScalarType(), HasError(Error::InvalidType));
  EXPECT_THAT(EValue(int64_t(2)).tryToMemoryFormat(), HasError(Error::InvalidType));
  EXPECT_THAT(EValue(int64_t(-1)).tryToLayout(), HasError(Error::InvalidType));
  EXPECT_THAT(EValue(int64_t(2)).tryToDevice(), HasError(Error::InvalidType));
}
