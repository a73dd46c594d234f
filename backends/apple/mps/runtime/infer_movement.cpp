// SPDX-License-Identifier: BSD-3-Clause
// Rules for windows, for operations that move elements, and for constants.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>

#include "infer.h"

namespace executorch {
namespace backends {
namespace mps {

namespace {

constexpr int64_t kMostElements = int64_t{1} << 31;
constexpr int64_t kMostPadding = 1 << 15;

std::string not_a_dimension(int64_t dim, const Sizes& sizes) {
  return "the dimension " + std::to_string(dim) + " is not one of the shape " + text_of(sizes);
}

bool is_dimension(int64_t dim, const Sizes& sizes) {
  return dim >= 0 && dim < static_cast<int64_t>(sizes.size());
}

bool is_index(const Type& type) {
  return !is_float(type.type) && type.type != DataType::Bool && type.type != DataType::Int4;
}

/// Sizes that a node has in a list; a rank of 0 is {1}.
std::string listed(const Sizes& list, Sizes& sizes) {
  int64_t count = 1;
  for (const int64_t size : list) {
    if (size < 1 || (count *= size) >= kMostElements) {
      return "the shape " + text_of(list) + " is not possible";
    }
  }
  sizes = list.empty() ? Sizes{1} : list;
  return "";
}

/// The number of positions of a window along one dimension; below 1 if it does not fit.
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

/// The one index of index and index_put, and its dimension: `ids` are those of the operands from `first` on.
std::string only_index(const OperandTypes& operands, size_t first, size_t end, size_t& dim) {
  size_t found = 0;
  for (size_t i = first; i < end; ++i) {
    if (operands[i] != nullptr) {
      ++found;
      dim = i - first;
    }
  }
  return found == 1 ? "" : "expected indices of one dimension, found " + std::to_string(found);
}

std::string gather(const Type& x, int64_t dim, const Type& index, std::vector<Type>& results) {
  if (!is_dimension(dim, x.sizes)) {
    return not_a_dimension(dim, x.sizes);
  }
  if (!is_index(index)) {
    return std::string("expected indices of integers, found ") + name_of(index.type);
  }
  Type result{x.type, {x.sizes.begin(), x.sizes.begin() + dim}};
  result.sizes.insert(result.sizes.end(), index.sizes.begin(), index.sizes.end());
  result.sizes.insert(result.sizes.end(), x.sizes.begin() + dim + 1, x.sizes.end());
  results = {result};
  return listed(result.sizes, results[0].sizes);
}

std::string infer_index_put(const OperandTypes& operands, std::vector<Type>& results) {
  size_t dim = 0;
  const Type &x = *operands[0], *const values = operands.back();
  results = {x};
  if (std::string wrong = only_index(operands, 1, operands.size() - 1, dim); !wrong.empty()) {
    return wrong;
  }
  const Type& index = *operands[1 + dim];
  if (!is_dimension(static_cast<int64_t>(dim), x.sizes) || !is_index(index) || index.sizes.size() != 1) {
    return "expected a list of integers as indices, found " + text_of(index.sizes);
  }
  Sizes target = x.sizes, reached;
  target[dim] = index.sizes[0];
  if (values == nullptr || values->type != x.type || !broadcast(values->sizes, target, reached) || reached != target) {
    return "the values do not fit " + text_of(target);
  }
  return "";
}

std::string infer_scatter(const Node& node, const OperandTypes& operands, std::vector<Type>& results) {
  const Type &x = *operands[0], &index = *operands[1], &source = *operands[2];
  const int64_t dim = node.integers[0];
  results = {x};
  if (!is_dimension(dim, x.sizes)) {
    return not_a_dimension(dim, x.sizes);
  }
  bool fits =
      is_index(index) && source.type == x.type && index.sizes == source.sizes && index.sizes.size() == x.sizes.size();
  for (size_t axis = 0; fits && axis < x.sizes.size(); ++axis) {
    fits = static_cast<int64_t>(axis) == dim || index.sizes[axis] == x.sizes[axis];
  }
  return fits ? ""
              : "indices of the shape " + text_of(index.sizes) + " and a source of the shape " + text_of(source.sizes) +
                    " do not fit " + text_of(x.sizes);
}

std::string infer_permute(const Node& node, const Type& x, std::vector<Type>& results) {
  Sizes order = node.lists[0];
  if (order.empty() && count_of(x.sizes) == 1) {
    order = {0};
  }
  Sizes sorted = order;
  std::sort(sorted.begin(), sorted.end());
  Sizes all(x.sizes.size());
  std::iota(all.begin(), all.end(), 0);
  if (sorted != all) {
    return "the order " + text_of(order) + " is not one of " + text_of(x.sizes);
  }
  results = {{x.type, {}}};
  for (const int64_t axis : order) {
    results[0].sizes.push_back(x.sizes[axis]);
  }
  return "";
}

std::string infer_expand(const Node& node, const Type& x, std::vector<Type>& results) {
  Sizes wanted = node.lists[0];
  for (size_t i = 0; i < wanted.size(); ++i) {
    const size_t behind = wanted.size() - i;  // -1 keeps a size
    wanted[i] = wanted[i] == -1 && behind <= x.sizes.size() ? x.sizes[x.sizes.size() - behind] : wanted[i];
  }
  results = {{x.type, {}}};
  if (std::string wrong = listed(wanted, wanted); !wrong.empty()) {
    return wrong;
  }
  return broadcast(x.sizes, wanted, results[0].sizes) && results[0].sizes == wanted
             ? ""
             : "the shape " + text_of(x.sizes) + " does not broadcast to " + text_of(wanted);
}

std::string infer_cat(const Node& node, const OperandTypes& operands, std::vector<Type>& results) {
  const int64_t dim = node.integers[0];
  if (operands.empty() || !is_dimension(dim, operands[0]->sizes)) {
    return operands.empty() ? "there is nothing to concatenate" : not_a_dimension(dim, operands[0]->sizes);
  }
  Type result = *operands[0];
  result.sizes[dim] = 0;
  for (const Type* const operand : operands) {
    Sizes other = operand->sizes;
    if (other.size() == result.sizes.size()) {
      other[dim] = result.sizes[dim];
    }
    if (other != result.sizes) {
      return "the shape " + text_of(operand->sizes) + " does not fit " + text_of(operands[0]->sizes);
    }
    result.sizes[dim] += operand->sizes[dim];
    result.type = promote(result.type, operand->type);
  }
  results = {result};
  return listed(result.sizes, results[0].sizes);
}

std::string infer_squeeze(const Node& node, const Type& x, std::vector<Type>& results) {
  std::vector<bool> goes(x.sizes.size());
  for (const int64_t dim : node.lists[0]) {
    if (!is_dimension(dim, x.sizes)) {
      return not_a_dimension(dim, x.sizes);
    }
    goes[dim] = x.sizes[dim] == 1;
  }
  Sizes sizes;
  for (size_t axis = 0; axis < x.sizes.size(); ++axis) {
    if (!goes[axis]) {
      sizes.push_back(x.sizes[axis]);
    }
  }
  results = {{x.type, {}}};
  return listed(sizes, results[0].sizes);
}

std::string infer_select(const Node& node, const Type& x, std::vector<Type>& results) {
  const int64_t dim = node.integers[0], index = node.integers[1];
  if (!is_dimension(dim, x.sizes) || index < 0 || index >= x.sizes[dim]) {
    return "index " + std::to_string(index) + " of the dimension " + std::to_string(dim) + " is not in " +
           text_of(x.sizes);
  }
  Sizes sizes = x.sizes;
  sizes.erase(sizes.begin() + dim);
  results = {{x.type, {}}};
  return listed(sizes, results[0].sizes);
}

std::string infer_slice(const Node& node, const Type& x, std::vector<Type>& results) {
  const int64_t dim = node.integers[0], start = node.integers[1], end = node.integers[2], step = node.integers[3];
  if (!is_dimension(dim, x.sizes) || step < 1 || start < 0 || start >= end || end > x.sizes[dim]) {
    return "elements " + std::to_string(start) + " to " + std::to_string(end) + " in steps of " + std::to_string(step) +
           " of the dimension " + std::to_string(dim) + " are not in " + text_of(x.sizes);
  }
  results = {x};
  results[0].sizes[dim] = (end - start + step - 1) / step;
  return "";
}

std::string infer_split(const Node& node, const Type& x, std::vector<Type>& results) {
  const int64_t dim = node.integers[0];
  if (!is_dimension(dim, x.sizes)) {
    return not_a_dimension(dim, x.sizes);
  }
  int64_t total = 0;
  for (const int64_t size : node.lists[0]) {
    if (size < 1) {
      return "a part has " + std::to_string(size) + " elements";
    }
    total += size;
    results.push_back(x);
    results.back().sizes[dim] = size;
  }
  return total == x.sizes[dim] ? "" : "parts of " + text_of(node.lists[0]) + " do not fit " + text_of(x.sizes);
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

int64_t count_of_range(const Node& node) {
  const double start = node.floats[0], end = node.floats[1], step = node.floats[2];
  const double count = std::ceil((end - start) / step);
  return count >= 1 && count < static_cast<double>(kMostElements) ? static_cast<int64_t>(count) : -1;
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

std::string infer_movement(const Node& node, const OperandTypes& operands, std::vector<Type>& results) {
  size_t dim = 0;
  std::string wrong;
  switch (node.type) {
    case NodeType::Full:
      results = {{static_cast<DataType>(node.integers[0]), {}}};
      return listed(node.lists[0], results[0].sizes);
    case NodeType::FullLike:
      results = {{static_cast<DataType>(node.integers[0]), operands[0]->sizes}};
      return "";
    case NodeType::Arange:
      results = {{static_cast<DataType>(node.integers[0]), {count_of_range(node)}}};
      return results[0].sizes[0] < 1 ? "there is no such range of numbers" : "";
    case NodeType::Cast:
      results = {{static_cast<DataType>(node.integers[0]), operands[0]->sizes}};
      return results[0].type == DataType::Int4 ? "MPS does not convert to int4" : "";
    case NodeType::IndexSelect:
      return gather(*operands[0], node.integers[0], *operands[1], results);
    case NodeType::Embedding:
      return operands[0]->sizes.size() != 2 ? "expected a matrix of rows, found " + text_of(operands[0]->sizes)
                                            : gather(*operands[0], 0, *operands[1], results);
    case NodeType::IndexTensor:
      wrong = only_index(operands, 1, operands.size(), dim);
      return wrong.empty() ? gather(*operands[0], static_cast<int64_t>(dim), *operands[1 + dim], results) : wrong;
    case NodeType::IndexPut:
      return infer_index_put(operands, results);
    case NodeType::Scatter:
      return infer_scatter(node, operands, results);
    case NodeType::Permute:
      return infer_permute(node, *operands[0], results);
    case NodeType::View:
      results = {{operands[0]->type, {}}};
      wrong = listed(node.lists[0], results[0].sizes);
      return !wrong.empty() || count_of(results[0].sizes) == count_of(operands[0]->sizes)
                 ? wrong
                 : "the shape " + text_of(operands[0]->sizes) + " cannot become " + text_of(node.lists[0]);
    case NodeType::Expand:
      return infer_expand(node, *operands[0], results);
    case NodeType::Cat:
      return infer_cat(node, operands, results);
    case NodeType::Squeeze:
      return infer_squeeze(node, *operands[0], results);
    case NodeType::Unsqueeze:
      results = {*operands[0]};
      if (node.integers[0] < 0 || node.integers[0] > static_cast<int64_t>(results[0].sizes.size())) {
        return not_a_dimension(node.integers[0], results[0].sizes);
      }
      results[0].sizes.insert(results[0].sizes.begin() + node.integers[0], 1);
      return "";
    case NodeType::Select:
      return infer_select(node, *operands[0], results);
    case NodeType::Slice:
      return infer_slice(node, *operands[0], results);
    case NodeType::SplitWithSizes:
      return infer_split(node, *operands[0], results);
    default:
      return "MPS has no such node";
  }
}

}  // namespace mps
}  // namespace backends
}  // namespace executorch
