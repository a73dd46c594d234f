// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * XNNPACK graphs of one layer for tests, and numbers for which its results are known exactly.
 */
#pragma once

#include <xnnpack.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

namespace executorch {
namespace backends {
namespace xnnpack {

/// The types of a layer's input, filter and output. A dynamically quantised input (qdint8) is converted from type
/// `out`.
struct LayerTypes {
  const char* name;
  xnn_datatype in, filter, out;
};

std::ostream& operator<<(std::ostream& out, const LayerTypes& types);

using Dims = std::vector<size_t>;

size_t product(const Dims& dims);

/// Elements, as real numbers and as the bytes that XNNPACK reads, followed by XNN_EXTRA_BYTES that are NaN.
struct Elements {
  std::vector<double> reals;
  std::vector<uint8_t> bytes;
};

/// The elements of `groups` rows (or images) of `size` elements. If the input is dynamically quantised, each row has
/// its own scale and zero point, which the conversion finds exactly. Sums of products with a filter's elements are
/// exact in float32, and also in float16 if all types are float16.
Elements make_input(const LayerTypes& types, size_t groups, size_t size);

/// Replaces an element of a float32 or float16 input, for example by NaN.
void set_float(const LayerTypes& types, Elements& elements, size_t at, double value);

/// NaN and infinity, which a sum of products must not lose: 0 * infinity is NaN as well.
inline constexpr double kSpecialNumbers[] = {std::numeric_limits<double>::quiet_NaN(),
                                             std::numeric_limits<double>::infinity(),
                                             -std::numeric_limits<double>::infinity()};

/// A filter with `channels` rows of `size` elements, and its scales. `reals` are in the order [channels][size].
struct Filter {
  Elements elements;
  std::vector<float> scales;           // for each channel, or one for the whole filter
  std::vector<uint16_t> block_scales;  // bfloat16, for blocks of kBlock elements
  std::vector<double> bias;            // for each channel
  std::vector<uint8_t> bias_bytes;
};
constexpr size_t kBlock = 32;

/// @param is_last Whether the channels are the last dimension of the bytes instead of the first.
Filter make_filter(const LayerTypes& types, size_t channels, size_t size, bool is_last = false);

/// The graph and the ids of the values that define a layer.
struct LayerValues {
  xnn_subgraph_t graph;
  uint32_t in, filter, bias, out;
};

/// Runs a graph of one layer and compares its outputs with expected ones.
class Layer final {
 public:
  /// @param in_dims The shape of the largest input.
  /// @param group_dims The number of last dimensions of a dynamically quantised input that share a scale.
  /// @param filter_dims In the order that XNNPACK's layer expects; `channel_dim` is the dimension of output channels.
  Layer(const LayerTypes& types, const Dims& in_dims, size_t group_dims, const Dims& out_dims, const Dims& filter_dims,
        size_t channel_dim, const Filter& filter, const std::function<xnn_status(const LayerValues&)>& define,
        size_t threads = 1);
  ~Layer();
  Layer(const Layer&) = delete;
  Layer& operator=(const Layer&) = delete;

  /// False if this processor has no kernel for the types.
  bool is_supported() const { return runtime_ != nullptr; }

  /// Runs the layer on an input of these dimensions. Expects outputs that follow from `sums`, the exact sums of
  /// products with biases, clamped to the range of an integer type, and no write past the outputs. Float outputs are
  /// NaN or infinite where the sums are.
  void check(const Dims& in_dims, const uint8_t* in, const Dims& out_dims, const double* sums,
             const std::string& what) const;

 private:
  LayerTypes types_;
  xnn_subgraph_t graph_ = nullptr;
  xnn_workspace_t workspace_ = nullptr;
  xnn_runtime_t runtime_ = nullptr;
  struct pthreadpool* threads_ = nullptr;
  std::vector<float> bias_scales_;  // XNNPACK keeps a pointer
};

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
