// SPDX-License-Identifier: BSD-3-Clause
#include "layers.h"

#include <gtest/gtest.h>
#include <pthreadpool.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "executorch/runtime/core/exec_aten/exec_aten.h"
#include "private/internals.h"
#include "private/xnnpack_runtime.h"

namespace executorch {
namespace backends {
namespace xnnpack {
namespace {

using Half = runtime::etensor::Half;

constexpr float kInScale = 0.5f, kFilterScale = 0.25f;
constexpr int kInZero = 3, kOutZero = -5;

/// The quantisation parameters and the range of an integer type.
struct Quantization {
  double scale;
  int zero, least, most;
};

Quantization output_quantization(const LayerTypes& types) {
  // The scale is not a power of two, so that results are rounded, and some results reach the limits of the type.
  return types.out == xnn_datatype_quint8 ? Quantization{0.83, 128 + kOutZero, 0, 255}
                                          : Quantization{0.83, kOutZero, -128, 127};
}

int input_zero(const LayerTypes& types) {
  return types.in == xnn_datatype_quint8 ? 128 + kInZero : kInZero;
}

bool is_half(const LayerTypes& types) {
  return types.out == xnn_datatype_fp16;
}

/// Repeatable random numbers.
class Numbers {
 public:
  explicit Numbers(uint32_t seed) : state_(seed * 2654435761u + 1) {}
  /// The next number, from `least` to `most`.
  int next(int least, int most) {
    state_ = state_ * 1664525u + 1013904223u;
    return least + static_cast<int>((state_ >> 12) % static_cast<uint32_t>(most - least + 1));
  }

 private:
  uint32_t state_;
};

template <typename T>
void append(std::vector<uint8_t>& bytes, T value) {
  const size_t at = bytes.size();
  bytes.resize(at + sizeof(value));
  std::memcpy(&bytes[at], &value, sizeof(value));
}

void append_float(std::vector<uint8_t>& bytes, bool half, double value) {
  if (half) {
    append(bytes, Half(static_cast<float>(value)));
  } else {
    append(bytes, static_cast<float>(value));
  }
}

size_t element_size(xnn_datatype type) {
  return type == xnn_datatype_fp32 ? 4 : type == xnn_datatype_fp16 ? 2 : 1;
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const LayerTypes& types) {
  return out << types.name;
}

size_t product(const Dims& dims) {
  return std::accumulate(dims.begin(), dims.end(), size_t{1}, std::multiplies<>());
}

Elements make_input(const LayerTypes& types, size_t groups, size_t size) {
  Elements made;
  Numbers numbers(1);
  for (size_t group = 0; group < groups; ++group) {
    const double scale = std::ldexp(1.0, -static_cast<int>(group * 5 % 7) - (is_half(types) ? 5 : 0));
    const int zero = static_cast<int>(group * 53 % 256) - 128;
    for (size_t i = 0; i < size; ++i) {
      switch (types.in) {
        case xnn_datatype_qdint8: {
          // The conversion computes the scale and the zero point from the least and the greatest element.
          const int q = i == group % size ? 127 : i == (group + 1) % size ? -128 : numbers.next(-128, 127);
          made.reals.push_back(scale * (size == 1 ? 255 : q - zero));
          append_float(made.bytes, is_half(types), made.reals.back());
          break;
        }
        case xnn_datatype_qint8:
        case xnn_datatype_quint8: {
          const int q = numbers.next(-128, 127) + (types.in == xnn_datatype_quint8 ? 128 : 0);
          made.reals.push_back(static_cast<double>(kInScale) * (q - input_zero(types)));
          made.bytes.push_back(static_cast<uint8_t>(q));
          break;
        }
        default:
          made.reals.push_back(numbers.next(-3, 3));
          append_float(made.bytes, is_half(types), made.reals.back());
      }
    }
  }
  made.bytes.resize(made.bytes.size() + XNN_EXTRA_BYTES, 0xFF);
  return made;
}

void set_float(const LayerTypes& types, Elements& elements, size_t at, double value) {
  elements.reals[at] = value;
  std::vector<uint8_t> bytes;
  append_float(bytes, is_half(types), value);
  std::copy(bytes.begin(), bytes.end(), elements.bytes.begin() + static_cast<ptrdiff_t>(at * bytes.size()));
}

Filter make_filter(const LayerTypes& types, size_t channels, size_t size, bool is_last) {
  Filter made;
  Numbers numbers(2);
  const bool has_four_bits = types.filter == xnn_datatype_qcint4 || types.filter == xnn_datatype_qbint4;
  const bool is_float = types.filter == xnn_datatype_fp32 || types.filter == xnn_datatype_fp16;
  std::vector<int> quantized;
  for (size_t channel = 0; channel < channels; ++channel) {
    const bool is_whole = types.filter == xnn_datatype_qint8 || types.filter == xnn_datatype_quint8;
    const int exponent = -static_cast<int>(channel * 3 % 5) - (is_half(types) && !is_float ? 4 : 0);
    const double scale = is_float ? 1.0 : is_whole ? static_cast<double>(kFilterScale) : std::ldexp(1.0, exponent);
    double block_scale = scale;
    for (size_t i = 0; i < size; ++i) {
      if (types.filter == xnn_datatype_qbint4 && i % kBlock == 0) {
        block_scale = std::ldexp(scale, static_cast<int>((channel + i / kBlock) % 3));
        const auto rounded = static_cast<float>(block_scale);
        uint32_t bits;
        std::memcpy(&bits, &rounded, sizeof(bits));
        made.block_scales.push_back(static_cast<uint16_t>(bits >> 16));
      }
      const int q = is_float ? numbers.next(-3, 3) : has_four_bits ? numbers.next(-8, 7) : numbers.next(-127, 127);
      quantized.push_back(q);
      made.elements.reals.push_back(q * block_scale);
    }
    made.scales.push_back(static_cast<float>(scale));
    // Integer biases are multiples of the product of the scales.
    const double step =
        types.in == xnn_datatype_qint8 || types.in == xnn_datatype_quint8 ? static_cast<double>(kInScale) * scale : 1.0;
    const int bias = numbers.next(-9, 9);
    made.bias.push_back(bias * step);
    if (types.in == xnn_datatype_qint8 || types.in == xnn_datatype_quint8) {
      append(made.bias_bytes, static_cast<int32_t>(bias));
    } else {
      append_float(made.bias_bytes, types.filter == xnn_datatype_fp16, bias);
    }
  }
  std::vector<uint8_t>& bytes = made.elements.bytes;
  if (has_four_bits) {
    for (size_t channel = 0; channel < channels; ++channel) {
      for (size_t i = 0; i < size; i += 2) {
        const int low = quantized[channel * size + i] + 8;
        const int high = i + 1 < size ? quantized[channel * size + i + 1] + 8 : 8;
        bytes.push_back(static_cast<uint8_t>(low | high << 4));
      }
    }
  } else {
    for (size_t i = 0; i < channels * size; ++i) {
      const int q = quantized[is_last ? i % channels * size + i / channels : i];
      if (is_float) {
        append_float(bytes, types.filter == xnn_datatype_fp16, q);
      } else {
        bytes.push_back(static_cast<uint8_t>(types.filter == xnn_datatype_quint8 ? q + 128 : q));
      }
    }
  }
  return made;
}

Layer::Layer(const LayerTypes& types, const Dims& in_dims, size_t group_dims, const Dims& out_dims,
             const Dims& filter_dims, size_t channel_dim, const Filter& filter,
             const std::function<xnn_status(const LayerValues&)>& define, size_t threads)
    : types_(types), threads_(threads > 1 ? pthreadpool_create(threads) : nullptr) {
  const bool converts = types.in == xnn_datatype_qdint8;
  const Quantization to = output_quantization(types);
  LayerValues values = {};
  xnn_status status = xnn_create_subgraph(2, 0, &values.graph);
  graph_ = values.graph;
  const auto check = [&](xnn_status found) { status = status == xnn_status_success ? found : status; };
  const auto define_float = [&](xnn_datatype type, const Dims& dims, const void* data, uint32_t external,
                                uint32_t flags, uint32_t* id) {
    check(xnn_define_tensor_value(graph_, type, dims.size(), dims.data(), data, external, flags, id));
  };
  const auto define_quantized = [&](xnn_datatype type, int zero, double scale, const Dims& dims, const void* data,
                                    uint32_t external, uint32_t flags, uint32_t* id) {
    check(xnn_define_quantized_tensor_value(graph_, type, zero, static_cast<float>(scale), dims.size(), dims.data(),
                                            data, external, flags, id));
  };
  const bool is_integer = types.in == xnn_datatype_qint8 || types.in == xnn_datatype_quint8;
  if (is_integer) {
    define_quantized(types.in, input_zero(types), static_cast<double>(kInScale), in_dims, nullptr, 0,
                     XNN_VALUE_FLAG_EXTERNAL_INPUT, &values.in);
    define_quantized(types.out, to.zero, to.scale, out_dims, nullptr, 1, XNN_VALUE_FLAG_EXTERNAL_OUTPUT, &values.out);
  } else {
    define_float(types.out, in_dims, nullptr, 0, XNN_VALUE_FLAG_EXTERNAL_INPUT, &values.in);
    define_float(types.out, out_dims, nullptr, 1, XNN_VALUE_FLAG_EXTERNAL_OUTPUT, &values.out);
  }
  if (converts) {
    uint32_t converted = 0;
    check(xnn_define_dynamically_quantized_tensor_value(graph_, xnn_datatype_qdint8, in_dims.size(), group_dims,
                                                        in_dims.data(), XNN_INVALID_VALUE_ID, 0, &converted));
    check(xnn_define_unary(graph_, xnn_unary_convert, nullptr, values.in, converted, 0));
    values.in = converted;
  }
  const Dims bias_dims = {filter.bias.size()};
  const void* const data = filter.elements.bytes.data();
  switch (types.filter) {
    case xnn_datatype_fp32:
    case xnn_datatype_fp16:
      define_float(types.filter, filter_dims, data, XNN_INVALID_VALUE_ID, 0, &values.filter);
      break;
    case xnn_datatype_qint8:
    case xnn_datatype_quint8:
      define_quantized(types.filter, types.filter == xnn_datatype_quint8 ? 128 : 0, static_cast<double>(kFilterScale),
                       filter_dims, data, XNN_INVALID_VALUE_ID, 0, &values.filter);
      break;
    case xnn_datatype_qbint4:
      check(xnn_define_blockwise_quantized_tensor_value(graph_, types.filter, 8, filter.block_scales.data(),
                                                        filter_dims.size(), channel_dim, kBlock, filter_dims.data(),
                                                        data, XNN_INVALID_VALUE_ID, 0, &values.filter));
      break;
    default:
      check(xnn_define_channelwise_quantized_tensor_value_v2(
          graph_, types.filter, types.filter == xnn_datatype_qcint4 ? 8 : 0, filter.scales.data(), filter_dims.size(),
          channel_dim, filter_dims.data(), data, XNN_INVALID_VALUE_ID, 0, &values.filter));
  }
  if (!is_integer) {
    define_float(types.filter == xnn_datatype_fp16 ? xnn_datatype_fp16 : xnn_datatype_fp32, bias_dims,
                 filter.bias_bytes.data(), XNN_INVALID_VALUE_ID, 0, &values.bias);
  } else if (types.filter == xnn_datatype_qcint8) {
    std::vector<float>& scales = bias_scales_;
    for (const float scale : filter.scales) {
      scales.push_back(scale * kInScale);
    }
    check(xnn_define_channelwise_quantized_tensor_value(graph_, xnn_datatype_qcint32, scales.data(), 1, 0,
                                                        bias_dims.data(), filter.bias_bytes.data(),
                                                        XNN_INVALID_VALUE_ID, 0, &values.bias));
  } else {
    define_quantized(xnn_datatype_qint32, 0, static_cast<double>(kInScale * kFilterScale), bias_dims,
                     filter.bias_bytes.data(), XNN_INVALID_VALUE_ID, 0, &values.bias);
  }
  check(status == xnn_status_success ? define(values) : status);
  EXPECT_EQ(status, xnn_status_success) << types << ": the layer is not defined";
  if (status != xnn_status_success) {
    return;
  }
  EXPECT_EQ(xnn_create_workspace(&workspace_), xnn_status_success);
  status = xnn_create_runtime_v4(graph_, nullptr, workspace_, threads_, 0, &runtime_);
  // Only float16 may lack kernels, on processors without float16 instructions.
  EXPECT_TRUE(status == xnn_status_success || (status == xnn_status_unsupported_hardware && is_half(types)))
      << types << ": " << status;
}

Layer::~Layer() {
  xnn_delete_runtime(runtime_);
  if (workspace_ != nullptr) {
    xnn_release_workspace(workspace_);
  }
  xnn_delete_subgraph(graph_);
  pthreadpool_destroy(threads_);
}

void Layer::check(const Dims& in_dims, const uint8_t* in, const Dims& out_dims, const double* sums,
                  const std::string& what) const {
  constexpr size_t kGuard = 64;
  const size_t count = product(out_dims), size = count * element_size(types_.out);
  std::vector<uint8_t> out(size + kGuard, 0xAB);
  ASSERT_EQ(xnn_reshape_external_value(runtime_, 0, in_dims.size(), in_dims.data()), xnn_status_success);
  plan_memory_anew(runtime_);
  ASSERT_EQ(xnn_reshape_runtime(runtime_), xnn_status_success) << types_ << ", " << what;
  const xnn_external_value values[] = {{0, const_cast<uint8_t*>(in)}, {1, out.data()}};
  ASSERT_EQ(xnn_setup_runtime_v2(runtime_, 2, values), xnn_status_success);
  if (workspace_->data != nullptr) {
    std::memset(workspace_->data, 0xFF, workspace_->size);  // NaN: kernels must not rely on its content
  }
  ASSERT_EQ(xnn_invoke_runtime(runtime_), xnn_status_success);
  const Quantization to = output_quantization(types_);
  for (size_t i = 0; i < count; ++i) {
    double found = 0.0, wanted = sums[i], tolerance = 0.0;
    if (types_.out == xnn_datatype_fp32) {
      float value;
      std::memcpy(&value, &out[i * sizeof(value)], sizeof(value));
      found = static_cast<double>(value);
      tolerance = 1e-6 * std::abs(wanted);
    } else if (types_.out == xnn_datatype_fp16) {
      Half value;
      std::memcpy(&value, &out[i * sizeof(value)], sizeof(value));
      found = static_cast<double>(static_cast<float>(value));
      tolerance = 2e-3 * std::abs(wanted) + (types_.in == xnn_datatype_qdint8 ? 0.02 : 0.0);
    } else {
      found = types_.out == xnn_datatype_quint8 ? out[i] : static_cast<int8_t>(out[i]);
      wanted = std::clamp(wanted / to.scale + to.zero, double(to.least), double(to.most));
      tolerance = 0.501;
    }
    // This form of the comparison also fails for NaN.
    ASSERT_TRUE(std::isfinite(wanted) ? std::abs(found - wanted) <= tolerance
                                      : found == wanted || (std::isnan(found) && std::isnan(wanted)))
        << types_ << ", " << what << ", element " << i << ": " << found << " instead of " << wanted;
  }
  ASSERT_TRUE(std::all_of(out.begin() + static_cast<ptrdiff_t>(size), out.end(), [](uint8_t b) { return b == 0xAB; }))
      << types_ << ", " << what << ": written past the end";
}

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
