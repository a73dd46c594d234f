// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * Where kernels for products of matrices find the rows of the left matrix.
 */
#pragma once

#include <cstddef>
#include <cstdint>

namespace executorch {
namespace backends {
namespace xnnpack {

template <typename T>
T* plus_bytes(T* pointer, size_t bytes) {
  return reinterpret_cast<T*>(reinterpret_cast<uintptr_t>(pointer) + bytes);
}

/// Rows that lie behind one another, as gemm kernels get them.
template <typename T>
struct StridedRows {
  const T* a;
  size_t stride;  // bytes
  size_t tap_count() const { return 1; }
  const T* at(size_t /*tap*/, size_t row) const { return plus_bytes(a, row * stride); }
};

/// Rows by a table of pointers, as igemm kernels get them: one for each position of the kernel's window and row.
template <typename T>
struct IndirectRows {
  const T** table;
  size_t rows;  // in the table, of a position
  size_t taps;
  size_t offset;  // bytes, of the image of the batch
  const T* zero;  // stands for padding; it has no offset
  size_t tap_count() const { return taps; }
  const T* at(size_t tap, size_t row) const {
    const T* found = table[tap * rows + row];
    return found == zero ? found : plus_bytes(found, offset);
  }
};

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
