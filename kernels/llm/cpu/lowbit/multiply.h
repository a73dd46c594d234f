// SPDX-License-Identifier: BSD-3-Clause
// Products of rows of activations and packed weights, for the best instruction set of the machine.
#pragma once

#include <cstdint>

#include "kernels/llm/cpu/lowbit/packed.h"

namespace torch::executor::native {

/// Activations in int8. Blocks of `interleave` rows lie interleaved: of each four columns the first row's, the second
/// row's and so on. The last block is padded with rows of zeros, a row with columns of zeros.
struct QuantizedRows {
  int64_t rows;
  int64_t interleave;
  int8_t* values;      ///< [block][padded columns / 4][interleave][4]
  float* scales;       ///< [block][group][interleave]
  float* scaled_sums;  ///< the same: scale * sum of the group's integers
  int32_t* sums;       ///< the same: the sum
  float* offsets;      ///< [block][interleave]: scale * zero point, of activations with one for a row; else 0

  int64_t blocks() const { return (rows + interleave - 1) / interleave; }
};

/// The products of an instruction set, whose file defines them. Both functions are those that are declared below.
struct Multiplication {
  const char* name;
  bool (*runs)();      ///< whether this processor has the instructions
  int64_t block_rows;  ///< the interleave of more than a few rows
  void (*tiles)(const PackedWeights& weights, const QuantizedRows& rows, int64_t begin, int64_t end, float* out);
  /// nullptr: those of the baseline.
  void (*float_tiles)(const PackedWeights& weights, const float* x, int64_t rows, int64_t begin, int64_t end,
                      float* out);
};

// Each is defined by its source file, if that is compiled for a separate instruction set.
extern const Multiplication kMultiplyBaseline, kMultiplyAvx2, kMultiplyAvx3, kMultiplyAvx3Dl, kMultiplyNeonDotprod,
    kMultiplyNeonI8mm;

/// The instruction sets for which products are compiled, best first, and nullptr.
extern const Multiplication* const kMultiplications[];

/// The one that computes products on this processor.
const Multiplication& multiplication();

/// For tests: products are computed by this instruction set from now on; with nullptr, by the best one that runs.
void choose_multiplication(const Multiplication* chosen);

/// The bytes of `rows` quantised rows for these weights, and where they lie in as many bytes from an address with the
/// alignment of a float.
int64_t quantized_bytes(const PackedWeights& weights, int64_t rows);
QuantizedRows place_rows(const PackedWeights& weights, int64_t rows, void* memory);

/// Quantises the blocks [begin, end) of rows of `weights.columns` floats, as the weights say:
/// - a scale a group: x ~ scale * q with scale = max |x| / 127, as in ggml's Q8_0, but in float32;
/// - a scale and a zero point a row: x ~ scale * (q - zero point), torchao's INT8_ASYM_PER_TOKEN.
/// A group, or row, with NaN or infinity has the scale NaN, which makes what is computed from it NaN.
void quantize_blocks(const PackedWeights& weights, const float* x, int64_t begin, int64_t end,
                     const QuantizedRows& rows);

/// out[i * n + j] = the product of row i and row j of the weights, for the 16 columns j of each of the tiles
/// [begin, end). The numbers do not depend on how tiles are divided.
void multiply_tiles(const PackedWeights& weights, const QuantizedRows& rows, int64_t begin, int64_t end, float* out);

/// The same for rows of floats: the weights are dequantised, nothing else is rounded.
void multiply_float_tiles(const PackedWeights& weights, const float* x, int64_t rows, int64_t begin, int64_t end,
                          float* out);

}  // namespace torch::executor::native
