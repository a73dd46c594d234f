// SPDX-License-Identifier: BSD-3-Clause
// MemoryAllocator, HierarchicalAllocator, FreeableBuffer and TensorLayout.
#include <cstdint>
#include <limits>

#include <executorch/runtime/core/data_loader.h>
#include <executorch/runtime/core/freeable_buffer.h>
#include <executorch/runtime/core/hierarchical_allocator.h>
#include <executorch/runtime/core/memory_allocator.h>
#include <executorch/runtime/core/tensor_layout.h>
#include <executorch/runtime/core/testing_util/error_matchers.h>
#include <executorch/runtime/platform/test/pal_spy.h>
#include <gtest/gtest.h>

using namespace executorch::runtime;
using executorch::aten::ScalarType;
using executorch::runtime::testing::HasError;
using executorch::runtime::testing::IsOk;
using executorch::runtime::testing::IsOkAndHolds;

TEST(MemoryAllocatorTest, HandsOutUntilItIsFull) {
  alignas(16) uint8_t pool[64];
  MemoryAllocator allocator(sizeof(pool), pool);
  EXPECT_EQ(allocator.allocate(3, 1), pool);
  EXPECT_EQ(allocator.allocate(4, 8), pool + 8);
  EXPECT_EQ(allocator.used_size(), 12u);
  EXPECT_EQ(allocator.free_size(), 52u);
  EXPECT_EQ(allocator.allocate(53, 1), nullptr);
  EXPECT_EQ(allocator.used_size(), 12u);
  EXPECT_EQ(allocator.allocate(52, 1), pool + 12);
  EXPECT_EQ(allocator.allocate(1, 1), nullptr);
  EXPECT_NE(allocator.allocate(0, 1), nullptr);
  allocator.reset();
  EXPECT_EQ(allocator.allocate(64, 1), pool);
}

TEST(MemoryAllocatorTest, EveryAlignmentIsKept) {
  alignas(64) uint8_t pool[1024];
  for (size_t alignment = 1; alignment <= 128; alignment *= 2) {
    MemoryAllocator allocator(sizeof(pool) - 1, pool + 1);
    void* memory = allocator.allocate(5, alignment);
    ASSERT_NE(memory, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % alignment, 0u);
  }
}

TEST(MemoryAllocatorTest, ImpossibleRequestsAreRefused) {
  PalSpy spy;
  InterceptWith intercept(spy);
  uint8_t pool[64];
  MemoryAllocator allocator(sizeof(pool), pool);
  EXPECT_EQ(allocator.allocate(1, 0), nullptr);
  EXPECT_EQ(allocator.allocate(1, 3), nullptr);
  EXPECT_THAT(spy.log(), ::testing::HasSubstr("power of two, found 3"));
  EXPECT_EQ(allocator.allocate(std::numeric_limits<size_t>::max()), nullptr);
  EXPECT_EQ(allocator.allocate(std::numeric_limits<size_t>::max() - 7, 1), nullptr);
  EXPECT_EQ(allocator.allocate(1, size_t(1) << (8 * sizeof(size_t) - 1)), nullptr);
  EXPECT_EQ(allocator.allocateList<uint64_t>(std::numeric_limits<size_t>::max() / 4), nullptr);
  EXPECT_EQ(allocator.used_size(), 0u);
}

TEST(MemoryAllocatorTest, AnEmptyAllocatorHasNoMemory) {
  MemoryAllocator allocator(0, nullptr);
  EXPECT_EQ(allocator.allocate(1), nullptr);
  EXPECT_EQ(allocator.free_size(), 0u);
  MemoryAllocator none(64, nullptr);
  EXPECT_EQ(none.size() + none.free_size(), 0u) << "an allocator without a buffer has no bytes";
  EXPECT_EQ(none.allocate(1), nullptr);
}

TEST(HierarchicalAllocatorTest, RTC_04_FindsRangesOfItsBuffers) {
  uint8_t first[8];
  uint8_t second[16];
  Span<uint8_t> buffers[] = {{first, 8}, {second, 16}};
  HierarchicalAllocator allocator({buffers, 2});
  EXPECT_THAT(allocator.get_offset_address(0, 0, 8), IsOkAndHolds(static_cast<void*>(first)));
  EXPECT_THAT(allocator.get_offset_address(1, 12, 4), IsOkAndHolds(static_cast<void*>(second + 12)));
  EXPECT_THAT(allocator.get_offset_address(1, 16, 0), IsOk());
  EXPECT_THAT(allocator.get_offset_address(1, 12, 5), HasError(Error::MemoryAllocationFailed));
  EXPECT_THAT(allocator.get_offset_address(1, 17, 0), HasError(Error::MemoryAllocationFailed));
  // 12 + (2^64 - 4) wraps around to 8.
  EXPECT_THAT(allocator.get_offset_address(1, 12, static_cast<size_t>(-4)), HasError(Error::MemoryAllocationFailed));
  EXPECT_THAT(allocator.get_offset_address(2, 0, 1), HasError(Error::InvalidArgument));
  EXPECT_TRUE(allocator.planned_buffer_devices().empty());
}

TEST(HierarchicalAllocatorTest, KeepsTheDevicesOfItsBuffers) {
  uint8_t memory[8];
  Span<uint8_t> buffers[] = {{memory, 8}};
  const etensor::Device devices[] = {{etensor::DeviceType::CUDA, 1}};
  HierarchicalAllocator allocator({buffers, 1}, {devices, 1});
  EXPECT_EQ(allocator.planned_buffer_devices()[0].index(), 1);
  const etensor::Device two[] = {etensor::DeviceType::CPU, etensor::DeviceType::CUDA};
  HierarchicalAllocator wrong({buffers, 1}, {two, 2});
  EXPECT_THAT(wrong.get_offset_address(0, 0, 1), HasError(Error::InvalidArgument));
  EXPECT_TRUE(wrong.planned_buffer_devices().empty());
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
TEST(HierarchicalAllocatorTest, MoreAllocatorsThanItHasRoomForAreAnError) {
  uint8_t memory[8];
  MemoryAllocator one(8, memory);
  HierarchicalAllocator all(1, &one);
  EXPECT_THAT(all.get_offset_address(0, 4, 4), IsOkAndHolds(static_cast<void*>(memory + 4)));
  // The program decides how many buffers it has. If there are too many allocators, nothing is read.
  HierarchicalAllocator too_many(17, nullptr);
  EXPECT_THAT(too_many.get_offset_address(0, 0, 1), HasError(Error::InvalidArgument));
}
#pragma GCC diagnostic pop

namespace {
struct FreeCall {
  int count = 0;
  void* data = nullptr;
  uint64_t data_uint64 = 0;
  size_t size = 0;
};
void record_free(void* context, void* data, size_t size) {
  auto* call = static_cast<FreeCall*>(context);
  ++call->count;
  call->data = data;
  call->size = size;
}
void record_free_uint64(void* context, uint64_t data, size_t size) {
  auto* call = static_cast<FreeCall*>(context);
  ++call->count;
  call->data_uint64 = data;
  call->size = size;
}
}  // namespace

TEST(FreeableBufferTest, FreesOnce) {
  FreeCall call;
  int data = 0;
  {
    FreeableBuffer buffer(&data, sizeof(data), record_free, &call);
    FreeableBuffer moved(std::move(buffer));
    EXPECT_EQ(buffer.data(), nullptr);
    EXPECT_EQ(moved.data(), &data);
    EXPECT_THAT(moved.data_safe(), IsOkAndHolds(&data));
    EXPECT_THAT(moved.data_uint64_type(), HasError(Error::InvalidType));
    moved.Free();
    EXPECT_EQ(call.count, 1);
    EXPECT_EQ(moved.size(), 0u);
    moved.Free();
  }
  EXPECT_EQ(call.count, 1);
  EXPECT_EQ(call.data, &data);
  EXPECT_EQ(call.size, sizeof(data));
  {
    FreeableBuffer nothing_to_free(&data, sizeof(data), nullptr);
  }
  {
    FreeableBuffer empty;
  }
}

TEST(FreeableBufferTest, HoldsDeviceAddresses) {
  FreeCall call;
  {
    FreeableBuffer buffer(uint64_t(0xfedcba9876543210u), 32, record_free_uint64, &call);
    EXPECT_THAT(buffer.data_uint64_type(), IsOkAndHolds(0xfedcba9876543210u));
    EXPECT_THAT(buffer.data_safe(), HasError(Error::InvalidType));
    EXPECT_DEATH((void)buffer.data(), "device address");
  }
  EXPECT_EQ(call.count, 1);
  EXPECT_EQ(call.data_uint64, 0xfedcba9876543210u);
  EXPECT_EQ(call.size, 32u);
}

TEST(DataLoaderTest, LoadIntoIsOptional) {
  class Loader : public DataLoader {
    Result<FreeableBuffer> load(size_t, size_t, const SegmentInfo&) const override { return Error::NotFound; }
    Result<size_t> size() const override { return size_t(0); }
  };
  const Loader loader;
  const DataLoader& base = loader;
  EXPECT_EQ(base.load_into(0, 0, DataLoader::SegmentInfo(DataLoader::SegmentInfo::Type::Program), nullptr),
            Error::NotImplemented);
}

TEST(TensorLayoutTest, ComputesBytes) {
  const int32_t sizes[] = {2, 3, 4};
  const uint8_t dim_order[] = {0, 2, 1};
  auto layout = TensorLayout::create(sizes, dim_order, ScalarType::Half);
  ASSERT_THAT(layout, IsOk());
  EXPECT_EQ(layout->nbytes(), 48u);
  EXPECT_EQ(layout->sizes()[2], 4);
  EXPECT_EQ(layout->dim_order()[2], 1);
  EXPECT_THAT(TensorLayout::create({}, {}, ScalarType::Long)->nbytes(), 8u);
}

TEST(TensorLayoutTest, RefusesWhatIsNoTensor) {
  const int32_t sizes[] = {2, 3};
  const uint8_t dim_order[] = {0, 1};
  const uint8_t twice[] = {0, 0};
  const uint8_t outside[] = {0, 2};
  const int32_t negative[] = {2, -3};
  const int32_t huge[] = {2147483647, 2147483647, 2147483647};
  const uint8_t dim_order3[] = {0, 1, 2};
  EXPECT_THAT(TensorLayout::create(sizes, {dim_order, 1}, ScalarType::Float), HasError(Error::InvalidArgument));
  EXPECT_THAT(TensorLayout::create(sizes, twice, ScalarType::Float), HasError(Error::InvalidArgument));
  EXPECT_THAT(TensorLayout::create(sizes, outside, ScalarType::Float), HasError(Error::InvalidArgument));
  EXPECT_THAT(TensorLayout::create(negative, dim_order, ScalarType::Float), HasError(Error::InvalidArgument));
  EXPECT_THAT(TensorLayout::create(huge, dim_order3, ScalarType::Float), HasError(Error::InvalidArgument));
  EXPECT_THAT(TensorLayout::create(sizes, dim_order, ScalarType::Undefined), HasError(Error::InvalidArgument));
  EXPECT_THAT(TensorLayout::create(sizes, dim_order, static_cast<ScalarType>(-1)), HasError(Error::InvalidArgument));
}
