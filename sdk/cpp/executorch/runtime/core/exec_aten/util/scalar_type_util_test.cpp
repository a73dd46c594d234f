// SPDX-License-Identifier: BSD-3-Clause
#include <vector>

#include <executorch/runtime/core/exec_aten/util/scalar_type_util.h>
#include <executorch/runtime/kernel/kernel_runtime_context.h>
#include <executorch/runtime/platform/test/pal_spy.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace executorch::runtime;
using executorch::aten::ScalarType;

namespace {
const ScalarType kAll[] = {
#define LIST_TYPE(ctype, name) ScalarType::name,
    ET_FORALL_SCALAR_TYPES(LIST_TYPE)
#undef LIST_TYPE
};
}  // namespace

TEST(ScalarTypeTest, NumbersAreThoseOfTheProgramFormat) {
  EXPECT_EQ(static_cast<int>(ScalarType::Byte), 0);
  EXPECT_EQ(static_cast<int>(ScalarType::Half), 5);
  EXPECT_EQ(static_cast<int>(ScalarType::Bool), 11);
  EXPECT_EQ(static_cast<int>(ScalarType::BFloat16), 15);
  EXPECT_EQ(static_cast<int>(ScalarType::Bits16), 22);
  EXPECT_EQ(static_cast<int>(ScalarType::Float8_e4m3fnuz), 26);
  EXPECT_EQ(static_cast<int>(ScalarType::UInt64), 29);
  EXPECT_EQ(static_cast<int>(ScalarType::Undefined), 30);
  EXPECT_EQ(static_cast<int>(ScalarType::NumOptions), 31);
}

TEST(ScalarTypeTest, SizesAndNames) {
  EXPECT_EQ(elementSize(ScalarType::Bool), 1u);
  EXPECT_EQ(elementSize(ScalarType::BFloat16), 2u);
  EXPECT_EQ(elementSize(ScalarType::ComplexHalf), 4u);
  EXPECT_EQ(elementSize(ScalarType::ComplexDouble), 16u);
  EXPECT_EQ(elementSize(ScalarType::QUInt4x2), 1u);
  EXPECT_EQ(elementSize(ScalarType::UInt64), 8u);
  EXPECT_STREQ(toString(ScalarType::Float8_e5m2), "Float8_e5m2");
  EXPECT_STREQ(toString(static_cast<ScalarType>(77)), "UNKNOWN_SCALAR");
  EXPECT_FALSE(isValid(ScalarType::Undefined));
  EXPECT_FALSE(isValid(static_cast<ScalarType>(-1)));
  EXPECT_DEATH(elementSize(ScalarType::Undefined), "element type");
}

TEST(ScalarTypeTest, EveryTypeIsInOneClass) {
  for (const ScalarType t : kAll) {
    const int classes = isIntegralType(t, true) + isFloatingType(t) + isComplexType(t) + isQIntType(t) + isBitsType(t) +
                        isFloat8Type(t) + isBarebonesUnsignedType(t);
    EXPECT_EQ(classes, 1) << toString(t);
    EXPECT_EQ(toUnderlying(toQIntType(t)), toUnderlying(t)) << toString(t);
  }
  EXPECT_TRUE(isSignedType(ScalarType::Half));
  EXPECT_FALSE(isSignedType(ScalarType::UInt16));
  EXPECT_FALSE(isSignedType(ScalarType::Bool));
  EXPECT_TRUE(isUnderlying(ScalarType::Char, ScalarType::QInt8));
}

// Expected values: torch.promote_types of PyTorch 2.13 for every pair of its ordinary dtypes, in the order of
// kOrdinary.
TEST(PromotionTest, MatchesPyTorch) {
  using T = ScalarType;
  const T kOrdinary[] = {T::Byte,   T::Char,        T::Short,        T::Int,           T::Long, T::Half,    T::Float,
                         T::Double, T::ComplexHalf, T::ComplexFloat, T::ComplexDouble, T::Bool, T::BFloat16};
  const T kExpected[13][13] = {
      {T::Byte, T::Short, T::Short, T::Int, T::Long, T::Half, T::Float, T::Double, T::ComplexHalf, T::ComplexFloat,
       T::ComplexDouble, T::Byte, T::BFloat16},
      {T::Short, T::Char, T::Short, T::Int, T::Long, T::Half, T::Float, T::Double, T::ComplexHalf, T::ComplexFloat,
       T::ComplexDouble, T::Char, T::BFloat16},
      {T::Short, T::Short, T::Short, T::Int, T::Long, T::Half, T::Float, T::Double, T::ComplexHalf, T::ComplexFloat,
       T::ComplexDouble, T::Short, T::BFloat16},
      {T::Int, T::Int, T::Int, T::Int, T::Long, T::Half, T::Float, T::Double, T::ComplexHalf, T::ComplexFloat,
       T::ComplexDouble, T::Int, T::BFloat16},
      {T::Long, T::Long, T::Long, T::Long, T::Long, T::Half, T::Float, T::Double, T::ComplexHalf, T::ComplexFloat,
       T::ComplexDouble, T::Long, T::BFloat16},
      {T::Half, T::Half, T::Half, T::Half, T::Half, T::Half, T::Float, T::Double, T::ComplexHalf, T::ComplexFloat,
       T::ComplexDouble, T::Half, T::Float},
      {T::Float, T::Float, T::Float, T::Float, T::Float, T::Float, T::Float, T::Double, T::ComplexFloat,
       T::ComplexFloat, T::ComplexDouble, T::Float, T::Float},
      {T::Double, T::Double, T::Double, T::Double, T::Double, T::Double, T::Double, T::Double, T::ComplexDouble,
       T::ComplexDouble, T::ComplexDouble, T::Double, T::Double},
      {T::ComplexHalf, T::ComplexHalf, T::ComplexHalf, T::ComplexHalf, T::ComplexHalf, T::ComplexHalf, T::ComplexFloat,
       T::ComplexDouble, T::ComplexHalf, T::ComplexFloat, T::ComplexDouble, T::ComplexHalf, T::ComplexFloat},
      {T::ComplexFloat, T::ComplexFloat, T::ComplexFloat, T::ComplexFloat, T::ComplexFloat, T::ComplexFloat,
       T::ComplexFloat, T::ComplexDouble, T::ComplexFloat, T::ComplexFloat, T::ComplexDouble, T::ComplexFloat,
       T::ComplexFloat},
      {T::ComplexDouble, T::ComplexDouble, T::ComplexDouble, T::ComplexDouble, T::ComplexDouble, T::ComplexDouble,
       T::ComplexDouble, T::ComplexDouble, T::ComplexDouble, T::ComplexDouble, T::ComplexDouble, T::ComplexDouble,
       T::ComplexDouble},
      {T::Byte, T::Char, T::Short, T::Int, T::Long, T::Half, T::Float, T::Double, T::ComplexHalf, T::ComplexFloat,
       T::ComplexDouble, T::Bool, T::BFloat16},
      {T::BFloat16, T::BFloat16, T::BFloat16, T::BFloat16, T::BFloat16, T::Float, T::Float, T::Double, T::ComplexFloat,
       T::ComplexFloat, T::ComplexDouble, T::BFloat16, T::BFloat16},
  };
  for (size_t i = 0; i < 13; ++i) {
    for (size_t j = 0; j < 13; ++j) {
      EXPECT_EQ(promoteTypes(kOrdinary[i], kOrdinary[j]), kExpected[i][j])
          << toString(kOrdinary[i]) << " and " << toString(kOrdinary[j]);
    }
  }
}

TEST(PromotionTest, SpecialCases) {
  EXPECT_EQ(promoteTypes(ScalarType::Half, ScalarType::Half, /*half_to_float=*/true), ScalarType::Float);
  EXPECT_EQ(promoteTypes(ScalarType::UInt16, ScalarType::Float), ScalarType::Float);
  EXPECT_EQ(promoteTypes(ScalarType::UInt32, ScalarType::Bool), ScalarType::Undefined);
  EXPECT_EQ(promoteTypes(ScalarType::UInt16, ScalarType::Int), ScalarType::Undefined);
  EXPECT_EQ(promoteTypes(ScalarType::QInt8, ScalarType::Int), ScalarType::Undefined);
  EXPECT_EQ(promoteTypes(ScalarType::QInt8, ScalarType::QInt8), ScalarType::QInt8);
  for (const ScalarType a : kAll) {
    for (const ScalarType b : kAll) {
      EXPECT_EQ(promoteTypes(a, b), promoteTypes(b, a)) << toString(a) << " and " << toString(b);
    }
  }
  static_assert(std::is_same_v<promote_types<int32_t, float>::type, float>);
  static_assert(std::is_same_v<promote_types<torch::executor::Half, bool, true>::type, float>);
  static_assert(can_cast<int32_t, float>::value && !can_cast<float, int32_t>::value);
  EXPECT_FALSE(canCast(ScalarType::ComplexFloat, ScalarType::Float));
  EXPECT_FALSE(canCast(ScalarType::Int, ScalarType::Bool));
  EXPECT_TRUE(canCast(ScalarType::Bool, ScalarType::Half));
}

TEST(PromotionTest, ConvertWrapsThroughInt64) {
  EXPECT_EQ((convert<uint8_t, float>(-1.0f)), 255);
  EXPECT_EQ((convert<int8_t, double>(300.7)), 44);
  EXPECT_EQ((convert<bool, float>(0.5f)), false);
  EXPECT_EQ((convert<float, int64_t>(3)), 3.0f);
}

namespace {

template <typename T>
struct Name;
#define NAME(ctype, name)                                 \
  template <>                                             \
  struct Name<ctype> {                                    \
    static constexpr ScalarType value = ScalarType::name; \
  };
ET_FORALL_SCALAR_TYPES(NAME)
#undef NAME

// The types for which a switch runs its body. Expects that the body gets the right C++ type.
template <typename Switch>
std::vector<ScalarType> accepted(Switch run_switch) {
  PalSpy spy;
  InterceptWith intercept(spy);
  std::vector<ScalarType> types;
  for (const ScalarType t : kAll) {
    KernelRuntimeContext context;
    const ScalarType seen = run_switch(t, context);
    if (context.failure_state() == Error::Ok) {
      EXPECT_EQ(seen, t);
      types.push_back(t);
    } else {
      EXPECT_EQ(context.failure_state(), Error::InvalidArgument);
      EXPECT_EQ(seen, ScalarType()) << "the failure gives a default value";
      EXPECT_THAT(spy.last_log_message_args.message, ::testing::HasSubstr("test.out: the dtype"));
    }
  }
  return types;
}

#define ACCEPTED(SWITCH, ...)                                                                          \
  accepted([](ScalarType type, KernelRuntimeContext& context) {                                        \
    return SWITCH(__VA_ARGS__ type, context, "test.out", CTYPE, [&]() { return Name<CTYPE>::value; }); \
  })

using Types = std::vector<ScalarType>;

}  // namespace

TEST(SwitchTest, EachSetHasItsTypes) {
  using T = ScalarType;
  const Types ints = {T::Byte, T::Char, T::Short, T::Int, T::Long};
  EXPECT_EQ(ACCEPTED(ET_SWITCH_INT_TYPES), ints);
  EXPECT_EQ(ACCEPTED(ET_SWITCH_INT_TYPES_AND, Bool, ), (Types{T::Byte, T::Char, T::Short, T::Int, T::Long, T::Bool}));
  EXPECT_EQ(ACCEPTED(ET_SWITCH_REAL_TYPES), (Types{T::Byte, T::Char, T::Short, T::Int, T::Long, T::Float, T::Double}));
  EXPECT_EQ(ACCEPTED(ET_SWITCH_REAL_TYPES_AND, Bool, ),
            (Types{T::Byte, T::Char, T::Short, T::Int, T::Long, T::Float, T::Double, T::Bool}));
  EXPECT_EQ(ACCEPTED(ET_SWITCH_REAL_TYPES_AND2, Bool, Half, ),
            (Types{T::Byte, T::Char, T::Short, T::Int, T::Long, T::Half, T::Float, T::Double, T::Bool}));
  EXPECT_EQ(ACCEPTED(ET_SWITCH_REAL_TYPES_AND3, Bool, Half, BFloat16, ), ACCEPTED(ET_SWITCH_REALHBBF16_TYPES));
  EXPECT_EQ(ACCEPTED(ET_SWITCH_REALHBBF16_TYPES),
            (Types{T::Byte, T::Char, T::Short, T::Int, T::Long, T::Half, T::Float, T::Double, T::Bool, T::BFloat16}));
  EXPECT_EQ(ACCEPTED(ET_SWITCH_REALHBF16_TYPES).size(), 9u);
  EXPECT_EQ(ACCEPTED(ET_SWITCH_REALH_TYPES).size(), 8u);
  EXPECT_EQ(ACCEPTED(ET_SWITCH_REALB_TYPES).size(), 8u);
  EXPECT_EQ(ACCEPTED(ET_SWITCH_REALHB_TYPES).size(), 9u);
  EXPECT_EQ(ACCEPTED(ET_SWITCH_REALHBBF16_AND_UINT_TYPES).size(), 13u);
  EXPECT_EQ(ACCEPTED(ET_SWITCH_FLOAT_TYPES), (Types{T::Float, T::Double}));
  EXPECT_EQ(ACCEPTED(ET_SWITCH_FLOAT_TYPES_AND, Half, ), (Types{T::Half, T::Float, T::Double}));
  EXPECT_EQ(ACCEPTED(ET_SWITCH_FLOATH_TYPES), (Types{T::Half, T::Float, T::Double}));
  EXPECT_EQ(ACCEPTED(ET_SWITCH_FLOATHBF16_TYPES), (Types{T::Half, T::Float, T::Double, T::BFloat16}));
  EXPECT_EQ(ACCEPTED(ET_SWITCH_FLOATHBF16_TYPES_AND, Bool, ).size(), 5u);
  EXPECT_EQ(ACCEPTED(ET_SWITCH_QINT_TYPES), (Types{T::QInt8, T::QUInt8, T::QInt32, T::QUInt4x2, T::QUInt2x4}));
  EXPECT_EQ(ACCEPTED(ET_SWITCH_COMPLEX_TYPES), (Types{T::ComplexFloat, T::ComplexDouble}));
  EXPECT_EQ(ACCEPTED(ET_SWITCH_COMPLEXH_TYPES), (Types{T::ComplexHalf, T::ComplexFloat, T::ComplexDouble}));
  EXPECT_EQ(ACCEPTED(ET_SWITCH_SCALAR_OBJ_TYPES), (Types{T::Long, T::Double, T::Bool}));
  EXPECT_EQ(ACCEPTED(ET_SWITCH_TWO_TYPES, Byte, Half, ), (Types{T::Byte, T::Half}));
  EXPECT_EQ(ACCEPTED(ET_SWITCH_THREE_TYPES, Byte, Half, Bool, ), (Types{T::Byte, T::Half, T::Bool}));
  EXPECT_EQ(ACCEPTED(ET_SWITCH_FOUR_TYPES, Byte, Half, Bool, Int, ), (Types{T::Byte, T::Int, T::Half, T::Bool}));
  EXPECT_EQ(ACCEPTED(ET_SWITCH_ALL_TYPES), Types(std::begin(kAll), std::end(kAll)));
}

TEST(SwitchTest, BodiesWithoutAResultAndNesting) {
  KernelRuntimeContext context;
  int calls = 0;
  ET_SWITCH_FLOAT_TYPES(ScalarType::Double, context, "outer", OUTER, [&]() {
    ET_SWITCH_INT_TYPES(ScalarType::Short, context, "inner", INNER, [&]() {
      static_assert(sizeof(OUTER) >= 4 && sizeof(INNER) >= 1);
      calls += std::is_same_v<OUTER, double> && std::is_same_v<INNER, int16_t>;
    });
  });
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(context.failure_state(), Error::Ok);
}

TEST(ForallTest, ListsMatchTheSwitches) {
#define COUNT(ctype, name) +(std::is_same_v<ScalarTypeToCppType<ScalarType::name>::type, ctype> ? 1 : -100)
  EXPECT_EQ(0 ET_FORALL_INT_TYPES(COUNT), 5);
  EXPECT_EQ(0 ET_FORALL_REAL_TYPES(COUNT), 7);
  EXPECT_EQ(0 ET_FORALL_REALHBBF16_TYPES(COUNT), 10);
  EXPECT_EQ(0 ET_FORALL_FLOATHBF16_TYPES(COUNT), 4);
  EXPECT_EQ(0 ET_FORALL_QINT_TYPES(COUNT), 5);
  EXPECT_EQ(0 ET_FORALL_COMPLEXH_TYPES(COUNT), 3);
  EXPECT_EQ(0 ET_FORALL_REAL_TYPES_AND3(Half, Bool, BFloat16, COUNT), 10);
#define COUNT_WITH(fixed, ctype, name) +fixed
  EXPECT_EQ(0 ET_FORALL_REAL_TYPES_WITH(2, COUNT_WITH), 14);
  EXPECT_EQ(0 ET_FORALL_REAL_TYPES_AND_WITH(Bool, 2, COUNT_WITH), 16);
#define COUNT_WITH2(first, second, ctype, name) +first* second
  EXPECT_EQ(0 ET_FORALL_REALHBBF16_TYPES_WITH2(2, 3, COUNT_WITH2), 60);
#undef COUNT
#undef COUNT_WITH
#undef COUNT_WITH2
}
