// SPDX-License-Identifier: BSD-3-Clause
// Matrices of 4- or 8-bit weights in the bytes of torchao's operators `_pack_8bit_act_4bit_weight` and
// `_pack_8bit_act_8bit_weight`, in their layout "universal". Everything is little-endian.
//
// A header of 64 bytes, in int32:
//    0  kTorchaoMagic
//    4  the layout, kTorchaoUniversal
//    8  the bits of a weight
//   12  1 if groups have zero points, and 1 if there is a bias; both 0 here
//   20  kTorchaoRows, kTorchaoColumns and 2: the rows and columns of a block, and the parts of its columns
//   32  zeros
//
// Then the rows in tiles of 8, the last one padded with zeros; a tile has its columns in groups, and a group
//   the weights, in blocks of 8 rows x 16 columns. A block has the first 8 columns of each row, then the others.
//   Weights of 8 bits are int8. Of 4 bits, 8 is added; 16 bytes hold 32 weights, the first 16 in the low halves;
//   float[8]          the scales of the rows
//   int32[8]          the sums of the rows
#pragma once

#include <cstdint>

#include <executorch/runtime/kernel/kernel_includes.h>

namespace torch::executor::native {

constexpr int32_t kTorchaoMagic = 6712;
constexpr int32_t kTorchaoUniversal = 1;
constexpr int64_t kTorchaoHeaderBytes = 64;
constexpr int64_t kTorchaoRows = 8;
constexpr int64_t kTorchaoColumns = 16;

/// A matrix in memory that it does not own.
struct TorchaoWeights {
  int64_t bits;
  int64_t columns;
  int64_t group;
  const uint8_t* data;  ///< of the first tile

  int64_t weight_bytes() const { return group * kTorchaoRows * bits / 8; }
  int64_t group_bytes() const { return weight_bytes() + kTorchaoRows * 4 * 2; }
  int64_t tile_bytes() const { return columns / group * group_bytes(); }
};

/// Reads the header of `size` bytes at `data`. Reports InvalidArgument and returns false if they are not `rows` x
/// `columns` weights of `bits` bits with a scale for every `group` columns. `name` is the argument's.
bool read_torchao_weights(KernelRuntimeContext& ctx, const char* op, const char* name, const uint8_t* data,
                          int64_t size, int64_t rows, int64_t columns, int64_t group, int64_t bits,
                          TorchaoWeights* weights);

/// The products of `x`, which has a number for each column, and the eight rows of a tile.
void multiply_torchao_tile(const TorchaoWeights& weights, int64_t tile, const float* x, float (&products)[8]);

}  // namespace torch::executor::native
