// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/core/exec_aten/util/scalar_type_util.h>

#include "signatures.h"

#if !defined(ET_FORALL_SCALAR_TYPES) || !defined(ET_FORALL_INT_TYPES) || !defined(ET_FORALL_INT_TYPES_WITH) ||         \
    !defined(ET_FORALL_INT_TYPES_WITH2) || !defined(ET_FORALL_INT_TYPES_AND) || !defined(ET_FORALL_FLOAT_TYPES) ||     \
    !defined(ET_FORALL_FLOAT_TYPES_AND) || !defined(ET_FORALL_FLOAT_TYPES_AND2) || !defined(ET_FORALL_FLOATH_TYPES) || \
    !defined(ET_FORALL_FLOATHBF16_TYPES) || !defined(ET_FORALL_FLOAT_TYPES_WITH) ||                                    \
    !defined(ET_FORALL_FLOATH_TYPES_WITH) || !defined(ET_FORALL_FLOAT_TYPES_WITH2) ||                                  \
    !defined(ET_FORALL_FLOATHBF16_TYPES_WITH2) || !defined(ET_FORALL_REAL_TYPES) ||                                    \
    !defined(ET_FORALL_REAL_TYPES_WITH) || !defined(ET_FORALL_REAL_TYPES_WITH2) ||                                     \
    !defined(ET_FORALL_REALHBF16_TYPES_WITH2) || !defined(ET_FORALL_REALHBBF16_TYPES_WITH2) ||                         \
    !defined(ET_FORALL_REAL_TYPES_AND) || !defined(ET_FORALL_REAL_TYPES_AND2) || !defined(ET_FORALL_REALH_TYPES) ||    \
    !defined(ET_FORALL_REALHBF16_TYPES) || !defined(ET_FORALL_REALHBBF16_TYPES) ||                                     \
    !defined(ET_FORALL_REAL_TYPES_AND_WITH) || !defined(ET_FORALL_REAL_TYPES_AND3) ||                                  \
    !defined(ET_FORALL_QINT_TYPES) || !defined(ET_FORALL_COMPLEX_TYPES) || !defined(ET_FORALL_COMPLEXH_TYPES) ||       \
    !defined(ET_SWITCH_ALL_TYPES) || !defined(ET_SWITCH_REAL_TYPES) || !defined(ET_SWITCH_REAL_TYPES_AND) ||           \
    !defined(ET_SWITCH_REAL_TYPES_AND2) || !defined(ET_SWITCH_REAL_TYPES_AND3) || !defined(ET_SWITCH_REALH_TYPES) ||   \
    !defined(ET_SWITCH_REALHBF16_TYPES) || !defined(ET_SWITCH_REALB_TYPES) || !defined(ET_SWITCH_REALHB_TYPES) ||      \
    !defined(ET_SWITCH_REALHBBF16_TYPES) || !defined(ET_SWITCH_REALHBBF16_AND_UINT_TYPES) ||                           \
    !defined(ET_SWITCH_INT_TYPES) || !defined(ET_SWITCH_INT_TYPES_AND) || !defined(ET_SWITCH_FLOAT_TYPES) ||           \
    !defined(ET_SWITCH_FLOAT_TYPES_AND) || !defined(ET_SWITCH_FLOAT_TYPES_AND2) ||                                     \
    !defined(ET_SWITCH_FLOAT_TYPES_AND3) || !defined(ET_SWITCH_FLOATH_TYPES) ||                                        \
    !defined(ET_SWITCH_FLOATHBF16_TYPES) || !defined(ET_SWITCH_FLOATHBF16_TYPES_AND) ||                                \
    !defined(ET_SWITCH_QINT_TYPES) || !defined(ET_SWITCH_COMPLEX_TYPES) || !defined(ET_SWITCH_COMPLEXH_TYPES) ||       \
    !defined(ET_SWITCH_SCALAR_OBJ_TYPES) || !defined(ET_SWITCH_SCALAR_OBJ_REAL_TYPES) ||                               \
    !defined(ET_SWITCH_SCALAR_OBJ_INTB_TYPES) || !defined(ET_SWITCH_SCALAR_OBJ_FLOATB_TYPES) ||                        \
    !defined(ET_SWITCH_TWO_TYPES) || !defined(ET_SWITCH_THREE_TYPES) || !defined(ET_SWITCH_FOUR_TYPES)
#error "A macro of this header is missing."
#endif

namespace surface {

using aten::ScalarType;
static_assert(is_floating_point<float>::value && is_floating_point<aten::Half>::value &&
              !is_floating_point<int>::value);
static_assert(is_reduced_floating_point<aten::BFloat16>::value && !is_reduced_floating_point<float>::value);

/// Checks both directions of the table of types.
template <ScalarType kType, typename T>
constexpr bool same() {
  return std::is_same_v<typename ScalarTypeToCppType<kType>::type, T> && CppTypeToScalarType<T>::value == kType;
}
static_assert(same<ScalarType::Byte, uint8_t>() && same<ScalarType::Char, int8_t>() &&
              same<ScalarType::Short, int16_t>());
static_assert(same<ScalarType::Int, int32_t>() && same<ScalarType::Long, int64_t>() &&
              same<ScalarType::Half, etensor::Half>());
static_assert(same<ScalarType::Float, float>() && same<ScalarType::Double, double>() && same<ScalarType::Bool, bool>());
static_assert(same<ScalarType::ComplexHalf, etensor::complex<etensor::Half>>());
static_assert(same<ScalarType::ComplexFloat, etensor::complex<float>>() &&
              same<ScalarType::ComplexDouble, etensor::complex<double>>());
static_assert(same<ScalarType::QInt8, etensor::qint8>() && same<ScalarType::QUInt8, etensor::quint8>());
static_assert(same<ScalarType::QInt32, etensor::qint32>() && same<ScalarType::BFloat16, etensor::BFloat16>());
static_assert(same<ScalarType::QUInt4x2, etensor::quint4x2>() && same<ScalarType::QUInt2x4, etensor::quint2x4>());
static_assert(same<ScalarType::Bits1x8, etensor::bits1x8>() && same<ScalarType::Bits2x4, etensor::bits2x4>());
static_assert(same<ScalarType::Bits4x2, etensor::bits4x2>() && same<ScalarType::Bits8, etensor::bits8>() &&
              same<ScalarType::Bits16, etensor::bits16>());
static_assert(same<ScalarType::Float8_e5m2, etensor::unused_dtype::Float8_e5m2>());
static_assert(same<ScalarType::Float8_e4m3fn, etensor::unused_dtype::Float8_e4m3fn>());
static_assert(same<ScalarType::Float8_e5m2fnuz, etensor::unused_dtype::Float8_e5m2fnuz>());
static_assert(same<ScalarType::Float8_e4m3fnuz, etensor::unused_dtype::Float8_e4m3fnuz>());
static_assert(same<ScalarType::UInt16, uint16_t>() && same<ScalarType::UInt32, uint32_t>() &&
              same<ScalarType::UInt64, uint64_t>());

static_assert(is<bool (*)(ScalarType)>(&isValid) && is<const char* (*)(ScalarType)>(&toString));
static_assert(is<size_t (*)(ScalarType)>(&elementSize) && is<size_t (*)(ScalarType)>(&aten::elementSize));
static_assert(isIntegralType(ScalarType::Bool, true) && is_integral_type<int, false>::value);
static_assert(isFloatingType(ScalarType::Half) && isComplexType(ScalarType::ComplexFloat) &&
              isBitsType(ScalarType::Bits8));
static_assert(is<bool (*)(ScalarType)>(&isRealType) && is<bool (*)(ScalarType)>(&isRealHType));
static_assert(is<bool (*)(ScalarType)>(&isRealHBType) && is<bool (*)(ScalarType)>(&isRealHBF16Type));
static_assert(is<bool (*)(ScalarType)>(&isRealHBBF16Type));
static_assert(is_complex_type<etensor::complex<float>>::value && is_bits_type<etensor::bits8>::value);
static_assert(isQIntType(ScalarType::QInt8) && is_qint_type<etensor::qint8>::value);
static_assert(isFloat8Type(ScalarType::Float8_e5m2) && is_float8_type<etensor::unused_dtype::Float8_e5m2>::value);
static_assert(isBarebonesUnsignedType(ScalarType::UInt16) && is_barebones_unsigned_type<uint16_t>::value);
static_assert(is<ScalarType (*)(ScalarType)>(&toQIntType) && is<ScalarType (*)(ScalarType)>(&toUnderlying));
static_assert(is<bool (*)(ScalarType)>(&isSignedType) && is<bool (*)(ScalarType, ScalarType)>(&isUnderlying));
static_assert(toRealValueType(ScalarType::ComplexFloat) == ScalarType::Float);
static_assert(toComplexType(ScalarType::Float) == ScalarType::ComplexFloat);
static_assert(canCast(ScalarType::Int, ScalarType::Float) && can_cast<int, float>::value);
static_assert(is<int (*)(float)>(&convert<int, float>) && is<float (*)(int)>(&convert<float, int>));
static_assert(promoteTypes(ScalarType::Int, ScalarType::Half) == ScalarType::Half);
static_assert(promoteTypes(ScalarType::Int, ScalarType::Half, true) == ScalarType::Float);
static_assert(std::is_same_v<promote_types<int, aten::Half>::type, aten::Half>);
static_assert(std::is_same_v<promote_types<int, aten::Half, true>::type, float>);

}  // namespace surface
