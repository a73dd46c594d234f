// SPDX-License-Identifier: BSD-3-Clause
// Weights and biases in the form that kernels read.
#pragma once

#include <executorch/runtime/core/exec_aten/exec_aten.h>

#include "ops/views.h"

namespace executorch {
namespace backends {
namespace vulkan {

/// Writes element `index` of a packed constant of this kind.
void put(std::vector<uint8_t>& image, Kind kind, size_t index, float value);

/// Reads element `index` of a constant of the program.
float get(const uint8_t* data, VkDataType dtype, size_t index);

/// Returns a tensor in the given kind, for reading. A tensor of another kind is converted to temporary memory `number`.
/// Null stays null.
gpu::Buffer* operand(OpContext& context, Tensor* tensor, Kind kind, int64_t least, int number);

/**
 * B [batch, k, n] of a matrix multiplication in rows of whole vectors of four columns: the constant packed, the tensor
 * itself if it has that form, or a copy.
 *
 * @param is_transposed The tensor is [batch, n, k].
 */
gpu::Buffer* columns(OpContext& context, Tensor& tensor, Kind kind, int64_t batch, int64_t k, int64_t n,
                     bool is_transposed, int number);

/// The number of threads of a workgroup that share a sum, and the size of the workgroup's shared memory.
struct Split {
  int32_t parts = 1;
  int32_t shared = 1;  ///< vectors of 4 numbers
};

/**
 * Divides each sum among several threads if one thread for each sum would not fill the GPU.
 *
 * @param threads The number of threads if each computes a whole sum.
 * @param depth Terms of a sum.
 * @param local Threads of a workgroup if each computes a whole sum.
 * @param most How many parts there may be, at most 64. Each has at least 256 / `most` terms.
 * @param repeats The loop iterations of a thread for each term. Fails if a thread needs more iterations than the driver
 * allows, even with `most` parts.
 */
Split split_of(OpContext& context, int64_t threads, int64_t depth, uint32_t local, int32_t most = 16,
               int64_t repeats = 1);

/// The modes of shaders/softmax.glsl. A row of -infinity becomes NaN, or zeros.
enum class Softmax : int32_t { Shares = 0, Logarithms = 1, SharesOrZeros = 2 };

/// Computes softmax of rows of `length` elements whose distance is `inner`.
void run_softmax(OpContext& context, Tensor& out, Tensor& in, int64_t length, int64_t inner, Softmax mode);

struct Matmul {
  int64_t batch = 1, m = 0, n = 0, k = 0;
  int bias = 0;  ///< 0: none, 1: one for each column, 2: one for each row
  double scale = 1, bias_scale = 1;
  bool clamps = false;
  double low = 0, high = 0;
  bool a_is_shared = false;  ///< the same a for all batches
};

/// out = a b; see shaders/matmul.glsl.
void run_matmul(OpContext& context, const Matmul& sizes, Kind kind, gpu::Buffer* out, gpu::Buffer* a, gpu::Buffer* b,
                gpu::Buffer* bias);

}  // namespace vulkan
}  // namespace backends
}  // namespace executorch
