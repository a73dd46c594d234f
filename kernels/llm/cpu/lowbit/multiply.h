// SPDX-License-Identifier: BSD-3-Clause
// GEMM of rows of activations and packed weights, with the best instruction set of the processor.
#pragma once

#include <cstdint>

#include "kernels/llm/cpu/lowbit/packed.h"

namespace torch::executor::native {

/// Activations in int8. Blocks of `interleave` rows are interleaved: some columns of the first row, the same columns of
/// the second row and so on, then the next columns. Rows are padded with zeros, and the last block with zero rows.
struct QuantizedRows {
  int64_t rows;
  int64_t interleave;
  int64_t columns;     ///< the number of contiguous columns of a row: 4 or 8
  int8_t* values;      ///< [block][padded columns / columns][interleave][columns]
  float* scales;       ///< [block][group][interleave]
  float* scaled_sums;  ///< [block][group][interleave]: scale * sum of the group's integers
  int32_t* sums;       ///< [block][group][interleave]: the sum of the group's integers
  float* offsets;      ///< [block][interleave]: scale * zero point; 0 where rows have no zero point

  int64_t blocks() const { return (rows + interleave - 1) / interleave; }
};

/// multiply_tiles() and multiply_float_tiles() for one instruction set.
struct Multiplication {
  const char* name;
  bool (*runs)();         ///< whether this processor has the instructions
  int64_t block_rows;     ///< QuantizedRows::interleave, unless the rows are few
  int64_t block_columns;  ///< QuantizedRows::columns; 4 if it does not divide the columns of a group
  void (*tiles)(const PackedWeights& weights, const QuantizedRows& rows, int64_t begin, int64_t end, float* out);
  /// nullptr: the baseline's is called.
  void (*float_tiles)(const PackedWeights& weights, const float* x, int64_t rows, int64_t begin, int64_t end,
                      float* out);
};

// Each is defined in its own source file, if the build compiles one for that instruction set.
extern const Multiplication kMultiplyBaseline, kMultiplyAvx2, kMultiplyAvx3, kMultiplyAvx3Dl, kMultiplyNeonDotprod,
    kMultiplyNeonI8mm;

/// The instruction sets for which the functions are compiled, best first, with nullptr at the end.
extern const Multiplication* const kMultiplications[];

/// The one that this processor uses.
const Multiplication& multiplication();

/// For tests: uses this instruction set from now on; nullptr means the best one that runs.
void choose_multiplication(const Multiplication* chosen);

/// The size in bytes of `rows` quantised rows for these weights.
int64_t quantized_bytes(const PackedWeights& weights, int64_t rows);

/// Places quantised rows in quantized_bytes() bytes at `memory`, which is aligned for floats.
QuantizedRows place_rows(const PackedWeights& weights, int64_t rows, void* memory);

/// Quantises the blocks [begin, end) of rows of `weights.columns` floats, in the scheme of the weights:
/// - a scale for each group: x ~ scale * q with scale = max |x| / 127, as in ggml's Q8_0, but in float32;
/// - a scale and a zero point for each row: x ~ scale * (q - zero point), torchao's INT8_ASYM_PER_TOKEN.
/// The scale of a group, or row, that contains NaN or infinity is NaN, so that its results are NaN.
void quantize_blocks(const PackedWeights& weights, const float* x, int64_t begin, int64_t end,
                     const QuantizedRows& rows);

/// out[i * n + j] = the dot product of row i and row j of the weights, for the 16 columns j of each of the tiles
/// [begin, end). Results do not depend on how the tiles are divided among calls.
void multiply_tiles(const PackedWeights& weights, const QuantizedRows& rows, int64_t begin, int64_t end, float* out);

/// The same for rows of floats: the weights are dequantised, and the activations stay floats.
void multiply_float_tiles(const PackedWeights& weights, const float* x, int64_t rows, int64_t begin, int64_t end,
                          float* out);

}  // namespace torch::executor::native
