// SPDX-License-Identifier: BSD-3-Clause
// Delegates share packed weights if the original weights are equal, and never get those of others by a false digest.
#include "weights/weights.h"

#include <gtest/gtest.h>
#include <xnnpack.h>

#include <cstring>
#include <filesystem>
#include <memory>
#include <string>

#include <unistd.h>

#include <executorch/runtime/platform/runtime.h>

namespace executorch {
namespace backends {
namespace xnnpack {
namespace {

namespace fs = std::filesystem;

constexpr float kFirst[] = {1, 2, 3, 4};
constexpr float kOther[] = {1, 2, 3, 5};

OriginalWeights original(const float (&data)[4], Shape shape = {2, 2}) {
  OriginalWeights weights;
  weights.data = data;
  weights.size = sizeof(data);
  weights.shape = std::move(shape);
  return weights;
}

/// Returns the weights `data` with the digest of `named`, as in a program with false digests. OriginalWeights::start
/// has the first `start` values of `data`.
OriginalWeights claimed(const float (&data)[4], const float (&named)[4], size_t start = 4) {
  OriginalWeights weights = original(data);
  weights.digest = sha256(named, sizeof(named));
  weights.start.assign(reinterpret_cast<const char*>(data), start * sizeof(float));
  return weights;
}

/// Calls the cache as XNNPACK does, with no bias in the key: looks the weights up, and if they are not found, reserves
/// 64 bytes and fills them with `value`. Null if the weights have to be read first.
uint8_t* pack(DelegateWeights& weights, uint32_t seed, const OriginalWeights& filter, int value,
              const OriginalWeights* bias = nullptr) {
  weights.begin(&filter, bias);
  xnn_weights_cache_t cache = weights.provider();
  const xnn_weights_cache_look_up_key key{seed, filter.data, nullptr};
  size_t offset = cache->look_up(cache->context, &key);
  if (offset == SIZE_MAX) {
    void* space = cache->reserve_space(cache->context, 64);
    if (space == nullptr) {
      EXPECT_TRUE(weights.are_missing());
      return nullptr;
    }
    std::memset(space, value, 64);
    offset = cache->look_up_or_insert(cache->context, &key, space, 64);
  }
  const size_t again = cache->look_up_or_insert(cache->context, &key, nullptr, 64);
  auto* address = static_cast<uint8_t*>(cache->offset_to_addr(cache->context, offset));
  if (again != SIZE_MAX) {
    EXPECT_EQ(cache->offset_to_addr(cache->context, again), address) << "a second look-up finds other weights";
  }
  weights.end();
  return address;
}

TEST(XnnpackWeights, LieWhereKernelsAndHugePagesWantThem) {
  DelegateWeights weights(nullptr);
  xnn_weights_cache_t cache = weights.provider();
  const auto place = [&](size_t size) {
    return reinterpret_cast<uintptr_t>(cache->reserve_space(cache->context, size));
  };
  constexpr size_t kMegabyte = 1 << 20;
  EXPECT_EQ(place(100) % 128, 0u);
  EXPECT_EQ(place(2 * kMegabyte - 1) % 128, 0u);
  if (sizeof(void*) > 4) {
    EXPECT_EQ(place(2 * kMegabyte) % (2 * kMegabyte), 0u);
    EXPECT_EQ(place(5 * kMegabyte + 3) % (2 * kMegabyte), 0u);
  }
}

TEST(WeightsStore, DelegatesWithTheSameWeightsShareThem) {
  WeightsStore store;
  const float same[] = {1, 2, 3, 4};
  DelegateWeights a(&store);
  DelegateWeights b(&store);
  const uint8_t* packed = pack(a, 7, original(kFirst), 1);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(packed) % 128, 0u);
  EXPECT_EQ(pack(b, 7, original(same), 2), packed);
  EXPECT_EQ(*packed, 1);
  EXPECT_NE(pack(b, 8, original(same), 3), packed) << "packed in another way";
  EXPECT_NE(pack(b, 7, original(kOther), 4), packed);
  EXPECT_NE(pack(b, 7, original(same, {4, 1}), 4), packed) << "of another shape";
}

TEST(WeightsStore, ScalesAndBiasesThatArePackedAlongTellWeightsApart) {
  WeightsStore store;
  DelegateWeights a(&store);
  const uint8_t* packed = pack(a, 7, original(kFirst), 1);
  const OriginalWeights bias = original(kFirst, {4}), other_bias = original(kOther, {4});
  const uint8_t* with_bias = pack(a, 7, original(kFirst), 2, &bias);
  EXPECT_NE(with_bias, packed);
  EXPECT_NE(pack(a, 7, original(kFirst), 3, &other_bias), with_bias);
  EXPECT_EQ(pack(a, 7, original(kFirst), 4, &bias), with_bias);
  OriginalWeights scaled = original(kFirst);
  scaled.scales = "abcd";
  const uint8_t* with_scales = pack(a, 7, scaled, 5);
  EXPECT_NE(with_scales, packed);
  scaled.scales = "abce";
  EXPECT_NE(pack(a, 7, scaled, 6), with_scales);
  scaled.scales = "abcd";
  EXPECT_EQ(pack(a, 7, scaled, 7), with_scales);
}

TEST(WeightsStore, WhatIsNotToBeSharedIsNot) {
  WeightsStore store;
  DelegateWeights a(&store);
  DelegateWeights b(&store);
  DelegateWeights without(nullptr);
  OriginalWeights own = original(kFirst);
  const uint8_t* packed = pack(a, 7, own, 1);
  own.is_shareable = false;
  EXPECT_NE(pack(b, 7, own, 2), packed);
  EXPECT_NE(pack(without, 7, original(kFirst), 3), packed);
}

TEST(WeightsStore, ADigestIsNoNameWithoutAFile) {
  WeightsStore store;
  DelegateWeights a(&store);
  DelegateWeights b(&store);
  const uint8_t* packed = pack(a, 7, claimed(kOther, kFirst), 1);
  EXPECT_NE(pack(b, 7, claimed(kFirst, kFirst), 2), packed);
  OriginalWeights absent = claimed(kFirst, kFirst);
  absent.data = nullptr;
  EXPECT_EQ(pack(b, 7, absent, 3), nullptr);
}

class DigestsWithAFile : public ::testing::Test {
 protected:
  void SetUp() override {
    executorch::runtime::runtime_init();
    ASSERT_EQ(xnn_initialize(nullptr), xnn_status_success);
    path_ = (fs::temp_directory_path() / ("digests_" + std::to_string(getpid()))).string();
    fs::remove(path_);
  }
  void TearDown() override { fs::remove(path_); }
  std::unique_ptr<WeightsStore> start() const { return std::make_unique<WeightsStore>(open_weights_file(path_, true)); }

  std::string path_;
};

TEST_F(DigestsWithAFile, NameWeightsThatAreNotRead) {
  OriginalWeights absent = claimed(kFirst, kFirst, 2);
  absent.data = nullptr;
  {
    const auto store = start();
    DelegateWeights first(store.get());
    EXPECT_EQ(pack(first, 7, absent, 1), nullptr) << "not packed yet";
    ASSERT_NE(pack(first, 7, claimed(kFirst, kFirst, 2), 1), nullptr);
    const OriginalWeights bias = claimed(kOther, kOther);
    ASSERT_NE(pack(first, 7, claimed(kFirst, kFirst, 2), 3, &bias), nullptr);
    store->commit();
  }
  const auto store = start();
  EXPECT_TRUE(store->may_have(*store->name(absent), {}));
  EXPECT_FALSE(store->may_have(*store->name(claimed(kOther, kOther)), {}));
  DelegateWeights second(store.get());
  const uint8_t* packed = pack(second, 7, absent, 2);
  ASSERT_NE(packed, nullptr);
  EXPECT_EQ(*packed, 1) << "packed by the first start";
  EXPECT_EQ(pack(second, 8, absent, 2), nullptr) << "packed in another way";
  OriginalWeights absent_bias = claimed(kOther, kOther);
  absent_bias.data = nullptr;
  EXPECT_TRUE(store->may_have(*store->name(absent), *store->name(absent_bias)));
  const uint8_t* with_bias = pack(second, 7, absent, 4, &absent_bias);
  ASSERT_NE(with_bias, nullptr);
  EXPECT_EQ(*with_bias, 3);
}

TEST_F(DigestsWithAFile, AreCheckedBeforeOthersSeeWhatWasPacked) {
  const auto store = start();
  DelegateWeights liar(store.get());
  // The first bytes are equal, so only the digest can distinguish them.
  ASSERT_NE(pack(liar, 7, claimed(kOther, kFirst, 2), 1), nullptr);
  EXPECT_EQ(*pack(liar, 7, claimed(kOther, kFirst, 2), 2), 2) << "the delegate itself does not find them either";
  DelegateWeights honest(store.get());
  EXPECT_EQ(*pack(honest, 7, claimed(kFirst, kFirst, 2), 3), 3);
}

TEST_F(DigestsWithAFile, DoNotStandForWeightsThatWereExchanged) {
  const auto store = start();
  DelegateWeights first(store.get());
  ASSERT_NE(pack(first, 7, claimed(kFirst, kFirst), 1), nullptr);
  const float exchanged[] = {9, 2, 3, 4};
  DelegateWeights second(store.get());
  EXPECT_EQ(*pack(second, 7, claimed(exchanged, kFirst), 2), 2) << "they begin with other bytes";
}

}  // namespace
}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
