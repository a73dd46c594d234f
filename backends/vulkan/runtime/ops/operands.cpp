// SPDX-License-Identifier: BSD-3-Clause
#include "ops/operands.h"

#include <algorithm>
#include <cinttypes>
#include <cstring>

#include "graph/host_copy.h"

namespace executorch {
namespace backends {
namespace vulkan {

void put(std::vector<uint8_t>& image, Kind kind, size_t index, float value) {
  if (kind == Kind::Half) {
    const aten::Half half(value);
    std::memcpy(image.data() + index * 2, &half, 2);
  } else {
    std::memcpy(image.data() + index * 4, &value, 4);
  }
}

float get(const uint8_t* data, VkDataType dtype, size_t index) {
  float value = 0;
  copy_to_kind(data + index * stored_bytes(dtype), dtype, 1, Kind::Float, &value);
  return value;
}

gpu::Buffer* operand(OpContext& c, Tensor* tensor, Kind kind, int64_t least, int number) {
  if (tensor == nullptr || c.failed()) {
    return nullptr;
  }
  c.check(tensor->count() >= least, "a weight has %" PRId64 " elements, expected %" PRId64, tensor->count(), least);
  if (tensor->kind == kind) {
    return c.memory(*tensor);
  }
  Tensor& converted = c.scratch(number, kind, tensor->sizes, tensor->capacity);
  copy_all(c, converted, *tensor);
  return c.memory(converted);
}

gpu::Buffer* columns(OpContext& c, Tensor& tensor, Kind kind, int64_t batch, int64_t k, int64_t n, bool is_transposed,
                     int number) {
  if (c.failed() || !c.check(tensor.count() == batch * k * n, "a matrix has %" PRId64 " elements, expected %" PRId64,
                             tensor.count(), batch * k * n)) {
    return nullptr;
  }
  const int64_t padded = (n + 3) / 4 * 4;
  const VkDataType dtype = tensor.dtype;
  if (OpContext::is_constant(tensor)) {
    const std::string tag = "columns/" + std::to_string(batch) + "x" + std::to_string(k) + "x" + std::to_string(n) +
                            (is_transposed ? "t" : "") + name_of(kind);
    return c.packed(tensor, tag, [=](const uint8_t* data) {
      std::vector<uint8_t> image(static_cast<size_t>(batch * k * padded) * bytes_of(kind));
      std::vector<float> numbers(static_cast<size_t>(batch * k * n));
      copy_to_kind(data, dtype, numbers.size(), Kind::Float, numbers.data());
      for (int64_t b = 0; b < batch; ++b) {
        for (int64_t i = 0; i < k; ++i) {
          for (int64_t j = 0; j < n; ++j) {
            const int64_t from = is_transposed ? (b * n + j) * k + i : (b * k + i) * n + j;
            put(image, kind, static_cast<size_t>((b * k + i) * padded + j), numbers[static_cast<size_t>(from)]);
          }
        }
      }
      return image;
    });
  }
  if (!is_transposed && padded == n && tensor.kind == kind) {
    return c.memory(tensor);
  }
  // At the largest shapes too, no row grows by more than three elements.
  Tensor& copy = c.scratch(number, kind, {batch, k, padded}, tensor.capacity + 3 * batch * k);
  const View from{0, is_transposed ? std::vector<int64_t>{k * n, 1, k} : std::vector<int64_t>{k * n, n, 1}};
  copy_view(c, copy, {0, {k * padded, padded, 1}}, tensor, from, {batch, k, n});
  return c.memory(copy);
}

Split split_of(OpContext& c, int64_t threads, int64_t depth, uint32_t local, int32_t most, int64_t repeats) {
  // Every device of Vulkan 1.1 has 64 threads in z and 16 KiB of shared memory.
  const gpu::Features& gpu = c.features();
  const uint32_t room = std::min<uint32_t>({gpu.max_threads, gpu.shared_bytes / 16, 512});
  Split split;
  const auto iterations = [&] { return (depth + split.parts - 1) / split.parts * repeats; };
  while ((threads * split.parts < gpu.least_threads || iterations() > gpu.most_iterations) && split.parts < most &&
         depth >= split.parts * 2 * (256 / most) && local * static_cast<uint32_t>(split.parts) * 2 <= room) {
    split.parts *= 2;
  }
  c.check_iterations(iterations());
  split.shared = split.parts == 1 ? 1 : split.parts * static_cast<int32_t>(local);
  return split;
}

void run_softmax(OpContext& c, Tensor& out, Tensor& in, int64_t length, int64_t inner, Softmax mode) {
  if (c.failed() || in.count() == 0) {
    return;
  }
  const int64_t rows = in.count() / length;
  const Split split = split_of(c, rows, length, 1, 64, 3);
  // The threads that share a row are a workgroup.
  const uint32_t local = split.parts == 1 ? 64 : 1;
  c.run("softmax" + kinds({in.kind}), {c.memory(out), c.memory(in)}, Parameters().i(rows).i(length).i(inner), rows,
        {static_cast<int32_t>(mode), split.parts, split.shared}, {local, 1, static_cast<uint32_t>(split.parts)});
}

void run_matmul(OpContext& c, const Matmul& s, Kind kind, gpu::Buffer* out, gpu::Buffer* a, gpu::Buffer* b,
                gpu::Buffer* bias) {
  if (c.failed() || s.batch * s.m * s.n == 0) {
    return;
  }
  const int64_t vectors = (s.n + 3) / 4;
  const int32_t rows = s.m >= 8 ? 8 : s.m >= 4 ? 4 : s.m >= 2 ? 2 : 1;
  const int64_t tiles = (s.m + rows - 1) / rows;
  // On a processor, whose registers may overflow, a thread computes 16 columns, unless the matrix is small: its driver
  // takes long to compile this kernel.
  const bool is_processor = c.features().least_threads <= 1;
  const bool is_large = vectors >= 32 && s.m >= 8 && s.batch * s.m * s.n * s.k >= (1 << 22);
  const bool is_wide = vectors >= 64 && vectors * tiles * s.batch >= 2 * c.features().least_threads;
  const int32_t blocks = is_processor && is_large ? 4 : is_wide ? 2 : 1;
  const int64_t threads = (vectors + blocks - 1) / blocks;
  const uint32_t local = blocks == 4 ? 8 : threads >= 64 ? 64 : threads >= 32 ? 32 : threads >= 16 ? 16 : 8;
  const Split split = split_of(c, threads * tiles * s.batch, s.k, local);
  c.run("matmul" + kinds({kind}), {out, out, a, a, b, bias == nullptr ? a : bias},
        Parameters()
            .i(s.m)
            .i(s.n)
            .i(s.k)
            .i(s.a_is_shared ? 0 : s.m * s.k)
            .i(s.k * vectors)
            .f(s.scale)
            .f(s.bias_scale)
            .f(s.low)
            .f(s.high),
        Threads{threads, tiles, s.batch * split.parts},
        {rows, blocks, s.k % 4 == 0 ? 1 : 0, s.n % 4 == 0 ? 1 : 0, s.bias, s.clamps ? 1 : 0, split.parts, split.shared},
        {local, 1, static_cast<uint32_t>(split.parts)});
}

}  // namespace vulkan
}  // namespace backends
}  // namespace executorch
