// SPDX-License-Identifier: BSD-3-Clause
#include "elements.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include <executorch/runtime/core/exec_aten/util/scalar_type_util.h>
#include <executorch/runtime/platform/log.h>

namespace executorch {
namespace backends {
namespace coreml {

using runtime::Error;
using runtime::etensor::Half;
using runtime::etensor::ScalarType;
using runtime::etensor::Tensor;

namespace {

template <typename T>
constexpr bool kIsFloat = std::is_floating_point_v<T> || std::is_same_v<T, Half>;

/// Calls `action(from, to)` for each pair of elements, in logical order.
template <typename From, typename To, typename Action>
void for_each(const Elements& from, const Elements& to, Action&& action) {
  const Layout& layout = from.layout;
  std::array<ptrdiff_t, runtime::kTensorDimensionLimit> index{};
  const auto* source = static_cast<const From*>(from.data);
  auto* target = static_cast<To*>(to.data);
  for (size_t left = count_of(layout); left > 0; --left) {
    action(*source, *target);
    for (size_t axis = layout.rank; left > 1 && axis-- > 0;) {
      source += layout.strides[axis];
      target += to.layout.strides[axis];
      if (++index[axis] < layout.sizes[axis]) {
        break;
      }
      source -= layout.strides[axis] * layout.sizes[axis];
      target -= to.layout.strides[axis] * layout.sizes[axis];
      index[axis] = 0;
    }
  }
}

Error refuse(ScalarType from, ScalarType to) {
  ET_LOG(Error, "Core ML: %s does not become %s: export the program again", runtime::toString(from),
         runtime::toString(to));
  return Error::NotSupported;
}

template <typename From, typename To>
Error convert(const Elements& from, const Elements& to) {
  if constexpr (kIsFloat<From> && !kIsFloat<To> && !std::is_same_v<To, bool>) {
    return refuse(from.type, to.type);
  } else if constexpr (std::is_same_v<From, int64_t> && std::is_same_v<To, int32_t>) {
    bool fits = true;
    for_each<From, To>(from, to, [&](From value, To& result) {
      fits = fits && value >= std::numeric_limits<To>::min() && value <= std::numeric_limits<To>::max();
      result = static_cast<To>(value);
    });
    ET_CHECK_OR_RETURN_ERROR(fits, InvalidArgument,
                             "Core ML: an int64 input has a value outside of int32, and Core ML has no int64");
    return Error::Ok;
  } else if constexpr (std::is_same_v<To, bool>) {
    for_each<From, To>(from, to, [](From value, To& result) { result = value != static_cast<From>(0); });
    return Error::Ok;
  } else {
    for_each<From, To>(from, to, [](From value, To& result) { result = static_cast<To>(value); });
    return Error::Ok;
  }
}

/// Calls `action` with a null pointer of the C++ type of a dtype. NotSupported if Core ML does not have the dtype.
template <typename Action>
Error with_type(ScalarType type, Action&& action) {
  switch (type) {
    case ScalarType::Float:
      return action(static_cast<float*>(nullptr));
    case ScalarType::Half:
      return action(static_cast<Half*>(nullptr));
    case ScalarType::Double:
      return action(static_cast<double*>(nullptr));
    case ScalarType::Int:
      return action(static_cast<int32_t*>(nullptr));
    case ScalarType::Long:
      return action(static_cast<int64_t*>(nullptr));
    case ScalarType::Short:
      return action(static_cast<int16_t*>(nullptr));
    case ScalarType::Char:
      return action(static_cast<int8_t*>(nullptr));
    case ScalarType::Byte:
      return action(static_cast<uint8_t*>(nullptr));
    case ScalarType::Bool:
      return action(static_cast<bool*>(nullptr));
    default:
      ET_LOG(Error, "Core ML has no arrays of %s", runtime::toString(type));
      return Error::NotSupported;
  }
}

}  // namespace

bool has_same_sizes(const Layout& a, const Layout& b) {
  return a.rank == b.rank && std::equal(a.sizes.begin(), a.sizes.begin() + a.rank, b.sizes.begin());
}

bool operator==(const Layout& a, const Layout& b) {
  return has_same_sizes(a, b) && std::equal(a.strides.begin(), a.strides.begin() + a.rank, b.strides.begin());
}

size_t count_of(const Layout& layout) {
  size_t count = 1;
  for (size_t axis = 0; axis < layout.rank; ++axis) {
    count *= static_cast<size_t>(layout.sizes[axis]);
  }
  return count;
}

Layout contiguous(const Layout& layout) {
  Layout made = layout;
  ptrdiff_t stride = 1;
  for (size_t axis = layout.rank; axis-- > 0;) {
    made.strides[axis] = stride;
    stride *= layout.sizes[axis];
  }
  return made;
}

Layout layout_of(const Tensor& tensor) {
  Layout made;
  made.rank = static_cast<size_t>(tensor.dim());
  for (size_t axis = 0; axis < made.rank; ++axis) {
    made.sizes[axis] = tensor.sizes()[axis];
    made.strides[axis] = tensor.strides()[axis];
  }
  if (made.rank == 0) {
    made.rank = 1;
    made.sizes[0] = made.strides[0] = 1;
  }
  return made;
}

Error copy_elements(const Elements& from, const Elements& to) {
  const Layout dense = contiguous(from.layout);
  if (from.type == to.type && from.layout == dense && to.layout == dense) {
    std::memcpy(to.data, from.data, count_of(dense) * runtime::elementSize(from.type));
    return Error::Ok;
  }
  return with_type(from.type, [&](auto* source) {
    return with_type(to.type, [&](auto* target) {
      return convert<std::remove_pointer_t<decltype(source)>, std::remove_pointer_t<decltype(target)>>(from, to);
    });
  });
}

}  // namespace coreml
}  // namespace backends
}  // namespace executorch
