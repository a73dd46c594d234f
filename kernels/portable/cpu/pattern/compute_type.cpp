// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/portable/cpu/pattern/compute_type.h"

#include <cstring>

namespace torch::executor::native {
namespace {

// Each dtype with the type as which its bytes are read. A bool is read as a byte, because a caller's buffer may hold
// values other than 0 and 1.
#define FORALL_STORAGE_TYPES(_) \
  _(uint8_t, Byte)              \
  _(int8_t, Char)               \
  _(int16_t, Short)             \
  _(int32_t, Int)               \
  _(int64_t, Long)              \
  _(Half, Half)                 \
  _(float, Float)               \
  _(double, Double)             \
  _(BoolByte, Bool)             \
  _(BFloat16, BFloat16)         \
  _(uint16_t, UInt16)           \
  _(uint32_t, UInt32)           \
  _(uint64_t, UInt64)

struct BoolByte {
  uint8_t value;
};

template <typename T>
constexpr bool is_reduced_float = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

template <typename To, typename From>
inline To convert(From value) {
  if constexpr (std::is_same_v<From, BoolByte>) {
    return convert<To>(static_cast<uint8_t>(value.value != 0));
  } else if constexpr (is_reduced_float<From>) {
    return convert<To>(static_cast<float>(value));
  } else if constexpr (std::is_same_v<To, BoolByte>) {
    return BoolByte{static_cast<uint8_t>(value != From(0))};
  } else if constexpr (is_reduced_float<To>) {
    return To(static_cast<float>(value));
  } else if constexpr (std::is_floating_point_v<From> && std::is_same_v<To, int32_t>) {
    constexpr From limit = static_cast<From>(2147483648.0);
    return value > -limit - 1 && value < limit ? static_cast<int32_t>(value) : INT32_MIN;
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    return static_cast<To>(float_to_int64(value));
  } else {
    return static_cast<To>(value);
  }
}

template <typename To, typename From>
void convert_block(void* dst, const void* src, size_t count) {
  To* __restrict to = static_cast<To*>(dst);
  const From* __restrict from = static_cast<const From*>(src);
  for (size_t i = 0; i < count; ++i) {
    to[i] = convert<To>(from[i]);
  }
}

// Converts to bool: any non-zero value, NaN included, is true.
template <typename From>
void convert_to_logic(void* dst, const void* src, size_t count) {
  convert_block<BoolByte, From>(dst, src, count);
}

// Complex numbers are computed in double.
constexpr bool kLoadsDouble = is_selected(ScalarType::Double) || is_selected(ScalarType::ComplexHalf) ||
                              is_selected(ScalarType::ComplexFloat) || is_selected(ScalarType::ComplexDouble);

// The functions of a compute type, or null for a type in which nothing is computed.
template <typename T, bool selected>
ConvertFn load_from(ComputeType to) {
  if constexpr (selected) {
    static constexpr ConvertFn fns[] = {
        convert_block<float, T>,
        kLoadsDouble ? convert_block<double, T> : nullptr,
        kSelectsIntegers ? convert_block<int64_t, T> : nullptr,
        convert_to_logic<T>,
    };
    return fns[static_cast<size_t>(to)];
  }
  return nullptr;
}

// Numbers that are not tensors arrive as double.
template <typename T, bool selected>
ConvertFn store_as(ComputeType from) {
  if constexpr (selected) {
    static constexpr ConvertFn fns[] = {
        convert_block<T, float>,
        convert_block<T, double>,
        kSelectsIntegers ? convert_block<T, int64_t> : nullptr,
        convert_block<T, BoolByte>,
    };
    return fns[static_cast<size_t>(from)];
  }
  return nullptr;
}

}  // namespace

bool is_supported_dtype(ScalarType dtype) {
  switch (dtype) {
#define CASE(ctype, name) case ScalarType::name:
    FORALL_STORAGE_TYPES(CASE)
#undef CASE
    return is_selected(dtype);
    default:
      return false;
  }
}

ComputeType arithmetic_type(ScalarType dtype) {
  switch (dtype) {
    case ScalarType::Half:
    case ScalarType::BFloat16:
    case ScalarType::Float:
      return ComputeType::Float;
    case ScalarType::Double:
      return ComputeType::Double;
    default:
      return ComputeType::Int;
  }
}

bool is_same_representation(ScalarType dtype, ComputeType type) {
  switch (type) {
    case ComputeType::Float:
      return dtype == ScalarType::Float;
    case ComputeType::Double:
      return dtype == ScalarType::Double;
    case ComputeType::Int:
      return dtype == ScalarType::Long || dtype == ScalarType::UInt64;
    case ComputeType::Bool:
      return false;  // a stored bool is normalised to 0/1 first
  }
  return false;
}

ConvertFn load_fn(ScalarType from, ComputeType to) {
  switch (from) {
#define CASE(ctype, name) \
  case ScalarType::name:  \
    return load_from<ctype, is_selected(ScalarType::name)>(to);
    FORALL_STORAGE_TYPES(CASE)
#undef CASE
    default:
      return nullptr;
  }
}

ConvertFn store_fn(ComputeType from, ScalarType to) {
  switch (to) {
#define CASE(ctype, name) \
  case ScalarType::name:  \
    return store_as<ctype, is_selected(ScalarType::name)>(from);
    FORALL_STORAGE_TYPES(CASE)
#undef CASE
    default:
      return nullptr;
  }
}

void Rounding::choose(ComputeType type, ScalarType dtype) {
  if (is_supported_dtype(dtype) && type != ComputeType::Bool && !is_same_representation(dtype, type)) {
    store_ = store_fn(type, dtype);
    load_ = load_fn(dtype, type);
  }
}

void store_scalar(const Scalar& scalar, ComputeType type, void* dst) {
  const auto put = [dst](auto value) { std::memcpy(dst, &value, sizeof(value)); };
  switch (type) {
    case ComputeType::Float:
      return put(scalar_to<float>(scalar));
    case ComputeType::Double:
      return put(scalar_to<double>(scalar));
    case ComputeType::Int:
      return put(scalar_to<int64_t>(scalar));
    case ComputeType::Bool:
      return put(scalar_to<uint8_t>(scalar));
  }
}

void store_scalar_as(const Scalar& scalar, ScalarType dtype, void* dst) {
  // A type that holds the value exactly and converts to the dtype.
  const bool is_integer = arithmetic_type(dtype) == ComputeType::Int && !scalar.isFloatingPoint();
  const ComputeType type = dtype == ScalarType::Bool ? ComputeType::Bool
                           : is_integer              ? ComputeType::Int
                                                     : ComputeType::Double;
  uint64_t number = 0;
  store_scalar(scalar, type, &number);
  store_fn(type, dtype)(dst, &number, 1);
}

}  // namespace torch::executor::native
