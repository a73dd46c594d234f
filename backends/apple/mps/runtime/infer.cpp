// SPDX-License-Identifier: BSD-3-Clause
#include "infer.h"

#include <algorithm>

namespace executorch {
namespace backends {
namespace mps {

namespace {

std::string expects(const char* what, const Type& found) {
  return std::string("expected ") + what + ", found " + name_of(found.type) + " of the shape " + text_of(found.sizes);
}

std::string infer_unary(const Node& node, const Type& x, std::vector<Type>& results) {
  switch (node.type) {
    case NodeType::Neg:
    case NodeType::Abs:
    case NodeType::Sign:
    case NodeType::Clamp:
      results = {x};
      return x.type == DataType::Bool ? expects("numbers", x) : "";
    case NodeType::Floor:
    case NodeType::Ceil:
    case NodeType::Round:
      results = {x};
      return "";
    case NodeType::BitwiseNot:
      results = {x};
      return is_float(x.type) ? expects("integers", x) : "";
    case NodeType::Isnan:
    case NodeType::Isinf:
    case NodeType::LogicalNot:
      results = {{DataType::Bool, x.sizes}};
      return "";
    case NodeType::HardTanh:
    case NodeType::ReLU:
    case NodeType::GELU:
    case NodeType::LeakyReLU:
      results = {x};
      return is_float(x.type) ? "" : expects("floats", x);
    case NodeType::Softmax:
    case NodeType::LogSoftmax:
      results = {x};
      if (!is_float(x.type)) {
        return expects("floats", x);
      }
      return node.integers[0] >= 0 && node.integers[0] < static_cast<int64_t>(x.sizes.size())
                 ? ""
                 : "the dimension " + std::to_string(node.integers[0]) + " is not one of " + text_of(x.sizes);
    default:
      // Functions of floats; integers are converted to floats.
      results = {{is_float(x.type) ? x.type : DataType::Float32, x.sizes}};
      return "";
  }
}

std::string infer_binary(const Node& node, const Type& a, const Type& b, std::vector<Type>& results) {
  results = {{promote(a.type, b.type), {}}};
  Type& result = results[0];
  if (!broadcast(a.sizes, b.sizes, result.sizes)) {
    return "operands of the shapes " + text_of(a.sizes) + " and " + text_of(b.sizes) + " do not broadcast";
  }
  switch (node.type) {
    case NodeType::BitwiseAnd:
    case NodeType::BitwiseOr:
    case NodeType::BitwiseXor:
      return is_float(result.type) ? expects("integers", result) : "";
    case NodeType::Eq:
    case NodeType::Ne:
    case NodeType::Ge:
    case NodeType::Gt:
    case NodeType::Le:
    case NodeType::Lt:
      result.type = DataType::Bool;
      return "";
    case NodeType::Pow:
    case NodeType::Atan2:
      return is_float(result.type) ? "" : expects("floats", result);
    case NodeType::Div:
    case NodeType::Fmod:
    case NodeType::Remainder: {
      const std::string wanted = node.type == NodeType::Fmod        ? "trunc"
                                 : node.type == NodeType::Remainder ? "floor"
                                                                    : node.text;
      if ((!node.text.empty() && node.text != wanted) || (wanted != "" && wanted != "trunc" && wanted != "floor")) {
        return "the rounding mode is '" + node.text + "'; expected 'floor' or 'trunc'";
      }
      if (wanted.empty() && !is_float(result.type)) {
        result.type = DataType::Float32;
      }
      break;
    }
    default:
      break;
  }
  return result.type == DataType::Bool ? expects("numbers", result) : "";
}

std::string infer_matrix(const OperandTypes& operands, size_t first, std::vector<Type>& results) {
  const Type &a = *operands[first], &b = *operands[first + 1];
  const size_t rank_a = a.sizes.size(), rank_b = b.sizes.size();
  Sizes batch;
  if (rank_a < 2 || rank_b < 2 || a.sizes[rank_a - 1] != b.sizes[rank_b - 2] ||
      !broadcast(Sizes(a.sizes.begin(), a.sizes.end() - 2), Sizes(b.sizes.begin(), b.sizes.end() - 2), batch)) {
    return "matrices of the shapes " + text_of(a.sizes) + " and " + text_of(b.sizes) + " cannot be multiplied";
  }
  batch.push_back(a.sizes[rank_a - 2]);
  batch.push_back(b.sizes[rank_b - 1]);
  results = {{promote(a.type, b.type), batch}};
  return is_float(results[0].type) ? "" : expects("floats", results[0]);
}

std::string infer_addmm(const OperandTypes& operands, std::vector<Type>& results) {
  if (std::string wrong = infer_matrix(operands, 1, results); !wrong.empty()) {
    return wrong;
  }
  Sizes sizes;
  if (!broadcast(operands[0]->sizes, results[0].sizes, sizes) || sizes != results[0].sizes) {
    return "a bias of the shape " + text_of(operands[0]->sizes) + " does not fit " + text_of(results[0].sizes);
  }
  results[0].type = promote(results[0].type, operands[0]->type);
  return is_float(results[0].type) ? "" : expects("floats", results[0]);
}

std::string infer_where(const OperandTypes& operands, std::vector<Type>& results) {
  Sizes sizes;
  results = {{promote(operands[1]->type, operands[2]->type), {}}};
  if (operands[0]->type != DataType::Bool) {
    return expects("a condition of bool", *operands[0]);
  }
  return broadcast(operands[1]->sizes, operands[2]->sizes, sizes) &&
                 broadcast(operands[0]->sizes, sizes, results[0].sizes)
             ? ""
             : "a condition of the shape " + text_of(operands[0]->sizes) + " does not fit its operands";
}

std::string infer_mean(const Node& node, const Type& x, std::vector<Type>& results) {
  Type result{x.type, {}};
  std::vector<bool> reduced(x.sizes.size());
  for (const int64_t dim : node.lists[0]) {
    if (dim < 0 || dim >= static_cast<int64_t>(x.sizes.size()) || reduced[dim]) {
      return "the dimensions " + text_of(node.lists[0]) + " are not those of " + text_of(x.sizes);
    }
    reduced[dim] = true;
  }
  for (size_t axis = 0; axis < x.sizes.size(); ++axis) {
    if (!reduced[axis] || node.integers[1] != 0) {
      result.sizes.push_back(reduced[axis] ? 1 : x.sizes[axis]);
    }
  }
  if (result.sizes.empty()) {
    result.sizes.push_back(1);
  }
  results = {result};
  return is_float(x.type) ? "" : expects("floats", x);
}

/// Statistics, weights and biases of normalisations have `sizes` each.
std::string check_parameters(const Type& x, const OperandTypes& operands, const Sizes& sizes) {
  if (!is_float(x.type)) {
    return expects("floats", x);
  }
  for (size_t i = 1; i < operands.size(); ++i) {
    if (operands[i] != nullptr && (operands[i]->sizes != sizes || !is_float(operands[i]->type))) {
      return expects(("floats of the shape " + text_of(sizes)).c_str(), *operands[i]);
    }
  }
  return "";
}

std::string infer_normalization(const Node& node, const OperandTypes& operands, std::vector<Type>& results) {
  const Type& x = *operands[0];
  results = {x};
  if (node.type == NodeType::BatchNorm) {
    return x.sizes.size() < 2 ? expects("a rank of 2 at least", x) : check_parameters(x, operands, {x.sizes[1]});
  }
  const Sizes& last = node.lists[0];
  if (last.empty() || last.size() > x.sizes.size() || !std::equal(last.rbegin(), last.rend(), x.sizes.rbegin())) {
    return expects(("last dimensions of the shape " + text_of(last)).c_str(), x);
  }
  return check_parameters(x, operands, last);
}

std::string infer_dequantize(const Node& node, const OperandTypes& operands, std::vector<Type>& results) {
  const Type &x = *operands[0], &scales = *operands[1];
  const int64_t group = node.integers[3];
  if (operands[2] != nullptr) {
    return "zero points other than 0 are not possible";
  }
  if (x.type != DataType::Int4 || x.sizes.size() != 2) {
    return expects("a matrix of int4", x);
  }
  if (group < 1 || x.sizes[1] % group != 0 || scales.sizes != Sizes{x.sizes[0], x.sizes[1] / group} ||
      scales.type != DataType::Float16) {
    return "scales of " + std::string(name_of(scales.type)) + " and the shape " + text_of(scales.sizes) +
           " do not fit " + text_of(x.sizes) + " weights in groups of " + std::to_string(group);
  }
  results = {{DataType::Float16, x.sizes}};
  return "";
}

}  // namespace

DataType promote(DataType a, DataType b) {
  const auto rank = [](DataType type) {
    constexpr DataType kOrder[] = {DataType::Bool,  DataType::UInt8, DataType::Int8,    DataType::Int16,
                                   DataType::Int32, DataType::Int64, DataType::Float16, DataType::Float32};
    return std::find(std::begin(kOrder), std::end(kOrder), type) - std::begin(kOrder);
  };
  if ((a == DataType::UInt8 && b == DataType::Int8) || (a == DataType::Int8 && b == DataType::UInt8)) {
    return DataType::Int16;
  }
  return rank(a) < rank(b) ? b : a;
}

bool broadcast(const Sizes& a, const Sizes& b, Sizes& result) {
  const Sizes &longer = a.size() < b.size() ? b : a, &shorter = a.size() < b.size() ? a : b;
  Sizes made = longer;
  for (size_t i = 1; i <= shorter.size(); ++i) {
    int64_t& size = made[made.size() - i];
    const int64_t other = shorter[shorter.size() - i];
    if (size != other && size != 1 && other != 1) {
      return false;
    }
    size = size == 1 ? other : size;
  }
  result = std::move(made);
  return true;
}

std::string infer(const Node& node, const OperandTypes& operands, std::vector<Type>& results) {
  for (const Type* const operand : operands) {
    if (operand != nullptr && operand->type == DataType::Int4 && node.type != NodeType::DequantizePerChannelGroup) {
      return expects("another dtype than int4, which is for weights", *operand);
    }
  }
  const std::string form = form_of(node.type);
  switch (node.type) {
    case NodeType::MatMul:
      return infer_matrix(operands, 0, results);
    case NodeType::Addmm:
      return infer_addmm(operands, results);
    case NodeType::Where:
      return infer_where(operands, results);
    case NodeType::Mean:
      return infer_mean(node, *operands[0], results);
    case NodeType::BatchNorm:
    case NodeType::LayerNorm:
      return infer_normalization(node, operands, results);
    case NodeType::DequantizePerChannelGroup:
      return infer_dequantize(node, operands, results);
    case NodeType::Conv2D:
    case NodeType::DepthwiseConv2D:
    case NodeType::MaxPool2DWithIndices:
    case NodeType::AvgPool2D:
    case NodeType::ConstantPadND:
    case NodeType::PixelShuffle:
      return infer_window(node, operands, results);
    case NodeType::HardTanh:
    case NodeType::ReLU:
    case NodeType::GELU:
    case NodeType::LeakyReLU:
    case NodeType::Softmax:
    case NodeType::LogSoftmax:
      return infer_unary(node, *operands[0], results);
    default:
      break;
  }
  if (form == "or") {
    return infer_unary(node, *operands[0], results);
  }
  if (form.compare(0, 3, "oor") == 0 && node.type != NodeType::Embedding) {
    return infer_binary(node, *operands[0], *operands[1], results);
  }
  return infer_movement(node, operands, results);
}

}  // namespace mps
}  // namespace backends
}  // namespace executorch
