// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * The addresses of the rows of A for GEMM and IGEMM kernels, and the number of rows of a tile.
 */
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace executorch {
namespace backends {
namespace xnnpack {

template <typename T>
T* plus_bytes(T* pointer, size_t bytes) {
  return reinterpret_cast<T*>(reinterpret_cast<uintptr_t>(pointer) + bytes);
}

/// Rows with a constant stride, for GEMM kernels.
template <typename T>
struct StridedRows {
  const T* a;
  size_t stride;  // bytes
  size_t tap_count() const { return 1; }
  const T* at(size_t /*tap*/, size_t row) const { return plus_bytes(a, row * stride); }
};

/// Rows through the indirection buffer of IGEMM kernels, which has a pointer for each tap and row: [taps][rows].
template <typename T>
struct IndirectRows {
  const T** table;
  size_t rows;  // pointers for each tap
  size_t taps;
  size_t offset;  // bytes to the current image of the batch
  const T* zero;  // the padding; `offset` is not added to it
  size_t tap_count() const { return taps; }
  const T* at(size_t tap, size_t row) const {
    const T* found = table[tap * rows + row];
    return found == zero ? found : plus_bytes(found, offset);
  }
};

/// Makes IndirectRows from the arguments of an IGEMM kernel whose indirection buffer has `TableRows` pointers for each
/// tap. `table_bytes` is the size of the part for one tile.
template <typename T, size_t TableRows>
IndirectRows<T> indirect_rows(const void** table, size_t table_bytes, size_t offset, const void* zero) {
  return {reinterpret_cast<const T**>(table), TableRows, table_bytes / (TableRows * sizeof(void*)), offset,
          static_cast<const T*>(zero)};
}

/// See expect_far_weights().
inline std::atomic<bool> weights_are_far{false};

/// Prefetches weights, a cache line in each step of a tile.
class Fetch final {
 public:
  /// @param bytes The distance between the prefetches of two steps.
  /// @param steps The number of steps of earlier tiles, whose prefetches are skipped.
  Fetch(const void* from, size_t bytes, size_t steps)
      : at_(reinterpret_cast<uintptr_t>(from) + bytes * steps), bytes_(bytes) {}

  // This may go past the last weights: to those of the next operator, or to unmapped memory, where a prefetch has no
  // effect.
  __attribute__((always_inline)) void step() {
    __builtin_prefetch(reinterpret_cast<const void*>(at_));
    at_ += bytes_;
  }

 private:
  uintptr_t at_;
  const size_t bytes_;
};

/// Calls function(std::integral_constant<size_t, rows>()), because the compiler keeps a tile in registers only if its
/// height is a constant. `rows` is from 1 to `Most`.
template <size_t Most, typename Function>
void with_row_count(size_t rows, const Function& function) {
  if constexpr (Most > 1) {
    if (rows < Most) {
      return with_row_count<Most - 1>(rows, function);
    }
  }
  function(std::integral_constant<size_t, Most>());
}

/// Calls function(height, panels, first row, first panel, columns from the first panel on) for each tile of a GEMM with
/// panels of Tiles::kColumns columns; `height` and `panels` are std::integral_constants. All rows are multiplied by one
/// or a few panels, which stay in the cache, before the next panels. `Tiles` has kTileRows, kTilePanels and
/// most_panels(rows), the number of panels if there is only one tile of rows.
template <typename Tiles, typename Function>
void for_tiles(size_t rows, size_t columns, const Function& function) {
  constexpr size_t kColumns = Tiles::kColumns;
  const size_t tiles = (rows + Tiles::kTileRows - 1) / Tiles::kTileRows;
  for (size_t first = 0, passed = 1; first * kColumns < columns; first += passed) {
    const size_t left = columns - first * kColumns;
    for (size_t tile = 0, row = 0; tile < tiles; ++tile) {
      // Rows are divided evenly: seven rows, with at most six in a tile, are tiles of four and three.
      const size_t count = (rows - row + tiles - tile - 1) / (tiles - tile);
      with_row_count<Tiles::kTileRows>(count, [&](auto height) {
        constexpr size_t kMost = Tiles::most_panels(height()), kUsual = Tiles::kTilePanels;
        const auto pass = [&](auto panels) {
          passed = panels();
          function(height, panels, row, first, left);
        };
        if (kMost > kUsual && tiles == 1 && left > (kMost - 1) * kColumns) {
          pass(std::integral_constant<size_t, kMost>());
        } else if (kUsual > 1 && left > (kUsual - 1) * kColumns) {
          pass(std::integral_constant<size_t, kUsual>());
        } else {
          pass(std::integral_constant<size_t, 1>());
        }
      });
      row += count;
    }
  }
}

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
