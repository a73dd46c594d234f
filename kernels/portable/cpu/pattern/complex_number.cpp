// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/portable/cpu/pattern/complex_number.h"

#include <cmath>
#include <type_traits>

namespace torch::executor::native {
namespace {

template <typename T>
using Stored = executorch::aten::complex<T>;

template <typename T>
Complex read_as(const void* data, int64_t index) {
  const Stored<T> value = static_cast<const Stored<T>*>(data)[index];
  return {static_cast<double>(value.real()), static_cast<double>(value.imag())};
}

template <typename T>
T part_as(double value) {
  if constexpr (std::is_same_v<T, Half>) {
    return Half(static_cast<float>(value));
  } else {
    return static_cast<T>(value);
  }
}

template <typename T>
void write_as(void* data, int64_t index, Complex value) {
  static_cast<Stored<T>*>(data)[index] = Stored<T>(part_as<T>(value.real()), part_as<T>(value.imag()));
}

}  // namespace

bool is_number(ScalarType dtype) {
  return is_complex(dtype) || is_supported_dtype(dtype);
}

Complex read_complex(const void* data, ScalarType dtype, int64_t index) {
  switch (dtype) {
    case ScalarType::ComplexHalf:
      return read_as<Half>(data, index);
    case ScalarType::ComplexFloat:
      return read_as<float>(data, index);
    case ScalarType::ComplexDouble:
      return read_as<double>(data, index);
    default:
      break;
  }
  const size_t size = executorch::runtime::elementSize(dtype);
  double value = 0;
  load_fn(dtype, ComputeType::Double)(&value, static_cast<const char*>(data) + index * static_cast<int64_t>(size), 1);
  return {value, 0.0};
}

void write_complex(void* data, ScalarType dtype, int64_t index, Complex value) {
  switch (dtype) {
    case ScalarType::ComplexHalf:
      return write_as<Half>(data, index, value);
    case ScalarType::ComplexFloat:
      return write_as<float>(data, index, value);
    case ScalarType::ComplexDouble:
      return write_as<double>(data, index, value);
    default:
      break;
  }
  const size_t size = executorch::runtime::elementSize(dtype);
  const double real = dtype == ScalarType::Bool ? (value != 0.0 ? 1.0 : 0.0) : value.real();
  store_fn(ComputeType::Double, dtype)(static_cast<char*>(data) + index * static_cast<int64_t>(size), &real, 1);
}

void store_number(const Scalar& scalar, ScalarType dtype, void* dst) {
  if (is_complex(dtype)) {
    write_complex(dst, dtype, 0, scalar_to<double>(scalar));
  } else {
    store_scalar_as(scalar, dtype, dst);
  }
}

Complex multiply(Complex a, Complex b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

// Scales by the larger part of the divisor, whose square might overflow (Smith 1962).
Complex divide(Complex a, Complex b) {
  if (std::fabs(b.real()) >= std::fabs(b.imag())) {
    if (b == 0.0) {
      return {a.real() / std::fabs(b.real()), a.imag() / std::fabs(b.imag())};
    }
    const double ratio = b.imag() / b.real(), scale = 1.0 / (b.real() + b.imag() * ratio);
    return {(a.real() + a.imag() * ratio) * scale, (a.imag() - a.real() * ratio) * scale};
  }
  const double ratio = b.real() / b.imag(), scale = 1.0 / (b.real() * ratio + b.imag());
  return {(a.real() * ratio + a.imag()) * scale, (a.imag() * ratio - a.real()) * scale};
}

}  // namespace torch::executor::native
