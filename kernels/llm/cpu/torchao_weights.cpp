// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/llm/cpu/torchao_weights.h"

#include <cinttypes>
#include <cstring>

namespace torch::executor::native {

namespace {

constexpr int64_t kHalf = kTorchaoColumns / 2;

float float_at(const uint8_t* data, int64_t index) {
  float number;
  std::memcpy(&number, data + index * 4, sizeof(number));
  return number;
}

// The sum of the products of eight columns of a row. `half` has the first or the last eight columns of a block's rows.
float multiply_eight(const TorchaoWeights& weights, const uint8_t* half, int64_t row, const float* x) {
  float sum = 0;
  if (weights.bits == 8) {
    for (int64_t i = 0; i < kHalf; ++i) {
      sum += x[i] * static_cast<float>(static_cast<int8_t>(half[row * kHalf + i]));
    }
    return sum;
  }
  // Four rows have 32 weights; the first two are the low halves of 16 bytes.
  const uint8_t* bytes = half + row / 4 * 16 + row % 2 * kHalf;
  const int shift = row % 4 < 2 ? 0 : 4;
  for (int64_t i = 0; i < kHalf; ++i) {
    sum += x[i] * static_cast<float>((bytes[i] >> shift & 15) - 8);
  }
  return sum;
}

}  // namespace

bool read_torchao_weights(KernelRuntimeContext& ctx, const char* op, const char* name, const uint8_t* data,
                          int64_t size, int64_t rows, int64_t columns, int64_t group, int64_t bits,
                          TorchaoWeights* weights) {
  ET_KERNEL_CHECK_MSG(ctx, bits == 4 || bits == 8, InvalidArgument, false,
                      "%s: weights have 4 or 8 bits, found %" PRId64, op, bits);
  ET_KERNEL_CHECK_MSG(ctx, group > 0 && group % kTorchaoColumns == 0 && columns % group == 0, InvalidArgument, false,
                      "%s: groups must have a multiple of %" PRId64 " columns and divide the %" PRId64
                      " columns of %s; found %" PRId64,
                      op, kTorchaoColumns, columns, name, group);
  ET_KERNEL_CHECK_MSG(ctx, size >= kTorchaoHeaderBytes, InvalidArgument, false,
                      "%s: an expert of %s has %" PRId64 " bytes; the header alone has %" PRId64, op, name, size,
                      kTorchaoHeaderBytes);
  int32_t fields[8];
  std::memcpy(fields, data, sizeof(fields));
  ET_KERNEL_CHECK_MSG(
      ctx,
      fields[0] == kTorchaoMagic && fields[1] == kTorchaoUniversal && fields[2] == bits && fields[3] == 0 &&
          fields[4] == 0 && fields[5] == kTorchaoRows && fields[6] == kTorchaoColumns && fields[7] == 2,
      InvalidArgument, false,
      "%s: %s must have torchao's weights of %" PRId64
      " bits without zero points and bias, in its layout 1 with blocks "
      "of 8 x 16; found the numbers %" PRId32 ", %" PRId32 ", %" PRId32 ", %" PRId32 ", %" PRId32 ", %" PRId32
      ", %" PRId32 ", %" PRId32,
      op, name, bits, fields[0], fields[1], fields[2], fields[3], fields[4], fields[5], fields[6], fields[7]);
  *weights = {bits, columns, group, data + kTorchaoHeaderBytes};
  // A row has at least as many bytes as an eighth of its columns, and a tensor fewer than 2^63 bytes.
  const int64_t tiles = (rows + kTorchaoRows - 1) / kTorchaoRows;
  const int64_t available = (size - kTorchaoHeaderBytes) / weights->tile_bytes();
  ET_KERNEL_CHECK_MSG(ctx, tiles <= available, InvalidArgument, false,
                      "%s: an expert of %s has %" PRId64 " bytes, which hold %" PRId64 " tiles of 8 rows; %" PRId64
                      " rows need %" PRId64,
                      op, name, size, available, rows, tiles);
  return true;
}

void multiply_torchao_tile(const TorchaoWeights& weights, int64_t tile, const float* x, float (&products)[8]) {
  const uint8_t* data = weights.data + tile * weights.tile_bytes();
  const int64_t half_bytes = kHalf * kTorchaoRows * weights.bits / 8;
  for (float& product : products) {
    product = 0;
  }
  for (int64_t first = 0; first < weights.columns; first += weights.group, data += weights.group_bytes()) {
    const uint8_t* scales = data + weights.weight_bytes();
    for (int64_t row = 0; row < kTorchaoRows; ++row) {
      float sum = 0;
      for (int64_t column = 0; column < weights.group; column += kHalf) {
        sum += multiply_eight(weights, data + column / kHalf * half_bytes, row, x + first + column);
      }
      products[row] += sum * float_at(scales, row);
    }
  }
}

}  // namespace torch::executor::native
