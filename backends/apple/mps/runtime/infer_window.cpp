// SPDX-License-Identifier: BSD-3-Clause
// Rules for windows.
#include <cstdint>
#include <string>

#include "infer.h"

namespace executorch {
namespace backends {
namespace mps {

namespace {

constexpr int64_t kMostPadding = 1 << 15;

/// The number of positions of a window along one dimension; 0 if the window does not fit.
int64_t places(int64_t size, int64_t kernel, int64_t stride, int64_t dilation, int64_t before, int64_t after,
               bool ceil) {
  const int64_t room = size + before + after - ((kernel - 1) * dilation + 1);
  if (room < 0) {
    return 0;
  }
  int64_t count = room / stride + 1;
  if (ceil && room % stride != 0 && count * stride < size + before) {
    ++count;  // a window that starts within the tensor or the padding before it
  }
  return count;
}

std::string check_window(const Window& w) {
  for (const int64_t number : {w.kernel_y, w.kernel_x, w.stride_y, w.stride_x, w.dilation_y, w.dilation_x}) {
    if (number < 1 || number >= kMostPadding) {
      return "a kernel, a stride or a dilation is " + std::to_string(number);
    }
  }
  for (const int64_t number : {w.left, w.right, w.top, w.bottom}) {
    if (number < 0 || number >= kMostPadding) {
      return "a padding is " + std::to_string(number);
    }
  }
  return "";
}

/// The last two dimensions of a result.
std::string slide(const Window& w, int64_t height, int64_t width, Sizes& sizes) {
  const int64_t rows = places(height, w.kernel_y, w.stride_y, w.dilation_y, w.top, w.bottom, w.ceil_mode);
  const int64_t columns = places(width, w.kernel_x, w.stride_x, w.dilation_x, w.left, w.right, w.ceil_mode);
  sizes.push_back(rows);
  sizes.push_back(columns);
  return rows < 1 || columns < 1 ? "the window is larger than the padded operand" : "";
}

std::string infer_convolution(const Node& node, const OperandTypes& operands, std::vector<Type>& results) {
  const Type &x = *operands[0], &weight = *operands[1];
  const size_t rank = x.sizes.size();
  const Window w = Window::of_convolution(node, weight.sizes);
  results = {{promote(x.type, weight.type), {}}};
  if ((rank != 3 && rank != 4) || weight.sizes.size() != rank || !is_float(results[0].type)) {
    return "expected floats of rank 3 or 4 and weights of the same, found the shapes " + text_of(x.sizes) + " and " +
           text_of(weight.sizes);
  }
  if (std::string wrong = check_window(w); !wrong.empty()) {
    return wrong;
  }
  if (w.groups < 1 || x.sizes[1] != weight.sizes[1] * w.groups || weight.sizes[0] % w.groups != 0) {
    return std::to_string(x.sizes[1]) + " channels do not fit weights of the shape " + text_of(weight.sizes) + " in " +
           std::to_string(w.groups) + " groups";
  }
  if (operands[2] != nullptr && (operands[2]->sizes != Sizes{weight.sizes[0]} || !is_float(operands[2]->type))) {
    return "a bias of the shape " + text_of(operands[2]->sizes) + " does not fit " + std::to_string(weight.sizes[0]) +
           " channels";
  }
  results[0].sizes = {x.sizes[0], weight.sizes[0]};
  std::string wrong = slide(w, rank == 4 ? x.sizes[2] : 1, x.sizes[rank - 1], results[0].sizes);
  if (rank == 3) {
    results[0].sizes.erase(results[0].sizes.begin() + 2);
  }
  return wrong;
}

std::string infer_pooling(const Node& node, const Type& x, std::vector<Type>& results) {
  const Window w = Window::of_pooling(node);
  if (x.sizes.size() != 4 || !is_float(x.type)) {
    return std::string("expected floats of rank 4, found ") + name_of(x.type) + " of the shape " + text_of(x.sizes);
  }
  if (std::string wrong = check_window(w); !wrong.empty()) {
    return wrong;
  }
  if (w.divisor_override < 0) {
    return "the divisor is " + std::to_string(w.divisor_override);
  }
  Type result{x.type, {x.sizes[0], x.sizes[1]}};
  std::string wrong = slide(w, x.sizes[2], x.sizes[3], result.sizes);
  results = {result};
  if (node.type == NodeType::MaxPool2DWithIndices) {
    results.push_back({DataType::Int64, result.sizes});
  }
  return wrong;
}

std::string infer_padding(const Node& node, const Type& x, std::vector<Type>& results) {
  const Sizes& pad = node.lists[0];
  results = {x};
  if (pad.size() % 2 != 0 || pad.size() / 2 > x.sizes.size() || x.type == DataType::Bool) {
    return "padding of " + text_of(pad) + " does not fit " + name_of(x.type) + " of the shape " + text_of(x.sizes);
  }
  for (size_t i = 0; i < pad.size(); ++i) {
    if (pad[i] < 0) {
      return "padding of " + text_of(pad) + " is not possible";
    }
    results[0].sizes[x.sizes.size() - 1 - i / 2] += pad[i];
  }
  return listed(results[0].sizes, results[0].sizes);
}

std::string infer_pixel_shuffle(const Node& node, const Type& x, std::vector<Type>& results) {
  const int64_t factor = node.integers[0];
  if (x.sizes.size() != 4 || factor < 1 || factor >= kMostPadding || x.sizes[1] % (factor * factor) != 0) {
    return "the shape " + text_of(x.sizes) + " cannot be upscaled by " + std::to_string(factor);
  }
  results = {{x.type, {x.sizes[0], x.sizes[1] / (factor * factor), x.sizes[2] * factor, x.sizes[3] * factor}}};
  return "";
}

}  // namespace

Window Window::of_convolution(const Node& node, const Sizes& weight) {
  const std::vector<int64_t>& n = node.integers;
  Window w{};
  w.kernel_y = weight.size() < 4 ? 1 : weight[weight.size() - 2];
  w.kernel_x = weight.empty() ? 0 : weight.back();
  const bool flat = weight.size() < 4;  // the fields of y are not used
  w.stride_x = n[0];
  w.stride_y = flat ? 1 : n[1];
  w.dilation_x = n[2];
  w.dilation_y = flat ? 1 : n[3];
  w.groups = n[4];
  w.left = n[5];
  w.right = n[6];
  w.top = flat ? 0 : n[7];
  w.bottom = flat ? 0 : n[8];
  return w;
}

Window Window::of_pooling(const Node& node) {
  const std::vector<int64_t>& n = node.integers;
  Window w{};
  w.kernel_y = n[0];
  w.kernel_x = n[1];
  w.stride_y = n[2];
  w.stride_x = n[3];
  w.left = n[4];
  w.right = n[5];
  w.top = n[6];
  w.bottom = n[7];
  w.dilation_y = n[8];
  w.dilation_x = n[9];
  w.ceil_mode = n[10] != 0;
  w.count_include_pad = n[11] != 0;
  w.divisor_override = n[12];
  return w;
}

std::string infer_window(const Node& node, const OperandTypes& operands, std::vector<Type>& results) {
  switch (node.type) {
    case NodeType::MaxPool2DWithIndices:
    case NodeType::AvgPool2D:
      return infer_pooling(node, *operands[0], results);
    case NodeType::ConstantPadND:
      return infer_padding(node, *operands[0], results);
    case NodeType::PixelShuffle:
      return infer_pixel_shuffle(node, *operands[0], results);
    default:
      return infer_convolution(node, operands, results);
  }
}

}  // namespace mps
}  // namespace backends
}  // namespace executorch
