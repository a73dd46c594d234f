// SPDX-License-Identifier: BSD-3-Clause
#include "graph/host_copy.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include <executorch/runtime/core/exec_aten/util/tensor_util.h>
#include <executorch/runtime/platform/log.h>

namespace executorch {
namespace backends {
namespace vulkan {

using aten::ScalarType;
using runtime::Error;

namespace {

using Half = aten::Half;

/// The number without its fraction, limited to the range of the integer's type; 0 for NaN.
template <typename To>
To integer_of(double from) {
  // 2^31 and 2^63 are doubles, the largest integers of 64 bits are not.
  const double limit = std::ldexp(1.0, std::numeric_limits<To>::digits);
  return from >= limit                                                 ? std::numeric_limits<To>::max()
         : from > static_cast<double>(std::numeric_limits<To>::min())  ? static_cast<To>(from)
         : from <= static_cast<double>(std::numeric_limits<To>::min()) ? std::numeric_limits<To>::min()
                                                                       : To{0};
}

/// 64-bit integers that do not fit become the nearest 32-bit ones, because exporters write the largest as "no limit".
template <typename To, typename From>
To convert(From from) {
  if constexpr (std::is_same_v<To, bool>) {
    return from != From(0);
  } else if constexpr (std::is_integral_v<To> && !std::is_integral_v<From>) {
    return integer_of<To>(static_cast<double>(from));
  } else if constexpr (std::is_same_v<To, int32_t> && std::is_same_v<From, int64_t>) {
    return static_cast<int32_t>(from > INT32_MAX ? INT32_MAX : from < INT32_MIN ? INT32_MIN : from);
  } else if constexpr (std::is_same_v<To, Half> || std::is_same_v<From, Half>) {
    return static_cast<To>(static_cast<float>(from));
  } else {
    return static_cast<To>(from);
  }
}

/// Calls f(pointer of the dtype). False if there is no such dtype.
template <typename F>
bool with_dtype(ScalarType dtype, F&& f) {
  switch (dtype) {
    case ScalarType::Float:
      return f(float{}), true;
    case ScalarType::Half:
      return f(Half{}), true;
    case ScalarType::Double:
      return f(double{}), true;
    case ScalarType::Int:
      return f(int32_t{}), true;
    case ScalarType::Long:
      return f(int64_t{}), true;
    case ScalarType::Char:
      return f(int8_t{}), true;
    case ScalarType::Byte:
      return f(uint8_t{}), true;
    case ScalarType::Bool:
      return f(bool{}), true;
    default:
      return false;
  }
}

template <typename F>
void with_kind(Kind kind, F&& f) {
  kind == Kind::Float ? f(float{}) : kind == Kind::Half ? f(Half{}) : f(int32_t{});
}

bool is_integral(ScalarType dtype) {
  return dtype == ScalarType::Int || dtype == ScalarType::Long || dtype == ScalarType::Char ||
         dtype == ScalarType::Byte || dtype == ScalarType::Bool;
}

ScalarType scalar_type_of(VkDataType dtype) {
  switch (dtype) {
    case VkDataType::BOOL:
      return ScalarType::Bool;
    case VkDataType::UINT8:
      return ScalarType::Byte;
    case VkDataType::INT8:
      return ScalarType::Char;
    case VkDataType::INT32:
      return ScalarType::Int;
    case VkDataType::INT64:
      return ScalarType::Long;
    case VkDataType::FLOAT16:
      return ScalarType::Half;
    case VkDataType::FLOAT64:
      return ScalarType::Double;
    default:
      return ScalarType::Float;
  }
}

/// Reads element `index` at any address, because constants may be at any byte of a payload. Every byte except 0 is
/// true.
template <typename T>
T element_at(const void* data, int64_t index) {
  const uint8_t* at = static_cast<const uint8_t*>(data) + index * static_cast<int64_t>(sizeof(T));
  if constexpr (std::is_same_v<T, bool>) {
    return *at != 0;
  } else {
    T element;
    std::memcpy(&element, at, sizeof(T));
    return element;
  }
}

template <typename To, typename From>
void convert_all(const void* from, size_t count, void* to) {
  if constexpr (std::is_same_v<To, From>) {
    if (count > 0) {
      std::memcpy(to, from, count * sizeof(To));
    }
  } else {
    auto* out = static_cast<To*>(to);
    for (size_t i = 0; i < count; ++i) {
      out[i] = convert<To>(element_at<From>(from, static_cast<int64_t>(i)));
    }
  }
}

/// Calls f(element in the order of the sizes, element in memory).
template <typename F>
void for_each_element(const aten::Tensor& tensor, F&& f) {
  const size_t rank = static_cast<size_t>(tensor.dim());
  std::vector<int64_t> index(rank);
  int64_t at = 0;
  for (ssize_t i = 0; i < tensor.numel(); ++i) {
    f(i, at);
    for (size_t d = rank; d-- > 0;) {
      at += tensor.strides()[d];
      if (++index[d] < tensor.size(static_cast<ssize_t>(d))) {
        break;
      }
      at -= index[d] * tensor.strides()[d];
      index[d] = 0;
    }
  }
}

bool is_contiguous(const aten::Tensor& tensor) {
  int64_t expected = 1;
  for (ssize_t d = tensor.dim(); d-- > 0;) {
    if (tensor.size(d) != 1 && tensor.strides()[static_cast<size_t>(d)] != expected) {
      return false;
    }
    expected *= tensor.size(d);
  }
  return true;
}

}  // namespace

void copy_to_kind(const uint8_t* from, VkDataType dtype, size_t count, Kind kind, void* to) {
  with_dtype(scalar_type_of(dtype), [&](auto in) {
    with_kind(kind, [&](auto out) { convert_all<decltype(out), decltype(in)>(from, count, to); });
  });
}

bool can_copy(ScalarType argument, VkDataType dtype) {
  return is_floating(dtype)
             ? argument == ScalarType::Float || argument == ScalarType::Half || argument == ScalarType::Double
             : is_integral(argument);
}

Error copy_in(const aten::Tensor& from, Kind kind, void* to) {
  const bool contiguous = is_contiguous(from);
  const bool known = with_dtype(from.scalar_type(), [&](auto in) {
    using In = decltype(in);
    with_kind(kind, [&](auto out) {
      using Out = decltype(out);
      if (contiguous) {
        convert_all<Out, In>(from.const_data_ptr(), static_cast<size_t>(from.numel()), to);
      } else {
        for_each_element(from, [&](int64_t i, int64_t at) {
          static_cast<Out*>(to)[i] = convert<Out>(element_at<In>(from.const_data_ptr(), at));
        });
      }
    });
  });
  return known ? Error::Ok : Error::InvalidArgument;
}

Error copy_out(const void* from, Kind kind, aten::Tensor& to) {
  const bool contiguous = is_contiguous(to);
  const bool known = with_dtype(to.scalar_type(), [&](auto out) {
    using Out = decltype(out);
    with_kind(kind, [&](auto in) {
      using In = decltype(in);
      if (contiguous) {
        convert_all<Out, In>(from, static_cast<size_t>(to.numel()), to.mutable_data_ptr());
      } else {
        for_each_element(to, [&](int64_t i, int64_t at) {
          static_cast<Out*>(to.mutable_data_ptr())[at] = convert<Out>(element_at<In>(from, i));
        });
      }
    });
  });
  ET_CHECK_OR_RETURN_ERROR(known, InvalidArgument, "Vulkan: an output has dtype %d, which is not supported",
                           static_cast<int>(to.scalar_type()));
  return Error::Ok;
}

bool integer_at(const aten::Tensor& tensor, int64_t index, int64_t* number) {
  if (index < 0 || index >= tensor.numel() || !is_integral(tensor.scalar_type()) || !is_contiguous(tensor)) {
    return false;
  }
  return with_dtype(tensor.scalar_type(), [&](auto in) {
    *number = static_cast<int64_t>(element_at<decltype(in)>(tensor.const_data_ptr(), index));
  });
}

}  // namespace vulkan
}  // namespace backends
}  // namespace executorch
