// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/pytree/pytree.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using namespace executorch::extension::pytree;  // NOLINT: as users do

namespace {

TEST(PytreeTest, TextsBecomeTrees) {
  int leaves[] = {10, 20, 30, 40};
  const auto tree = unflatten("D3#2#1#1('a':L2#1#1($,$),7:$,-2:T1#1($))", leaves);
  ASSERT_TRUE(tree.isDict());
  ASSERT_EQ(tree.size(), 3U);
  EXPECT_EQ(tree.leaves_num(), 4U);
  EXPECT_TRUE(tree.at("a").isList());
  EXPECT_EQ(tree.at("a")[1], 20);
  EXPECT_EQ(tree.at(7).leaf_ptr(), &leaves[2]) << "leaves are not copied";
  EXPECT_TRUE(tree.at(-2).isTuple());
  EXPECT_EQ(tree.key(0).as_str(), "a");
  EXPECT_EQ(tree.key(1).as_int(), 7);
  EXPECT_TRUE(tree.contains("a"));
  EXPECT_FALSE(tree.contains("b"));
  EXPECT_THROW(tree.at("b"), std::out_of_range);
  EXPECT_THROW(tree[3], std::out_of_range);
  EXPECT_THROW(tree.leaf(), std::out_of_range);
  EXPECT_THROW(tree.key(0).as_int(), std::out_of_range);
  EXPECT_EQ(unflatten("$", leaves), 10);
}

TEST(PytreeTest, TreesBecomeTheSameTexts) {
  for (const std::string text :
       {"$", "L0()", "T1#0(L0())", "L2#1#1($,$)", "N2#1#1($,$)", "D2#2#1('key,(0':L2#1#1($,$),1:$)",
        "C(my.Type)2#1#2($,T2#1#1($,$))", "T3#1#2#0($,D1#2(4:L2#1#1($,$)),T0())"}) {
    const auto spec = from_str(text);
    EXPECT_EQ(to_str(spec), text);
    EXPECT_TRUE(spec == from_str(text));
  }
  EXPECT_EQ(from_str("C(my.Type)1#1($)").handle->custom_type, "my.Type");
  EXPECT_TRUE(from_str("L1#1($)") != from_str("T1#1($)"));
  EXPECT_TRUE(from_str("D1#1('a':$)") != from_str("D1#1('b':$)"));
}

TEST(PytreeTest, TreesBecomeLeavesAndATreeWithoutThem) {
  int leaves[] = {1, 2, 3};
  ContainerHandle<int> inner(Kind::List, size_t{2});
  inner[0] = &leaves[1];
  inner[1] = &leaves[2];
  ContainerHandle<int> tree(Kind::Dict, size_t{2});
  tree[0] = &leaves[0];
  tree[1] = std::move(inner);
  tree.key(0) = 5;
  tree.key(1) = Key("list");
  const auto [found, spec] = flatten(tree);
  EXPECT_EQ(std::vector<int*>(found.begin(), found.end()), (std::vector<int*>{&leaves[0], &leaves[1], &leaves[2]}));
  EXPECT_EQ(to_str(*spec), "D2#1#2(5:$,'list':L2#1#1($,$))");
  int others[] = {4, 5, 6};
  const auto other = unflatten(*spec, others);
  EXPECT_EQ(other.at("list")[1], 6);
  const auto& constant = tree;
  EXPECT_EQ(flatten(constant).first.at(2), &leaves[2]);

  size_t nodes = 0;
  traverse<int, Empty>(tree, [&](ContainerHandle<int>&) { ++nodes; });
  EXPECT_EQ(nodes, 5U);
}

TEST(PytreeTest, WhatIsNoTreeIsRefused) {
  int leaves[4] = {};
  for (const std::string text : {"",
                                 "L",
                                 "L2",
                                 "L2#1#1",
                                 "L2#1#1(",
                                 "L2#1#1($",
                                 "L2#1#1($,$",
                                 "L2#1($,$)",
                                 "L1#1($,$)",
                                 "L2#1#1($)",
                                 "L1#2($)",
                                 "L0($)",
                                 "$$",
                                 "L1#1($))",
                                 "X1#1($)",
                                 "D1#1($)",
                                 "D1#1('a:$)",
                                 "D1#1('a'$)",
                                 "D1#1(:$)",
                                 "D1#1(4294967296:$)",
                                 "C1#1($)",
                                 "C(a",
                                 "L99999999999999999999999#1($)",
                                 "L123456789#1($)"}) {
    EXPECT_THROW(unflatten(text, leaves), std::out_of_range) << text;
  }
  std::string deep;
  for (int i = 0; i < 100000; ++i) {
    deep += "L1#1(";
  }
  EXPECT_THROW(from_str(deep), std::out_of_range);
  EXPECT_THROW(to_str(TreeSpec<>()), std::out_of_range);
}

// Every prefix of a text, and every text with one byte changed, is a tree or is refused.
TEST(PytreeTest, DamagedTextsAreTreesOrRefused) {
  const std::string text = "D3#2#1#1('a':L2#1#1($,$),7:$,-2:C(t)1#1($))";
  size_t refused = 0;
  const auto reads = [&](const std::string& damaged) {
    try {
      const auto spec = from_str(damaged);
      EXPECT_TRUE(from_str(to_str(spec)) == spec) << damaged;
    } catch (const std::out_of_range&) {
      ++refused;
    }
  };
  for (size_t i = 0; i < text.size(); ++i) {
    reads(text.substr(0, i));
    for (const char c : std::string("$LTNDC(),:#'-0129x")) {
      std::string damaged = text;
      damaged[i] = c;
      reads(damaged);
    }
  }
  EXPECT_GT(refused, text.size());
}

TEST(PytreeTest, Arrays) {
  arr<int> numbers(3);
  std::fill(numbers.begin(), numbers.end(), 4);
  EXPECT_EQ(numbers.at(2), 4);
  EXPECT_EQ(numbers.size(), 3U);
  EXPECT_THROW(numbers.at(3), std::out_of_range);
}

TEST(PytreeTest, Stacks) {
  executorch::extension::pytree::stack<std::string> texts;
  EXPECT_THROW(texts.top(), std::out_of_range);
  EXPECT_THROW(texts.pop(), std::out_of_range);
  for (size_t i = 0; i < texts.SIZE; ++i) {
    texts.push(std::to_string(i));
  }
  EXPECT_THROW(texts.push("8"), std::out_of_range);
  EXPECT_EQ(texts.top(), "7");
  EXPECT_EQ(texts.pop(), "7");
  EXPECT_EQ(texts.pop(), "6");
  EXPECT_EQ(texts.size(), 6U);
}

}  // namespace
