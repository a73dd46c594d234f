// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/devtools/bundled_program/tensor_difference.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include <executorch/runtime/core/exec_aten/util/scalar_type_util.h>

namespace executorch {
namespace runtime {
namespace internal {

using executorch::aten::ScalarType;
using executorch::aten::Tensor;

namespace {

/// The smallest divisor of a relative error; it replaces expected values below it.
constexpr double kSmallestDivisor = 1e-12;

template <typename T>
double read(const void* element) {
  T value;
  std::memcpy(&value, element, sizeof(value));
  return static_cast<double>(value);
}

/// Converts an element to a number; null for dtypes that are not numeric.
using Reader = double (*)(const void*);

Reader reader_of(ScalarType type) {
  switch (type) {
    case ScalarType::Byte:
      return read<uint8_t>;
    case ScalarType::Char:
      return read<int8_t>;
    case ScalarType::Short:
      return read<int16_t>;
    case ScalarType::Int:
      return read<int32_t>;
    case ScalarType::Long:
      return read<int64_t>;
    case ScalarType::UInt16:
      return read<uint16_t>;
    case ScalarType::UInt32:
      return read<uint32_t>;
    case ScalarType::UInt64:
      return read<uint64_t>;
    case ScalarType::Bool:
      return read<uint8_t>;  // a byte other than 0 and 1 is not a valid bool
    case ScalarType::Half:
      return read<executorch::aten::Half>;
    case ScalarType::BFloat16:
      return read<executorch::aten::BFloat16>;
    case ScalarType::Float:
      return read<float>;
    case ScalarType::Double:
      return read<double>;
    default:
      return nullptr;
  }
}

/// Returns the position in memory, in elements, of the element with the logical index `index`.
size_t memory_index(const Tensor& tensor, size_t index) {
  size_t place = 0;
  for (ssize_t d = tensor.dim() - 1; d >= 0; --d) {
    const auto size = static_cast<size_t>(tensor.size(d));
    place += index % size * static_cast<size_t>(tensor.strides()[static_cast<size_t>(d)]);
    index /= size;
  }
  return place;
}

/// Calls `each(found, expected, index)` with the pairs of elements until it returns false.
template <typename Each>
void for_each_pair(const Tensor& found, const Tensor& expected, const Each& each) {
  const auto count = static_cast<size_t>(found.numel());
  const auto size = static_cast<size_t>(found.element_size());
  const auto* found_data = static_cast<const uint8_t*>(found.const_data_ptr());
  const auto* expected_data = static_cast<const uint8_t*>(expected.const_data_ptr());
  for (size_t i = 0; i < count; ++i) {
    if (!each(found_data + memory_index(found, i) * size, expected_data + memory_index(expected, i) * size, i)) {
      return;
    }
  }
}

}  // namespace

void Differences::add(double found, double expected) {
  ++count;
  if (found == expected || (std::isnan(found) && std::isnan(expected))) {
    return;
  }
  const double absolute = std::fabs(found - expected);
  const double relative = absolute / std::max(std::fabs(expected), kSmallestDivisor);
  // An unexpected NaN counts as an infinite difference; std::max() would drop it.
  const double infinity = std::numeric_limits<double>::infinity();
  sum_absolute += std::isnan(absolute) ? infinity : absolute;
  max_absolute = std::max(max_absolute, std::isnan(absolute) ? infinity : absolute);
  sum_relative += std::isnan(relative) ? infinity : relative;
  max_relative = std::max(max_relative, std::isnan(relative) ? infinity : relative);
}

bool is_close(double found, double expected, Tolerance tolerance) {
  if (found == expected || (std::isnan(found) && std::isnan(expected))) {
    return true;
  }
  const double difference = std::fabs(found - expected);
  return std::isfinite(difference) && difference <= tolerance.absolute + tolerance.relative * std::fabs(expected);
}

size_t first_difference(const Tensor& found, const Tensor& expected, Tolerance tolerance) {
  const Reader reader = runtime::isFloatingType(found.scalar_type()) ? reader_of(found.scalar_type()) : nullptr;
  const auto size = static_cast<size_t>(found.element_size());
  auto first = static_cast<size_t>(found.numel());
  for_each_pair(found, expected, [&](const void* a, const void* b, size_t index) {
    const bool same = reader != nullptr ? is_close(reader(a), reader(b), tolerance) : std::memcmp(a, b, size) == 0;
    first = same ? first : index;
    return same;
  });
  return first;
}

bool add_differences(const Tensor& found, const Tensor& expected, Differences* differences) {
  const Reader reader = reader_of(found.scalar_type());
  if (reader == nullptr) {
    return false;
  }
  for_each_pair(found, expected, [&](const void* a, const void* b, size_t) {
    differences->add(reader(a), reader(b));
    return true;
  });
  return true;
}

}  // namespace internal
}  // namespace runtime
}  // namespace executorch
