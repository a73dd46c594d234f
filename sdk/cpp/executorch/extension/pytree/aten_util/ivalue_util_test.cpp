// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/pytree/aten_util/ivalue_util.h>

#include <ATen/core/Dict.h>
#include <ATen/core/List.h>
#include <ATen/core/jit_type.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>

#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

using executorch::extension::flatten;
using executorch::extension::is_same;
using executorch::extension::unflatten;
using executorch::extension::pytree::from_str;
using executorch::extension::pytree::to_str;
using executorch::extension::pytree::TreeSpec;

namespace {

using Tensors = std::vector<at::Tensor>;

at::Tensor filled(double value) {
  return at::full({2}, value);
}

/// ({'x': a, 'y': [b, c]}, d)
c10::IValue nested(double a, double b, double c, double d) {
  c10::impl::GenericDict dict(c10::StringType::get(), c10::AnyType::get());
  dict.insert("x", filled(a));
  dict.insert("y", c10::IValue(c10::List<at::Tensor>({filled(b), filled(c)})));
  return c10::ivalue::Tuple::create(c10::IValue(dict), filled(d));
}

}  // namespace

TEST(IValueUtilTest, TakesApartAndPutsTogether) {
  const auto [tensors, tree] = flatten(nested(1, 2, 3, 4));
  EXPECT_EQ(to_str(*tree), "T2#3#1(D2#1#2('x':$,'y':L2#1#1($,$)),$)");
  ASSERT_EQ(tensors.size(), 4u);
  for (size_t i = 0; i < tensors.size(); ++i) {
    EXPECT_TRUE(tensors[i].equal(filled(static_cast<double>(i + 1))));
  }
  const c10::IValue again = unflatten(tensors, tree);
  ASSERT_TRUE(again.isTuple());
  const auto& elements = again.toTupleRef().elements();
  EXPECT_TRUE(elements[0].toGenericDict().at("y").isTensorList());
  EXPECT_TRUE(elements[1].toTensor().equal(filled(4)));
  EXPECT_TRUE(is_same(again, nested(1, 2, 3, 4)));
}

TEST(IValueUtilTest, KnowsIntegerKeysAndTensorsAlone) {
  c10::Dict<int64_t, at::Tensor> dict;
  dict.insert(-7, filled(1));
  dict.insert(3, filled(2));
  const auto [tensors, tree] = flatten(dict);
  EXPECT_EQ(to_str(*tree), "D2#1#1(-7:$,3:$)");
  EXPECT_TRUE(unflatten(tensors, tree).toGenericDict().at(3).toTensor().equal(filled(2)));

  const auto [alone, leaf] = flatten(filled(5));
  EXPECT_EQ(to_str(*leaf), "$");
  EXPECT_TRUE(unflatten(alone, leaf).toTensor().is_same(alone[0]));
}

TEST(IValueUtilTest, Compares) {
  EXPECT_FALSE(is_same(nested(1, 2, 3, 4), nested(1, 2, 3, 5)));
  EXPECT_FALSE(is_same(c10::List<at::Tensor>({filled(1)}), c10::ivalue::Tuple::create(filled(1))));
  const Tensors one = {filled(1)};
  EXPECT_FALSE(is_same(one, Tensors{filled(1), filled(1)}));
  EXPECT_FALSE(is_same(one, Tensors{at::ones({3})}));
  EXPECT_FALSE(is_same(Tensors{at::arange(3)}, Tensors{at::arange(3).to(at::kInt)}));
  EXPECT_TRUE(is_same(one, Tensors{filled(1)}));
}

TEST(IValueUtilTest, RefusesWhatIsNoTensor) {
  EXPECT_THROW(flatten(c10::IValue(1.5)), std::invalid_argument);
  EXPECT_THROW(flatten(c10::IValue()), std::invalid_argument);
  EXPECT_THROW(flatten(c10::ivalue::Tuple::create(filled(1), "text")), std::invalid_argument);
  c10::Dict<int64_t, at::Tensor> dict;
  dict.insert(int64_t{1} << 40, filled(1));
  EXPECT_THROW(flatten(dict), std::invalid_argument);
  c10::IValue deep = filled(1);
  for (int i = 0; i < 1000; ++i) {
    deep = c10::ivalue::Tuple::create(deep);
  }
  EXPECT_THROW(flatten(deep), std::invalid_argument);

  const auto two = std::make_unique<TreeSpec<>>(from_str<>("T2#1#1($,$)"));
  EXPECT_THROW(unflatten({filled(1)}, two), std::invalid_argument);
  EXPECT_THROW(unflatten({filled(1), filled(2), filled(3)}, two), std::invalid_argument);
  EXPECT_THROW(unflatten({filled(1)}, nullptr), std::invalid_argument);
  const auto custom = std::make_unique<TreeSpec<>>(from_str<>("C(a)1#1($)"));
  EXPECT_THROW(unflatten({filled(1)}, custom), std::invalid_argument);
}
