// SPDX-License-Identifier: BSD-3-Clause
// Complex numbers. All arithmetic is in double, whatever the dtype of the parts.
#pragma once

#include <complex>

#include "kernels/portable/cpu/pattern/compute_type.h"

namespace torch::executor::native {

using Complex = std::complex<double>;

/// Whether the source file is compiled for complex numbers.
static constexpr bool kSelectsComplex = is_selected(ScalarType::ComplexHalf) || is_selected(ScalarType::ComplexFloat) ||
                                        is_selected(ScalarType::ComplexDouble);

/// False, at compile time, where the source file is not compiled for complex numbers.
static constexpr bool is_complex(ScalarType dtype) {
  return kSelectsComplex && executorch::runtime::isComplexType(dtype);
}

/// Whether elements of `dtype` can be read and written as complex numbers.
bool is_number(ScalarType dtype);

/// Reads element `index` of `data`, whose dtype is_number().
Complex read_complex(const void* data, ScalarType dtype, int64_t index);

/// Writes element `index`: the real part if the dtype is not complex, and for Bool whether the number is not zero.
void write_complex(void* data, ScalarType dtype, int64_t index, Complex value);

/// Writes the value of `scalar` as an element of `dtype`, which must be a number, to `dst` (at least 16 bytes).
void store_number(const Scalar& scalar, ScalarType dtype, void* dst);

/// Product and quotient as in PyTorch: without C's special cases for infinities.
Complex multiply(Complex a, Complex b);
Complex divide(Complex a, Complex b);

}  // namespace torch::executor::native
