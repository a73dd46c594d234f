// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * For tests: XNNPACK graphs of one layer, and numbers for which its results are known exactly.
 */
#pragma once

#include <xnnpack.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

namespace executorch {
namespace backends {
namespace xnnpack {

/// The types of a layer: of its input, or what that is converted to, its filter and its result. A layer with a
/// dynamically quantised input (qdint8) converts it from `out`.
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

/// Values of `groups` rows (or images) of `size` elements. Those that are converted have a scale and a zero point of
/// their own for each row, which a conversion finds exactly. Sums of products with a filter's values are exact in
/// float32, and in float16 where all types are.
Elements make_input(const LayerTypes& types, size_t groups, size_t size);

/// A filter of `channels` rows of `size` elements, and its scales. `reals` lie channel after channel.
struct Filter {
  Elements elements;
  std::vector<float> scales;           // of channels; one where the whole filter has one
  std::vector<uint16_t> block_scales;  // bfloat16, of blocks of kBlock elements
  std::vector<double> bias;            // of channels
  std::vector<uint8_t> bias_bytes;
};
constexpr size_t kBlock = 32;

/// @param is_last The bytes have the channels as their last dimension instead of the first.
Filter make_filter(const LayerTypes& types, size_t channels, size_t size, bool is_last = false);

/// Values of a graph that a layer is defined with.
struct LayerValues {
  xnn_subgraph_t graph;
  uint32_t in, filter, bias, out;
};

/// A graph of one layer, and what its results are compared with.
class Layer final {
 public:
  /// @param in_dims The largest input.
  /// @param group_dims How many of the last dimensions of a converted input have one scale together.
  /// @param filter_dims In the order of XNNPACK's layer; `channel_dim` is that of the results' channels.
  Layer(const LayerTypes& types, const Dims& in_dims, size_t group_dims, const Dims& out_dims, const Dims& filter_dims,
        size_t channel_dim, const Filter& filter, const std::function<xnn_status(const LayerValues&)>& define,
        size_t threads = 1);
  ~Layer();
  Layer(const Layer&) = delete;
  Layer& operator=(const Layer&) = delete;

  /// False if this processor has no kernel for the types.
  bool is_supported() const { return runtime_ != nullptr; }

  /// Runs on an input of these dimensions and expects these results, which are clamped to the limits of an integer
  /// type, and that nothing past them is written. `sums`: the exact sums of products, with biases.
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
