// SPDX-License-Identifier: BSD-3-Clause
// Rules for operations that move elements, and for constants.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>

#include "infer.h"

namespace executorch {
namespace backends {
namespace mps {

namespace {

std::string not_a_dimension(int64_t dim, const Sizes& sizes) {
  return "the dimension " + std::to_string(dim) + " is not one of the shape " + text_of(sizes);
}

bool is_dimension(int64_t dim, const Sizes& sizes) {
  return dim >= 0 && dim < static_cast<int64_t>(sizes.size());
}

bool is_index(const Type& type) {
  return !is_float(type.type) && type.type != DataType::Bool && type.type != DataType::Int4;
}

/// Finds the dimension of the only index of index or index_put, among the operands from `first` on.
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

int64_t count_of_range(const Node& node) {
  const double start = node.floats[0], end = node.floats[1], step = node.floats[2];
  const double count = std::ceil((end - start) / step);
  return count >= 1 && count < static_cast<double>(kMostElements) ? static_cast<int64_t>(count) : -1;
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
