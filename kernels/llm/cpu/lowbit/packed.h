// SPDX-License-Identifier: BSD-3-Clause
// Matrices of 1- to 8-bit weights, in groups that share a scale, packed for the kernels of this folder.
//
// Python packs them (sdk/extension/llm/custom_ops/packed.py); the layout below is the contract. Everything is
// little-endian.
//
// A header of 64 bytes:
//    0  uint32  kPackedMagic
//    4  uint8   bits of a stored weight, 1 to 8
//    5  uint8   PackedFlags
//    6  uint16  the zero point of all weights, if they have no minima
//    8  uint32  group: weights of a row that share a scale; a multiple of unit_of(bits), at most kMaxGroup
//   12  uint32  rows, n
//   16  uint32  columns, k
//   20  uint32  groups of a block (only with kBlockFactors, else 0), of which a row has a whole number
//   24          zeros
//
// Then the rows in tiles of 16, the last one padded with rows of zeros, and within a tile the columns in groups, the
// last one padded with columns of zeros. A tile has
//   float[16]         the sum of each row's weights (only with kRowActivations), then for each group:
//   scale[16]         float16, or float32 with kWideScales, or int8 with kBlockFactors
//   minimum[16]       of the same type, only with kMinima
//   the weights, in units of unit_of(bits) columns. A unit has planes of 4 bits, 2 bits and 1 bit, those whose sum is
//   the number of bits. Weights of 8 bits are whole bytes: u, or u - 128 with kSignedBytes. Weight [row r, column 4 j
//   + i] belongs to byte 4 r + i: of 64-byte block j for whole bytes; else in a plane of b bits, of block j / (8 / b),
//   from bit (j % (8 / b)) * b on. The first plane has the lowest bits: 6 = 4 + 2 is (4 bits) | (2 bits) << 4.
//
// With kBlockFactors, as in ggml's Q4_K, Q5_K and Q6_K, a block of groups begins with
//   float16[16]       the factor of its scales
//   float16[16]       that of its minima, only with kMinima
// and a scale or minimum is this factor times the int8 of the group, which float32 holds exactly.
//
// A weight's value is scale * u - minimum, or scale * (u - zero point).
#pragma once

#include <cstdint>

#include <executorch/runtime/kernel/kernel_includes.h>

namespace torch::executor::native {

constexpr uint32_t kPackedMagic = 0x3157424C;  // "LBW1"
constexpr int64_t kPackedHeaderBytes = 64;
constexpr int64_t kTileOutputs = 16;
constexpr int64_t kMaxGroup = 256;

enum PackedFlags : uint8_t {
  kMinima = 1,
  kRowActivations = 2,  ///< int8 activations have a scale and a zero point per row; otherwise a scale per group
  kWideScales = 4,
  kBlockFactors = 8,  ///< not with kWideScales
  kSignedBytes = 16,  ///< only of 8 bits; Arm's dot products take them as they are
};

/// The columns of a unit: they fill a 64-byte block of the plane with the fewest bits.
constexpr int64_t unit_of(int bits) {
  return bits == 8 ? 4 : bits % 2 == 1 ? 32 : bits % 4 != 0 ? 16 : 8;
}

/// A packed matrix in memory that it does not own.
struct PackedWeights {
  int bits;
  bool has_minima;
  bool row_activations;
  bool wide_scales;
  bool block_factors;
  bool signed_bytes;
  int32_t zero_point;
  int64_t group;
  int64_t rows;
  int64_t columns;
  int64_t groups;        ///< of a row
  int64_t block_groups;  ///< groups of a block; without factors a row is one block
  int64_t factor_bytes;  ///< of the factors of a block
  int64_t tiles;
  int64_t scale_bytes;  ///< of the scales of a group
  int64_t group_bytes;
  int64_t tile_bytes;
  const uint8_t* data;  ///< of the first tile

  /// The blocks of a row.
  int64_t blocks() const { return block_groups == 0 ? 0 : groups / block_groups; }
  int64_t padded_columns() const { return groups * group; }
  const uint8_t* tile(int64_t number) const { return data + number * tile_bytes; }
  /// The first block of a tile.
  const uint8_t* blocks_of(int64_t number) const { return tile(number) + (row_activations ? kTileOutputs * 4 : 0); }
};

/// Reads a header. Reports InvalidArgument and returns false if it is not a packed matrix of n rows and k columns, or
/// if its size differs from the header's.
bool read_packed(KernelRuntimeContext& ctx, const char* op, const Tensor& packed, int64_t n, int64_t k,
                 PackedWeights* weights);

}  // namespace torch::executor::native
