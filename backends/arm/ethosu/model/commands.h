// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <executorch/runtime/core/error.h>

#include "arithmetic.h"
#include "feature_map.h"
#include "registers.h"

namespace executorch {
namespace backends {
namespace ethosu {

/// The state that commands use: the registers, the regions, and the memory within the NPU.
struct Machine {
  Registers registers;
  Regions regions;
  std::vector<uint8_t> internal;  // SHRAM: the last 2 KB are tables of activation functions
  int32_t cores = 1;
  int32_t input_unit_depth = 8;  // channels that it computes at once
  int32_t output_unit_depth = 8;
  uint64_t most_work = 0;  // steps of a run
  uint64_t work_left = 0;

  /// Subtracts `steps` times `each` from the remaining work, before the work is done. OutOfResources if too little
  /// remains.
  runtime::Error charge(uint64_t steps, uint64_t each = 1);
};

/// The most elements of a feature map, and of a command's weights: a stream with more is damaged.
constexpr int32_t kMostElements = 1 << 27;

/// A convolution's or pool's window, in rows and columns of its input.
struct Window {
  explicit Window(const Registers& registers);
  int32_t height, width;  // elements of the kernel
  int32_t stride_y, stride_x;
  int32_t dilation_y, dilation_x;
  int32_t top, left, bottom, right;  // padding
  bool part_kernel_first;
};

/// The input of a convolution or pool, upscaled as the registers say. The input's size follows from the output's.
/// InvalidProgram if a size is 0 or too large.
runtime::Error read_window_input(Machine& machine, const Window& window, const FeatureMap& map, int32_t channels,
                                 Tensor& input);

/// The end of a command: zero point, range, table. `value` is the scaled result.
class Activation final {
 public:
  /// NotSupported for functions that Vela does not emit; InvalidProgram for a table outside of the NPU's memory.
  static runtime::Error make(const Machine& machine, const FeatureMap& output, Activation& activation);
  int32_t operator()(int64_t value) const;

 private:
  enum class Table : uint8_t { None, Int8, Int8ToInt32, Int16 };
  int32_t looked_up(int32_t value) const;
  int64_t zero_point_ = 0, least_ = 0, most_ = 0;
  Table kind_ = Table::None;
  const uint8_t* table_ = nullptr;
  bool is_signed_ = true;
};

/// The scale in OFM_SCALE and the rounding of the output.
struct OutputScale {
  explicit OutputScale(const Registers& registers);
  int64_t operator()(int64_t value) const { return scaled(value, multiplier, shift, rounding); }
  uint32_t multiplier;
  int shift;
  Rounding rounding;
};

/// The common parts of commands that compute: the maps of the first input and of the output, the end of the
/// computation, and an empty output with the size in the registers.
struct Computation {
  /// InvalidProgram for a rounding mode that does not exist and for an output larger than its region, and the errors of
  /// the parts.
  runtime::Error begin(Machine& machine);
  FeatureMap in = {}, out = {};
  Activation activation;
  Tensor output;
};

runtime::Error run_convolution(Machine& machine, bool is_depthwise);
/// `mode`: 0 takes the largest, 1 the mean, 2 the sum over channels.
runtime::Error run_pool(Machine& machine, uint16_t mode);
runtime::Error run_elementwise(Machine& machine, uint16_t mode);
runtime::Error run_dma(Machine& machine);

}  // namespace ethosu
}  // namespace backends
}  // namespace executorch
