// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/evalue_util/print_evalue.h>

#include <gtest/gtest.h>

#include <cmath>
#include <sstream>
#include <string>
#include <vector>

#include <executorch/extension/tensor/tensor.h>
#include <executorch/runtime/platform/runtime.h>

using executorch::aten::ArrayRef;
using executorch::aten::ScalarType;
using executorch::extension::evalue_edge_items;
using executorch::extension::make_tensor_ptr;
using executorch::runtime::BoxedEvalueList;
using executorch::runtime::EValue;

namespace {

std::string print(const EValue& value, long edge_items = 0) {
  std::ostringstream os;
  os << evalue_edge_items(edge_items) << value;
  return os.str();
}

std::string print_doubles(std::vector<double> items, long edge_items = 0) {
  ArrayRef<double> list(items.data(), items.size());
  return print(EValue(&list), edge_items);
}

std::vector<double> count_to(size_t size) {
  std::vector<double> items(size);
  for (size_t i = 0; i < size; ++i) {
    items[i] = static_cast<double>(i);
  }
  return items;
}

}  // namespace

TEST(PrintEvalueTest, Scalars) {
  EXPECT_EQ(print(EValue()), "None");
  EXPECT_EQ(print(EValue(true)), "True");
  EXPECT_EQ(print(EValue(false)), "False");
  EXPECT_EQ(print(EValue(int64_t{-85})), "-85");
  EXPECT_EQ(print(EValue(2.5)), "2.5");
  EXPECT_EQ(print(EValue(-3.0)), "-3.");
  EXPECT_EQ(print(EValue(1e20)), "1e+20");
  EXPECT_EQ(print(EValue(std::nan(""))), "nan");
  EXPECT_EQ(print(EValue(-INFINITY)), "-inf");
}

TEST(PrintEvalueTest, StringsAreQuoted) {
  const std::string text = "say \"hi\" \\ bye";
  ArrayRef<char> chars(text.data(), text.size());
  EXPECT_EQ(print(EValue(&chars)), R"("say \"hi\" \\ bye")");
}

TEST(PrintEvalueTest, UnknownTags) {
  EValue value;
  value.tag = static_cast<executorch::runtime::Tag>(5555);
  EXPECT_EQ(print(value), "<Unknown EValue tag 5555>");
}

TEST(PrintEvalueTest, Tensors) {
  executorch::runtime::runtime_init();
  EXPECT_EQ(print(EValue(*make_tensor_ptr({2, 2}, {1.0f, 2.5f, -3.0f, 0.125f}))),
            "tensor(sizes=[2, 2], [1., 2.5, -3., 0.125])");
  EXPECT_EQ(print(EValue(*make_tensor_ptr({2}, {true, false}))), "tensor(sizes=[2], [True, False])");
  EXPECT_EQ(print(EValue(*make_tensor_ptr(std::vector<int8_t>{65, -1}))), "tensor(sizes=[2], [65, -1])");
  EXPECT_EQ(print(EValue(*make_tensor_ptr({1.5f, 2.0f}, ScalarType::Half))), "tensor(sizes=[2], [1.5, 2.])");
  EXPECT_EQ(print(EValue(*make_tensor_ptr(7))), "tensor(sizes=[], [7])");
  EXPECT_EQ(print(EValue(*make_tensor_ptr({0, 3}, std::vector<float>{}))), "tensor(sizes=[0, 3], [])");
  EXPECT_EQ(print(EValue(*make_tensor_ptr({2}, nullptr))), "tensor(sizes=[2], no data)");
}

// The host cannot read a device's memory; the pointer stands for memory that must not be read.
TEST(PrintEvalueTest, TensorsOfDevices) {
  executorch::runtime::runtime_init();
  executorch::aten::SizesType sizes[] = {2};
  executorch::aten::DimOrderType order[] = {0};
  executorch::aten::TensorImpl impl(ScalarType::Float, 1, sizes, reinterpret_cast<void*>(uintptr_t{16}), order, nullptr,
                                    executorch::aten::TensorShapeDynamism::STATIC, executorch::aten::DeviceType::CUDA);
  EXPECT_EQ(print(EValue(executorch::aten::Tensor(&impl))), "tensor(sizes=[2], on device type 1)");
}

TEST(PrintEvalueTest, ListsAreElidedInTheMiddle) {
  EXPECT_EQ(print_doubles({}), "(len=0)[]");
  EXPECT_EQ(print_doubles({-2.2, -1, 0, INFINITY, NAN, 3.3}), "(len=6)[-2.2, -1., 0., inf, nan, 3.3]");
  EXPECT_EQ(print_doubles(count_to(7)), "(len=7)[0., 1., 2., ..., 4., 5., 6.]");
  EXPECT_EQ(print_doubles(count_to(7), 1), "(len=7)[0., ..., 6.]");
  EXPECT_EQ(print_doubles(count_to(7), 20), "(len=7)[0., 1., 2., 3., 4., 5., 6.]");
  EXPECT_EQ(print_doubles(count_to(7), -5), print_doubles(count_to(7)));
}

TEST(PrintEvalueTest, LongListsAreWrapped) {
  EXPECT_EQ(print_doubles(count_to(10), 100), "(len=10)[0., 1., 2., 3., 4., 5., 6., 7., 8., 9.]");
  EXPECT_EQ(print_doubles(count_to(11), 100),
            "(len=11)[\n"
            "  0., 1., 2., 3., 4., 5., 6., 7., 8., 9., \n"
            "  10., \n"
            "]");
  EXPECT_EQ(print_doubles(count_to(100), 12),
            "(len=100)[\n"
            "  0., 1., 2., 3., 4., 5., 6., 7., 8., 9., \n"
            "  10., 11., \n"
            "  ...,\n"
            "  88., 89., \n"
            "  90., 91., 92., 93., 94., 95., 96., 97., 98., 99., \n"
            "]");
}

// BLD-28: ten items at each end, as executor_runner prints them.
TEST(PrintEvalueTest, RunnerFormat) {
  std::vector<float> data(30);
  for (size_t i = 0; i < data.size(); ++i) {
    data[i] = static_cast<float>(i) / 2;
  }
  EXPECT_EQ(print(EValue(*make_tensor_ptr({1, 30}, data)), 10),
            "tensor(sizes=[1, 30], [\n"
            "  0., 0.5, 1., 1.5, 2., 2.5, 3., 3.5, 4., 4.5, \n"
            "  ...,\n"
            "  10., 10.5, 11., 11.5, 12., 12.5, 13., 13.5, 14., 14.5, \n"
            "])");
}

TEST(PrintEvalueTest, ListsOfTensorsHaveALineEach) {
  executorch::runtime::runtime_init();
  const auto tensor = make_tensor_ptr({2}, {1.0f, 2.0f});
  EValue first(*tensor);
  EValue* wrapped[] = {&first, nullptr};
  std::optional<executorch::aten::Tensor> unwrapped[2];
  BoxedEvalueList<std::optional<executorch::aten::Tensor>> list(wrapped, unwrapped, 2);
  EXPECT_EQ(print(EValue(&list)),
            "(len=2)[\n"
            "  [0]: tensor(sizes=[2], [1., 2.]),\n"
            "  [1]: None,\n"
            "]");
  BoxedEvalueList<std::optional<executorch::aten::Tensor>> single(wrapped, unwrapped, 1);
  EXPECT_EQ(print(EValue(&single)), "(len=1)[tensor(sizes=[2], [1., 2.])]");
}

TEST(PrintEvalueTest, EdgeItemsStickToTheirStream) {
  const auto items = count_to(7);
  ArrayRef<double> list(items.data(), items.size());
  const EValue value(&list);
  std::ostringstream one;
  std::ostringstream other;
  one << evalue_edge_items(1) << value << value;
  other << value;
  EXPECT_EQ(one.str(), "(len=7)[0., ..., 6.](len=7)[0., ..., 6.]");
  EXPECT_EQ(other.str(), "(len=7)[0., 1., 2., ..., 4., 5., 6.]");
}
