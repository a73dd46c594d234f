// SPDX-License-Identifier: BSD-3-Clause
// Which dtypes and sizes nodes compute. MPSGraph ends the process if operands do not fit an operation, so graphs are
// checked here before it gets them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "payload.h"

namespace executorch {
namespace backends {
namespace mps {

/// The dtype in which operands of two dtypes are computed, by PyTorch's promotion.
DataType promote(DataType a, DataType b);

/// The sizes to which operands broadcast. False if they do not.
bool broadcast(const Sizes& a, const Sizes& b, Sizes& result);

/// The types of a node's operands; null for an absent operand.
using OperandTypes = std::vector<const Type*>;

/**
 * The dtypes and sizes of a node's results.
 *
 * @param operands One for each of `node.operands`.
 * @param results Becomes one for each of `node.results`.
 * @returns What is wrong; empty if the operands fit the node.
 */
std::string infer(const Node& node, const OperandTypes& operands, std::vector<Type>& results);

/// Rules for nodes with a window or a filter, and for those that move elements; infer() calls them.
std::string infer_window(const Node& node, const OperandTypes& operands, std::vector<Type>& results);
std::string infer_movement(const Node& node, const OperandTypes& operands, std::vector<Type>& results);

constexpr int64_t kMostElements = int64_t{1} << 31;

/// The sizes of a shape that a node lists; {1} for an empty list. Returns what is wrong, or "".
std::string listed(const Sizes& list, Sizes& sizes);

/// The parameters of convolutions and poolings.
struct Window {
  int64_t kernel_y, kernel_x, stride_y, stride_x, dilation_y, dilation_x;
  int64_t left, right, top, bottom;
  int64_t groups = 1;  ///< of a convolution
  bool ceil_mode = false, count_include_pad = true;
  int64_t divisor_override = 0;

  /// Reads the fields of a node. A convolution's kernel size follows from `weight`, in OIHW or OIL.
  static Window of_convolution(const Node& node, const Sizes& weight);
  static Window of_pooling(const Node& node);
};

/// The number of elements of an arange; -1 if the bounds and the step do not form a range.
int64_t count_of_range(const Node& node);

}  // namespace mps
}  // namespace backends
}  // namespace executorch
