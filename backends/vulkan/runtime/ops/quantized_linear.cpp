// SPDX-License-Identifier: BSD-3-Clause
// Linear layers with int8 and int4 weights.
#include <algorithm>
#include <cinttypes>
#include <cstring>

#include "ops/operands.h"
#include "ops/quantize.h"
#include "ops/tables.h"

namespace executorch {
namespace backends {
namespace vulkan {

namespace {

/// The layout of a weight in the program.
enum class Form {
  Bytes,      ///< int8 [n, k]
  Nibbles,    ///< [n, k / 2]: value + 8 in 4 bits, of the even k in the low half of a byte
  HighFirst,  ///< likewise, of the even k in the high half
};

struct Linear {
  Form form = Form::Bytes;
  int64_t n = 0, k = 0, group = 0;
  int64_t row = 0;  ///< bytes of a row in the program
};

int value_at(const uint8_t* data, const Linear& s, int64_t n, int64_t k) {
  if (s.form == Form::Bytes) {
    return static_cast<int8_t>(data[n * s.row + k]);
  }
  const uint8_t byte = data[n * s.row + k / 2];
  return ((k % 2 == 0) == (s.form == Form::Nibbles) ? byte & 15 : byte >> 4) - 8;
}

/// Packs a weight into the words that shaders/linear_quantized.glsl reads.
gpu::Buffer* pack(OpContext& c, Tensor& weight, const Linear& s) {
  const int bits = s.form == Form::Bytes ? 8 : 4;
  const std::string tag = "linear_quantized/" + std::to_string(static_cast<int>(s.form)) + "/" + std::to_string(s.n) +
                          "x" + std::to_string(s.k) + "x" + std::to_string(s.row);
  return c.packed(weight, tag, [=](const uint8_t* data) {
    const int64_t vectors = (s.n + 3) / 4;
    const int64_t rows = bits == 8 ? s.k : (s.k + 1) / 2;
    std::vector<uint8_t> image(static_cast<size_t>(rows * vectors * 4));
    for (int64_t n = 0; n < s.n; ++n) {
      for (int64_t k = 0; k < s.k; ++k) {
        const int value = value_at(data, s, n, k);
        const int64_t word = (bits == 8 ? k : k / 2) * vectors + n / 4;
        if (bits == 8) {
          image[static_cast<size_t>(word * 4 + n % 4)] = static_cast<uint8_t>(value);
        } else {
          const int64_t nibble = k % 2 * 4 + n % 4;
          image[static_cast<size_t>(word * 4 + nibble / 2)] |= static_cast<uint8_t>((value + 8) << (nibble % 2 * 4));
        }
      }
    }
    return image;
  });
}

/// Scales [groups, at least n] in rows of whole vectors.
gpu::Buffer* pack_scales(OpContext& c, Tensor& scales, const Linear& s) {
  const int64_t groups = (s.k + s.group - 1) / s.group;
  const int64_t width = scales.rank() >= 2 ? scales.size(-1) : groups == 1 ? scales.count() : 0;
  if (!c.check(width >= s.n && scales.count() >= groups * width && is_floating(scales.dtype),
               "%" PRId64 " scales of %s for %" PRId64 " groups of %" PRId64 " outputs", scales.count(),
               name_of(scales.dtype), groups, s.n)) {
    return nullptr;
  }
  const VkDataType dtype = scales.dtype;
  const std::string tag =
      "linear_scales/" + std::to_string(groups) + "x" + std::to_string(s.n) + "x" + std::to_string(width);
  return c.packed(scales, tag, [=, n = s.n](const uint8_t* data) {
    const int64_t padded = (n + 3) / 4 * 4;
    std::vector<uint8_t> image(static_cast<size_t>(groups * padded) * 4);
    for (int64_t g = 0; g < groups; ++g) {
      for (int64_t i = 0; i < n; ++i) {
        put(image, Kind::Float, static_cast<size_t>(g * padded + i),
            get(data, dtype, static_cast<size_t>(g * width + i)));
      }
    }
    return image;
  });
}

/// Reads the sizes; `columns` is the size of a weight's row in the program, which may be padded.
bool describe(OpContext& c, Linear& s, const Tensor& x, const Tensor& weight, int64_t outputs, int64_t group) {
  s.k = x.size(-1);
  s.row = weight.size(-1);
  s.n = outputs;
  s.group = group <= 0 ? s.k : group;
  const int64_t columns = s.form == Form::Bytes ? s.row : s.row * 2;
  return c.check(weight.rank() == 2 && stored_bytes(weight.dtype) == 1 && s.n <= weight.size(0) && s.k <= columns &&
                     s.k > 0 && x.rank() >= 1 && (s.group % 2 == 0 || s.group == s.k),
                 "a weight of %" PRId64 " x %" PRId64 " for %" PRId64 " inputs and groups of %" PRId64, weight.size(0),
                 s.row, s.k, s.group);
}

void run(OpContext& c, Tensor& out, Tensor& x, gpu::Buffer* a, Tensor& weight, Tensor& scales, Tensor* bias,
         const Linear& s, bool relu) {
  Sizes sizes = x.sizes;
  if (!sizes.empty()) {
    sizes.back() = s.n;
  }
  c.resize(out, sizes);
  c.check(out.kind != Kind::Int, "a result of %s", name_of(out.dtype));
  gpu::Buffer* words = pack(c, weight, s);
  gpu::Buffer* factors = pack_scales(c, scales, s);
  gpu::Buffer* biases = operand(c, bias, out.kind, s.n, 5);
  if (c.failed() || out.count() == 0) {
    return;
  }
  const int64_t m = x.count() / s.k;
  const int64_t vectors = (s.n + 3) / 4;
  const int32_t rows = m >= 4 ? 4 : m >= 2 ? 2 : 1;
  const uint32_t local = vectors >= 64 ? 64 : vectors >= 32 ? 32 : vectors >= 16 ? 16 : 8;
  const int64_t tiles = (m + rows - 1) / rows;
  const Split split = split_of(c, vectors * tiles, s.k, local);
  c.run("linear_quantized" + kinds({out.kind}), {c.memory(out), a, words, factors, biases == nullptr ? a : biases},
        Parameters().i(m).i(s.n).i(s.k).i(s.group), Threads{vectors, tiles, split.parts},
        {s.form == Form::Bytes ? 8 : 4, rows, biases != nullptr ? 1 : 0, relu ? 1 : 0, split.parts, split.shared},
        {local, 1, static_cast<uint32_t>(split.parts)});
}

/// (x, weight [n, k], scales, bias); one of the operators has no bias.
void int8_weights(OpContext& c) {
  Tensor& x = c.tensor(0);
  Tensor& out = c.result();
  Linear s;
  if (describe(c, s, x, c.tensor(1), c.tensor(1).size(0), 0)) {
    run(c, out, x, operand(c, &x, out.kind, 0, 4), c.tensor(1), c.tensor(2),
        c.num_args() > 4 ? c.optional_tensor(3) : nullptr, s, false);
  }
}

/// (x, weight [n, k / 2], scales).
void int4_channels(OpContext& c) {
  Tensor& x = c.tensor(0);
  Tensor& out = c.result();
  Linear s;
  s.form = Form::HighFirst;
  if (describe(c, s, x, c.tensor(1), c.tensor(1).size(0), 0)) {
    run(c, out, x, operand(c, &x, out.kind, 0, 4), c.tensor(1), c.tensor(2), nullptr, s, false);
  }
}

/// (x, weight, scales [groups, n], group, bias).
void int4_groups(OpContext& c) {
  Tensor& x = c.tensor(0);
  Tensor& out = c.result();
  Linear s;
  s.form = Form::Nibbles;
  if (describe(c, s, x, c.tensor(1), c.tensor(1).size(0), c.integer(3))) {
    run(c, out, x, operand(c, &x, out.kind, 0, 4), c.tensor(1), c.tensor(2),
        c.num_args() > 5 ? c.optional_tensor(4) : nullptr, s, false);
  }
}

/// (x, scale, zero, weight, sums, scales, group, bias): quantises activations at run time.
void int4_groups_dynamic(OpContext& c) {
  Tensor& x = c.tensor(0);
  Tensor& out = c.result();
  Linear s;
  s.form = Form::Nibbles;
  c.check(x.kind == out.kind, "activations of %s", name_of(x.dtype));
  if (describe(c, s, x, c.tensor(3), c.tensor(3).size(0), c.integer(6))) {
    gpu::Buffer* a = quantized_and_back(c, x, 1, 0, &c.tensor(1), &c.tensor(2), 4);
    run(c, out, x, a, c.tensor(3), c.tensor(5), c.num_args() > 8 ? c.optional_tensor(7) : nullptr, s, false);
  }
}

/// (x, scale, zero, weight, sums, scales, bias): activations quantised with a fixed scale.
void int8_static_activations(OpContext& c) {
  Tensor& x = c.tensor(0);
  Tensor& out = c.result();
  Linear s;
  if (describe(c, s, x, c.tensor(3), c.tensor(3).size(0), 0)) {
    c.check(x.kind == out.kind || x.kind == Kind::Int, "activations of %s", name_of(x.dtype));
    gpu::Buffer* a = x.kind == Kind::Int ? c.memory(dequantized(c, x, c.real(1), c.integer(2), 4))
                                         : quantized_and_back(c, x, c.real(1), c.integer(2), nullptr, nullptr, 4);
    c.check(x.kind != Kind::Int || out.kind == Kind::Float, "a result of %s", name_of(out.dtype));
    run(c, out, x, a, c.tensor(3), c.tensor(5), c.num_args() > 7 ? c.optional_tensor(6) : nullptr, s, false);
  }
}

/// (x int8, scale, zero, weight, sums, scales, out scale, out zero, bias, activation) -> int8.
void int8_static(OpContext& c) {
  Tensor& x = c.tensor(0);
  Tensor& out = c.result();
  Linear s;
  const std::string_view activation = c.num_args() > 10 ? c.text(9) : std::string_view("none");
  c.check(activation == "relu" || activation == "none", "the activation %.*s", static_cast<int>(activation.size()),
          activation.data());
  if (!c.check(x.kind == Kind::Int && out.kind == Kind::Int, "activations of %s", name_of(x.dtype)) ||
      !describe(c, s, x, c.tensor(3), c.tensor(3).size(0), 0)) {
    return;
  }
  Tensor& a = dequantized(c, x, c.real(1), c.integer(2), 4);
  Tensor& sums = c.scratch(3, Kind::Float, out.sizes, out.capacity);
  run(c, sums, x, c.memory(a), c.tensor(3), c.tensor(5), c.num_args() > 9 ? c.optional_tensor(8) : nullptr, s,
      activation == "relu");
  Requantization r;
  r.out_scale = c.real(6);
  r.out_zero = c.integer(7);
  requantize(c, out, sums, r);
}

/// (weight [n, k / 2] or int8, scales, group, indices, is_linear_weight).
void embedding(OpContext& c) {
  Tensor& weight = c.tensor(0);
  Tensor& scales = c.tensor(1);
  const int64_t group = c.integer(2);
  Tensor& index = c.tensor(3);
  Tensor& out = c.result();
  const bool low_first = c.num_args() > 5 && c.boolean(4);
  const int64_t width = weight.size(-1) * 2;
  const int64_t rows = weight.size(0);
  if (!c.check(weight.rank() == 2 && group > 0 && width % group == 0 && stored_bytes(weight.dtype) == 1 && rows > 0 &&
                   scales.count() >= rows * (width / group) && index.kind == Kind::Int &&
                   OpContext::is_constant(scales),
               "groups of %" PRId64 " in rows of %" PRId64, group, width)) {
    return;
  }
  Sizes sizes = index.sizes;
  sizes.push_back(width);
  c.resize(out, sizes);
  gpu::Buffer* words =
      c.packed(weight, "embedding4/" + std::to_string(rows) + "x" + std::to_string(width) + (low_first ? "l" : "h"),
               [=](const uint8_t* data) {
                 std::vector<uint8_t> image(data, data + rows * width / 2);
                 for (uint8_t& byte : image) {
                   byte = low_first ? byte : static_cast<uint8_t>(byte << 4 | byte >> 4);
                 }
                 image.resize((image.size() + 3) / 4 * 4);
                 return image;
               });
  if (c.failed() || out.count() == 0) {
    return;
  }
  c.run("embedding_quantized" + kinds({out.kind}),
        {c.memory(out), words, operand(c, &scales, Kind::Float, 0, 4), c.memory(index)},
        Parameters().i(out.count()).i(width).i(rows).i(group), out.count());
}

constexpr Operator kOperators[] = {
    {"aten._weight_int8pack_mm.default", int8_weights},
    {"et_vk.linear_q8csw.default", int8_weights},
    {"et_vk.linear_qcs4w.default", int4_channels},
    {"et_vk.linear_q4gsw.default", int4_groups},
    {"et_vk.linear_dq8ca_q4gsw.default", int4_groups_dynamic},
    {"et_vk.linear_q8ta_q8csw.default", int8_static_activations},
    {"et_vk.q8ta_linear.default", int8_static},
    {"et_vk.q8ta_linear_gemv.default", int8_static},
    {"et_vk.embedding_q4gsw.default", embedding},
};

}  // namespace

Operators quantized_linear_operators() {
  return {kOperators, sizeof(kOperators) / sizeof(kOperators[0])};
}

}  // namespace vulkan
}  // namespace backends
}  // namespace executorch
