// SPDX-License-Identifier: BSD-3-Clause
#include <cmath>
#include <cstring>

#include <executorch/runtime/core/exec_aten/testing_util/tensor_util.h>
#include <executorch/runtime/core/exec_aten/util/scalar_type_util.h>

namespace executorch {
namespace runtime {
namespace testing {
namespace {

bool numbers_are_close(double a, double b, double rtol, double atol) {
  if (std::isnan(a) || std::isnan(b)) {
    return std::isnan(a) && std::isnan(b);
  }
  if (std::isinf(a) || std::isinf(b) || (rtol == 0 && atol == 0)) {
    return a == b;
  }
  return std::fabs(a - b) <= atol + rtol * std::fabs(b);
}

template <typename T>
bool elements_are_close(const aten::Tensor& a, const aten::Tensor& b, double rtol, double atol) {
  const T* data_a = a.const_data_ptr<T>();
  const T* data_b = b.const_data_ptr<T>();
  for (ssize_t i = 0; i < a.numel(); ++i) {
    bool close;
    if constexpr (std::is_integral_v<T>) {
      // Compare exactly first, because a double cannot hold every int64_t.
      close = data_a[i] == data_b[i] ||
              (!(rtol == 0 && atol == 0) &&
               numbers_are_close(static_cast<double>(data_a[i]), static_cast<double>(data_b[i]), rtol, atol));
    } else if constexpr (is_complex_type<T>::value) {
      close =
          numbers_are_close(static_cast<double>(data_a[i].real()), static_cast<double>(data_b[i].real()), rtol, atol) &&
          numbers_are_close(static_cast<double>(data_a[i].imag()), static_cast<double>(data_b[i].imag()), rtol, atol);
    } else {
      close = numbers_are_close(static_cast<double>(data_a[i]), static_cast<double>(data_b[i]), rtol, atol);
    }
    if (!close) {
      return false;
    }
  }
  return true;
}

double default_atol(aten::ScalarType type) {
  switch (type) {
    case aten::ScalarType::Half:
      return internal::kDefaultHalfAtol;
    case aten::ScalarType::BFloat16:
      return internal::kDefaultBFloat16Atol;
    default:
      return internal::kDefaultAtol;
  }
}

template <typename T>
void print_elements(std::ostream& os, const aten::Tensor& t) {
  constexpr ssize_t kMaxPrinted = 100;
  for (ssize_t i = 0; i < t.numel(); ++i) {
    if (i == kMaxPrinted) {
      os << ", ...";
      return;
    }
    os << (i == 0 ? "" : ", ");
    const T& value = t.const_data_ptr<T>()[i];
    if constexpr (is_complex_type<T>::value) {
      os << static_cast<double>(value.real()) << "+" << static_cast<double>(value.imag()) << "j";
    } else {
      os << +static_cast<std::conditional_t<std::is_integral_v<T>, T, double>>(value);
    }
  }
}

}  // namespace

bool tensor_data_is_close(const aten::Tensor& a, const aten::Tensor& b, double rtol, std::optional<double> opt_atol) {
  if (a.scalar_type() != b.scalar_type() || a.numel() != b.numel()) {
    return false;
  }
  if (a.numel() == 0) {
    return true;
  }
  if (a.const_data_ptr() == nullptr || b.const_data_ptr() == nullptr) {
    return a.const_data_ptr() == b.const_data_ptr();
  }
  const double atol = opt_atol.value_or(default_atol(a.scalar_type()));
  switch (a.scalar_type()) {
#define COMPARE_CASE(ctype, name) \
  case aten::ScalarType::name:    \
    return elements_are_close<ctype>(a, b, rtol, atol);
    ET_FORALL_REALHBBF16_TYPES(COMPARE_CASE)
    ET_FORALL_COMPLEXH_TYPES(COMPARE_CASE)
    COMPARE_CASE(uint16_t, UInt16)
    COMPARE_CASE(uint32_t, UInt32)
    COMPARE_CASE(uint64_t, UInt64)
#undef COMPARE_CASE
    default:  // No numbers: quantized, bits, 8-bit floats.
      return std::memcmp(a.const_data_ptr(), b.const_data_ptr(), a.nbytes()) == 0;
  }
}

bool tensors_are_close(const aten::Tensor& a, const aten::Tensor& b, double rtol, std::optional<double> opt_atol) {
  return a.scalar_type() == b.scalar_type() && a.sizes().equals(b.sizes()) && a.dim_order().equals(b.dim_order()) &&
         tensor_data_is_close(a, b, rtol, opt_atol);
}

bool tensor_lists_are_close(const aten::Tensor* tensors_a, size_t num_tensors_a, const aten::Tensor* tensors_b,
                            size_t num_tensors_b, double rtol, std::optional<double> opt_atol) {
  if (num_tensors_a != num_tensors_b) {
    return false;
  }
  for (size_t i = 0; i < num_tensors_a; ++i) {
    if (!tensors_are_close(tensors_a[i], tensors_b[i], rtol, opt_atol)) {
      return false;
    }
  }
  return true;
}

}  // namespace testing

namespace etensor {

std::ostream& operator<<(std::ostream& os, const ScalarType& t) {
  return os << toString(t);
}

std::ostream& operator<<(std::ostream& os, const Tensor& t) {
  os << "Tensor(" << toString(t.scalar_type()) << ", sizes=[";
  for (size_t i = 0; i < t.sizes().size(); ++i) {
    os << (i == 0 ? "" : ", ") << t.sizes()[i];
  }
  os << "], dim_order=[";
  for (size_t i = 0; i < t.dim_order().size(); ++i) {
    os << (i == 0 ? "" : ", ") << static_cast<int>(t.dim_order()[i]);
  }
  os << "], data=[";
  if (t.const_data_ptr() == nullptr) {
    return os << "null])";
  }
  switch (t.scalar_type()) {
#define PRINT_CASE(ctype, name)            \
  case ScalarType::name:                   \
    testing::print_elements<ctype>(os, t); \
    break;
    ET_FORALL_REALHBBF16_TYPES(PRINT_CASE)
    ET_FORALL_COMPLEXH_TYPES(PRINT_CASE)
    PRINT_CASE(uint16_t, UInt16)
    PRINT_CASE(uint32_t, UInt32)
    PRINT_CASE(uint64_t, UInt64)
#undef PRINT_CASE
    default:
      os << "not printed";
  }
  return os << "])";
}

}  // namespace etensor
}  // namespace runtime
}  // namespace executorch
