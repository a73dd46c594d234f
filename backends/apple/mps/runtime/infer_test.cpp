// SPDX-License-Identifier: BSD-3-Clause
#include "infer.h"

#include <gtest/gtest.h>

using namespace executorch::backends::mps;

namespace {

Type floats(Sizes sizes) {
  return {DataType::Float32, std::move(sizes)};
}

/// Returns what is wrong with a node; stores the sizes of its first result in `sizes`.
std::string infer_one(const Node& node, const std::vector<Type>& operands, Sizes* sizes = nullptr) {
  OperandTypes types;
  for (const Type& operand : operands) {
    types.push_back(operand.sizes.empty() ? nullptr : &operand);
  }
  std::vector<Type> results;
  const std::string wrong = infer(node, types, results);
  if (sizes != nullptr && wrong.empty()) {
    *sizes = results.at(0).sizes;
  }
  return wrong;
}

Node node_of(NodeType type, std::vector<int64_t> integers = {}, std::vector<float> numbers = {},
             std::vector<Sizes> lists = {}, std::string text = "") {
  return {type, {}, {}, std::move(integers), std::move(numbers), std::move(lists), std::move(text), 0, 0};
}

TEST(InferTest, Promotion) {
  EXPECT_EQ(promote(DataType::Bool, DataType::Int8), DataType::Int8);
  EXPECT_EQ(promote(DataType::Int64, DataType::Float16), DataType::Float16);
  EXPECT_EQ(promote(DataType::Float32, DataType::Float16), DataType::Float32);
  EXPECT_EQ(promote(DataType::UInt8, DataType::Int8), DataType::Int16);
  EXPECT_EQ(promote(DataType::UInt8, DataType::Int32), DataType::Int32);
}

TEST(InferTest, Broadcasting) {
  Sizes sizes;
  EXPECT_EQ(infer_one(node_of(NodeType::Mul), {floats({4, 1, 3}), floats({2, 1})}, &sizes), "");
  EXPECT_EQ(sizes, (Sizes{4, 2, 3}));
  EXPECT_EQ(infer_one(node_of(NodeType::Mul), {floats({4, 2}), floats({3})}),
            "operands of the shapes [4, 2] and [3] do not broadcast");
  EXPECT_NE(infer_one(node_of(NodeType::Add, {}, {1}), {{DataType::Bool, {2}}, {DataType::Bool, {2}}}), "");
  EXPECT_NE(infer_one(node_of(NodeType::BitwiseAnd), {floats({2}), floats({2})}), "");
}

TEST(InferTest, RoundingModes) {
  const std::vector<Type> pair{floats({2}), floats({2})};
  EXPECT_EQ(infer_one(node_of(NodeType::Div, {}, {}, {}, "floor"), pair), "");
  EXPECT_EQ(infer_one(node_of(NodeType::Div), pair), "");
  EXPECT_NE(infer_one(node_of(NodeType::Div, {}, {}, {}, "up"), pair), "");
  EXPECT_NE(infer_one(node_of(NodeType::Fmod, {}, {}, {}, "floor"), pair), "");
}

TEST(InferTest, MatrixProducts) {
  Sizes sizes;
  EXPECT_EQ(infer_one(node_of(NodeType::MatMul), {floats({8, 2, 3}), floats({3, 5})}, &sizes), "");
  EXPECT_EQ(sizes, (Sizes{8, 2, 5}));
  EXPECT_NE(infer_one(node_of(NodeType::MatMul), {floats({2, 3}), floats({2, 3})}), "");
  EXPECT_NE(infer_one(node_of(NodeType::MatMul), {floats({3}), floats({3, 5})}), "");
  EXPECT_EQ(infer_one(node_of(NodeType::Addmm, {}, {1, 1}), {floats({5}), floats({2, 3}), floats({3, 5})}, &sizes), "");
  EXPECT_NE(infer_one(node_of(NodeType::Addmm, {}, {1, 1}), {floats({4, 2, 5}), floats({2, 3}), floats({3, 5})}), "");
}

TEST(InferTest, Convolutions) {
  // strides, dilations (x first), groups, and paddings left, right, top, bottom
  Node node = node_of(NodeType::Conv2D, {2, 1, 1, 2, 1, 1, 1, 0, 0});
  Sizes sizes;
  EXPECT_EQ(infer_one(node, {floats({1, 3, 9, 8}), floats({6, 3, 3, 3}), floats({6})}, &sizes), "");
  EXPECT_EQ(sizes, (Sizes{1, 6, 5, 4}));  // (9 - 5) / 1 + 1, (8 + 2 - 3) / 2 + 1
  EXPECT_EQ(infer_one(node, {floats({1, 3, 8}), floats({6, 3, 3}), {}}, &sizes), "");
  EXPECT_EQ(sizes, (Sizes{1, 6, 4}));
  EXPECT_NE(infer_one(node, {floats({1, 4, 9, 8}), floats({6, 3, 3, 3}), {}}), "");
  EXPECT_NE(infer_one(node, {floats({1, 3, 9, 8}), floats({6, 3, 3, 3}), floats({5})}), "");
  EXPECT_NE(infer_one(node, {floats({1, 3, 4, 8}), floats({6, 3, 3, 3}), {}}), "");
  node.integers[0] = 0;
  EXPECT_EQ(infer_one(node, {floats({1, 3, 9, 8}), floats({6, 3, 3, 3}), {}}), "a kernel, a stride or a dilation is 0");
  node.integers[0] = 1;
  node.integers[4] = 0;
  EXPECT_NE(infer_one(node, {floats({1, 3, 9, 8}), floats({6, 3, 3, 3}), {}}), "");
}

TEST(InferTest, Poolings) {
  // kernel and stride (y first), paddings left, right, top, bottom, dilations, ceil_mode, counts padding, divisor
  Node node = node_of(NodeType::AvgPool2D, {3, 2, 2, 2, 0, 0, 1, 1, 1, 1, 0, 1, 0});
  Sizes sizes;
  EXPECT_EQ(infer_one(node, {floats({1, 2, 7, 9})}, &sizes), "");
  EXPECT_EQ(sizes, (Sizes{1, 2, 4, 4}));
  node.integers[10] = 1;
  EXPECT_EQ(infer_one(node, {floats({1, 2, 7, 9})}, &sizes), "");
  EXPECT_EQ(sizes, (Sizes{1, 2, 4, 5}));  // a window at column 8
  EXPECT_NE(infer_one(node, {floats({2, 7, 9})}), "");
}

TEST(InferTest, Movements) {
  Sizes sizes;
  EXPECT_EQ(infer_one(node_of(NodeType::Permute, {3}, {}, {{2, 0, 1}}), {floats({2, 3, 4})}, &sizes), "");
  EXPECT_EQ(sizes, (Sizes{4, 2, 3}));
  EXPECT_NE(infer_one(node_of(NodeType::Permute, {3}, {}, {{2, 0, 0}}), {floats({2, 3, 4})}), "");
  EXPECT_EQ(infer_one(node_of(NodeType::Expand, {3}, {}, {{5, -1, 4}}), {floats({1, 3, 1})}, &sizes), "");
  EXPECT_EQ(sizes, (Sizes{5, 3, 4}));
  EXPECT_NE(infer_one(node_of(NodeType::Expand, {3}, {}, {{5, 2, 4}}), {floats({1, 3, 1})}), "");
  EXPECT_NE(infer_one(node_of(NodeType::View, {1}, {}, {{7}}), {floats({2, 3})}), "");
  EXPECT_EQ(infer_one(node_of(NodeType::Slice, {1, 0, 5, 2}), {floats({2, 5})}, &sizes), "");
  EXPECT_EQ(sizes, (Sizes{2, 3}));
  EXPECT_NE(infer_one(node_of(NodeType::Slice, {1, 0, 6, 2}), {floats({2, 5})}), "");
  EXPECT_NE(infer_one(node_of(NodeType::Slice, {1, 0, 5, 0}), {floats({2, 5})}), "");
  EXPECT_NE(infer_one(node_of(NodeType::Select, {1, 5}), {floats({2, 5})}), "");
  EXPECT_NE(infer_one(node_of(NodeType::Cat, {2}), {floats({2, 5}), floats({2, 5})}), "");
  EXPECT_NE(infer_one(node_of(NodeType::SplitWithSizes, {1}, {}, {{2, 2}}), {floats({2, 5})}), "");
  EXPECT_NE(infer_one(node_of(NodeType::ConstantPadND, {}, {0}, {{-1, 0}}), {floats({2, 5})}), "");
  EXPECT_NE(infer_one(node_of(NodeType::Arange, {2}, {0, 4, 0}), {}), "");
  EXPECT_NE(infer_one(node_of(NodeType::Full, {2}, {0}, {{1 << 20, 1 << 20}}), {}), "");
}

TEST(InferTest, Indices) {
  const Type index{DataType::Int64, {7}}, x = floats({6, 5, 4});
  Sizes sizes;
  EXPECT_EQ(infer_one(node_of(NodeType::IndexTensor), {x, {}, index}, &sizes), "");
  EXPECT_EQ(sizes, (Sizes{6, 7, 4}));
  EXPECT_NE(infer_one(node_of(NodeType::IndexTensor), {x, index, index}), "");
  EXPECT_NE(infer_one(node_of(NodeType::IndexTensor), {x, {}, {}}), "");
  EXPECT_NE(infer_one(node_of(NodeType::IndexSelect, {3}), {x, index}), "");
  EXPECT_NE(infer_one(node_of(NodeType::IndexSelect, {1}), {x, floats({7})}), "");
  EXPECT_EQ(infer_one(node_of(NodeType::IndexPut), {x, {}, index, floats({4})}, &sizes), "");
  EXPECT_NE(infer_one(node_of(NodeType::IndexPut), {x, {}, index, floats({3})}), "");
  EXPECT_NE(infer_one(node_of(NodeType::Scatter, {1}), {x, {DataType::Int32, {6, 2, 3}}, floats({6, 2, 3})}), "");
}

TEST(InferTest, Int4IsForWeights) {
  const Type weight{DataType::Int4, {4, 64}}, scales{DataType::Float16, {4, 2}};
  EXPECT_EQ(infer_one(node_of(NodeType::DequantizePerChannelGroup, {-8, 7, 6, 32, 2}), {weight, scales, {}}), "");
  EXPECT_NE(infer_one(node_of(NodeType::DequantizePerChannelGroup, {-8, 7, 6, 0, 2}), {weight, scales, {}}), "");
  EXPECT_NE(infer_one(node_of(NodeType::DequantizePerChannelGroup, {-8, 7, 6, 32, 2}), {weight, scales, scales}), "");
  EXPECT_NE(infer_one(node_of(NodeType::Neg), {weight}), "");
}

}  // namespace
