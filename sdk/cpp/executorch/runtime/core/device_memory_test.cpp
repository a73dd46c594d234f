// SPDX-License-Identifier: BSD-3-Clause
#include <cmath>

#include <executorch/runtime/core/device_memory_buffer.h>
#include <executorch/runtime/core/portable_type/bfloat16_math.h>
#include <executorch/runtime/core/test/mock_cuda_allocator.h>
#include <executorch/runtime/core/testing_util/error_matchers.h>
#include <executorch/runtime/core/version.h>
#include <executorch/runtime/platform/profiler.h>
#include <executorch/runtime/platform/test/pal_spy.h>
#include <gtest/gtest.h>

using namespace executorch::runtime;
using executorch::runtime::etensor::BFloat16;
using executorch::runtime::etensor::DeviceType;
using executorch::runtime::testing::HasError;
using executorch::runtime::testing::MockCudaAllocator;

TEST(DeviceMemoryBufferTest, OwnsItsMemory) {
  static MockCudaAllocator allocator;
  {
    PalSpy spy;
    InterceptWith intercept(spy);
    EXPECT_THAT(DeviceMemoryBuffer::create(8, DeviceType::CUDA), HasError(Error::NotFound));
    EXPECT_EQ(get_device_allocator(static_cast<DeviceType>(7)), nullptr);
  }
  register_device_allocator(&allocator);
  EXPECT_EQ(get_device_allocator(DeviceType::CUDA), &allocator);
  EXPECT_EQ(get_device_allocator(DeviceType::CPU), nullptr);
  EXPECT_DEATH(register_device_allocator(&allocator), "registered already");
  EXPECT_DEATH(register_device_allocator(nullptr), "null device allocator");
  {
    auto created = DeviceMemoryBuffer::create(8, DeviceType::CUDA, 1, 64);
    ASSERT_TRUE(created.ok());
    DeviceMemoryBuffer first = std::move(*created);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(first.data()) % 64, 0u);
    EXPECT_TRUE(allocator.is_device_ptr(static_cast<uint8_t*>(first.data()) + 7));
    EXPECT_EQ(first.as_span().size(), 8u);
    DeviceMemoryBuffer second;
    second = std::move(first);
    EXPECT_EQ(first.data(), nullptr);
    EXPECT_EQ(allocator.deallocate_count_, 0);
  }
  EXPECT_EQ(allocator.allocate_count_, 1);
  EXPECT_EQ(allocator.deallocate_count_, 1);
  EXPECT_EQ(allocator.last_deallocate_index_, 1);
}

TEST(ReducedFloatMathTest, RoundsTheFloatResult) {
  const BFloat16 two(2.0f);
  static_assert(std::is_same_v<decltype(std::sqrt(two)), BFloat16>);
  EXPECT_EQ(std::sqrt(two).x, BFloat16(std::sqrt(2.0f)).x);
  EXPECT_EQ(static_cast<float>(std::pow(two, 3.0)), 8.0f);
  EXPECT_EQ(std::nextafter(two, BFloat16(3.0f)).x, two.x + 1);
  EXPECT_EQ(std::nextafter(two, BFloat16(1.0f)).x, two.x - 1);
  EXPECT_EQ(std::nextafter(-two, BFloat16(1.0f)).x, (-two).x - 1);
  EXPECT_EQ(std::nextafter(BFloat16(0.0f), -two).x, 0x8001);
  EXPECT_TRUE(std::isnan(static_cast<float>(std::nextafter(two, BFloat16(std::nanf(""))))));
}

TEST(VersionTest, Compares) {
  static_assert(ET_VERSION_CODE == ET_VERSION_CHECK(1, 4, 1) && ET_VERSION_CODE >= ET_VERSION_CHECK(1, 3, 9));
  static_assert(ET_VERSION_CODE == ((1 << 16) | (4 << 8) | 1) && ET_VERSION_ENCODE(2, 3, 4) == 0x020304);
  static_assert(ET_VERSION_CODE < ET_VERSION_CHECK(1, 4, 2) && ET_VERSION_CODE < ET_VERSION_CHECK(2, 0, 0));
#if ET_VERSION_CODE >= ET_VERSION_CHECK(1, 5, 0) || ET_VERSION_CODE < ET_VERSION_CHECK(1, 2, 0)
#error "the preprocessor compares versions too"
#endif
}

TEST(ProfilerTest, MacrosDoNothingByDefault) {
  EXECUTORCH_SCOPE_PROF("scope");
  EXECUTORCH_PROFILE_INSTRUCTION_SCOPE(0, 1);
  EXECUTORCH_PROFILE_CREATE_BLOCK("block");
  EXECUTORCH_END_PROF(EXECUTORCH_BEGIN_PROF("span"));
  prof_result_t result;
  EXECUTORCH_DUMP_PROFILE_RESULTS(&result);
  EXPECT_EQ(result.num_blocks, 0u);
  EXECUTORCH_RESET_PROFILE_RESULTS();
}
