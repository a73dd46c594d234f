// SPDX-License-Identifier: BSD-3-Clause
#include "share.h"

#include <gtest/gtest.h>

using executorch::tests::Share;

namespace {

TEST(ShareTest, EachInputIsInOneShare) {
  for (size_t index = 0; index < 50; ++index) {
    size_t found = 0;
    for (size_t which = 0; which < 10; ++which) {
      found += Share{which, 10}.has(index);
    }
    EXPECT_EQ(found, 1u) << index;
    EXPECT_TRUE(Share().has(index));
  }
}

TEST(ShareTest, Texts) {
  Share share{7, 9};
  for (const char* const whole : {static_cast<const char*>(nullptr), "", "0/1"}) {
    EXPECT_TRUE(Share::parse(whole, share));
    EXPECT_EQ(share.count, 1u);
  }
  EXPECT_TRUE(Share::parse("9/10", share));
  EXPECT_EQ(share.which, 9u);
  EXPECT_EQ(share.count, 10u);
  for (const char* const wrong : {"10/10", "0/0", "1", "1/", "/10", "1/10x", "-1/10", "a/b"}) {
    EXPECT_FALSE(Share::parse(wrong, share)) << wrong;
  }
}

}  // namespace
