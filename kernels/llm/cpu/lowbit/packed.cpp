// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/llm/cpu/lowbit/packed.h"

#include <cinttypes>
#include <cstring>

#include "kernels/portable/cpu/pattern/checks.h"

namespace torch::executor::native {
namespace {

using executorch::runtime::tensor_is_default_dim_order;

template <typename T>
T read(const uint8_t* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

// Reads the numbers of a header. Returns false if no packer writes such a header.
bool parse(const uint8_t* header, PackedWeights* weights) {
  const uint8_t flags = header[5];
  weights->bits = header[4];
  weights->has_minima = (flags & kMinima) != 0;
  weights->row_activations = (flags & kRowActivations) != 0;
  weights->wide_scales = (flags & kWideScales) != 0;
  weights->block_factors = (flags & kBlockFactors) != 0;
  weights->signed_bytes = (flags & kSignedBytes) != 0;
  weights->zero_point = read<uint16_t>(header + 6);
  weights->group = read<uint32_t>(header + 8);
  weights->rows = read<uint32_t>(header + 12);
  weights->columns = read<uint32_t>(header + 16);
  weights->block_groups = read<uint32_t>(header + 20);
  if (read<uint32_t>(header) != kPackedMagic || weights->bits < 1 || weights->bits > 8 || flags > 31 ||
      weights->zero_point > 255 || weights->group < 1 || weights->group > kMaxGroup ||
      weights->group % unit_of(weights->bits) != 0) {
    return false;
  }
  weights->groups = (weights->columns + weights->group - 1) / weights->group;
  if (weights->block_factors != (weights->block_groups != 0) || (weights->block_factors && weights->wide_scales) ||
      (weights->signed_bytes && weights->bits != 8)) {
    return false;
  }
  if (!weights->block_factors) {
    weights->block_groups = weights->groups;
  } else if (weights->groups % weights->block_groups != 0) {
    return false;
  }
  weights->tiles = (weights->rows + kTileOutputs - 1) / kTileOutputs;
  const int64_t parameters = weights->has_minima ? 2 : 1;
  weights->scale_bytes = kTileOutputs * (weights->block_factors ? 1 : weights->wide_scales ? 4 : 2);
  weights->factor_bytes = weights->block_factors ? kTileOutputs * 2 * parameters : 0;
  weights->group_bytes = weights->scale_bytes * parameters + kTileOutputs * weights->group * weights->bits / 8;
  // At most 2^32 columns of 512 bytes and a little more for each 16 rows: no overflow below 2^28 tiles.
  weights->tile_bytes = (weights->row_activations ? kTileOutputs * 4 : 0) + weights->groups * weights->group_bytes +
                        weights->blocks() * weights->factor_bytes;
  return true;
}

}  // namespace

bool read_packed(KernelRuntimeContext& ctx, const char* op, const Tensor& packed, int64_t n, int64_t k,
                 PackedWeights* weights) {
  ET_KERNEL_CHECK_MSG(ctx, packed.scalar_type() == ScalarType::Byte && tensor_is_default_dim_order(packed),
                      InvalidArgument, false, "%s: packed weights must be Byte in the default dim order; found %s", op,
                      toString(packed.scalar_type()));
  const uint8_t* bytes = packed.const_data_ptr<uint8_t>();
  const int64_t size = packed.numel();
  ET_KERNEL_CHECK_MSG(
      ctx, size >= kPackedHeaderBytes && parse(bytes, weights), InvalidArgument, false,
      "%s: these %" PRId64 " bytes are not weights packed for this runtime; export the model with this SDK", op, size);
  ET_KERNEL_CHECK_MSG(ctx, weights->rows == n && weights->columns == k, InvalidArgument, false,
                      "%s: expected packed weights of (%" PRId64 ", %" PRId64 "), found (%" PRId64 ", %" PRId64 ")", op,
                      n, k, weights->rows, weights->columns);
  const int64_t room = size - kPackedHeaderBytes;
  const bool fits = weights->tile_bytes == 0
                        ? room == 0
                        : room % weights->tile_bytes == 0 && room / weights->tile_bytes == weights->tiles;
  ET_KERNEL_CHECK_MSG(ctx, fits, InvalidArgument, false,
                      "%s: packed weights of (%" PRId64 ", %" PRId64 ") have %" PRId64 " tiles of %" PRId64
                      " bytes after the header; found %" PRId64 " bytes",
                      op, n, k, weights->tiles, weights->tile_bytes, room);
  weights->data = bytes + kPackedHeaderBytes;
  return true;
}

}  // namespace torch::executor::native
