// SPDX-License-Identifier: BSD-3-Clause
// The delegate over a driver that records its arguments, and fails if a test requests it.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "delegate_fixture.h"
#include "driver.h"

struct ethosu_driver {};

namespace {

struct Recorded {
  bool has_npu = true;
  int result = 0;
  int reserved = 0, released = 0, invoked = 0;
  std::vector<uint8_t> commands;
  std::vector<uint64_t> bases;
  std::vector<size_t> sizes;
  void* user_arg = nullptr;
};

Recorded recorded;
ethosu_driver driver;

bool runs(uint32_t npu, uint32_t macs) {
  return npu == 55 && macs == 128;
}

}  // namespace

const executorch_ethos_u_driver_description executorch_ethos_u_driver = {false, true, runs, "an Ethos-U55-128"};

unsigned char* ethosu_fast_scratch = nullptr;
size_t ethosu_fast_scratch_size = 0;

ethosu_driver* ethosu_reserve_driver(void) {
  recorded.reserved += recorded.has_npu ? 1 : 0;
  return recorded.has_npu ? &driver : nullptr;
}

void ethosu_release_driver(ethosu_driver* given) {
  EXPECT_EQ(given, &driver);
  ++recorded.released;
}

/// The driver's output is the negative of its input.
int ethosu_invoke_v3(ethosu_driver*, const void* commands, int size, uint64_t* const bases, const size_t* sizes,
                     int count, void* user_arg) {
  ++recorded.invoked;
  recorded.user_arg = user_arg;
  const auto* const data = static_cast<const uint8_t*>(commands);
  recorded.commands.assign(data, data + size);
  recorded.bases.assign(bases, bases + count);
  recorded.sizes.assign(sizes, sizes + count);
  auto* const scratch = reinterpret_cast<int8_t*>(static_cast<uintptr_t>(bases[1]));
  for (int i = 0; i < 8; ++i) {
    scratch[32 + i] = static_cast<int8_t>(-scratch[i]);
  }
  return recorded.result;
}

namespace executorch {
namespace backends {
namespace ethosu {
namespace {

using extension::TensorPtr;
using runtime::Error;
using runtime::EValue;

class EthosUDelegateTest : public DelegateFixture {
 protected:
  void SetUp() override {
    DelegateFixture::SetUp();
    recorded = Recorded();
    ethosu_fast_scratch = nullptr;
    ethosu_fast_scratch_size = 0;
  }
  void TearDown() override {
    EXPECT_EQ(recorded.reserved, recorded.released);
    DelegateFixture::TearDown();
  }

  const TensorPtr input_ = bytes({2, 3, 4}), output_ = bytes({8});
};

TEST_F(EthosUDelegateTest, TheDriverGetsTheCommandsAndTheirMemory) {
  const PayloadBuilder builder;
  ASSERT_EQ(load(builder.build()), Error::Ok);
  for (int i = 1; i <= 3; ++i) {
    ASSERT_EQ(run({input_, output_}), Error::Ok);
    EXPECT_EQ(recorded.invoked, i);
  }
  EXPECT_EQ(recorded.commands, builder.commands);
  EXPECT_EQ(recorded.sizes, (std::vector<size_t>{16, 64, 0}));
  EXPECT_EQ(*reinterpret_cast<const uint8_t*>(static_cast<uintptr_t>(recorded.bases[0])), 0x77);
  EXPECT_EQ(recorded.bases[0] % 16, 0u);
  EXPECT_EQ(recorded.bases[1] % 16, 0u);
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(output_->const_data_ptr<int8_t>()[i], -(i + 1));
  }
}

TEST_F(EthosUDelegateTest, ADriverThatFailsIsAnError) {
  ASSERT_EQ(load(PayloadBuilder().build()), Error::Ok);
  recorded.has_npu = false;
  EXPECT_EQ(run({input_, output_}), Error::InvalidState);
  EXPECT_EQ(recorded.invoked, 0);
  recorded.has_npu = true;
  recorded.result = -1;
  EXPECT_EQ(run({input_, output_}), Error::InvalidProgram);
  EXPECT_EQ(output_->const_data_ptr<int8_t>()[0], 1) << "an output must not change after an error";
  recorded.result = 0;
  EXPECT_EQ(run({input_, output_}), Error::Ok);
}

/// The low 4 bits of the configuration are log2 of the products per cycle; the high 4 bits are the NPU.
TEST_F(EthosUDelegateTest, ProgramsForAnotherNpuAreRefusedWhenTheyAreLoaded) {
  PayloadBuilder builder;
  for (const uint32_t npu : {0U, 1U, 2U}) {
    for (uint32_t exponent = 5; exponent <= 11; ++exponent) {
      builder.commands = command_stream({}, npu << 28 | 0x3000 | exponent);
      EXPECT_EQ(load(builder.build()), npu == 0 && exponent == 7 ? Error::Ok : Error::DelegateInvalidCompatibility);
    }
  }
  EXPECT_EQ(recorded.reserved, 0);
}

TEST_F(EthosUDelegateTest, CyclesAreAClockAndIntegers) {
  PayloadBuilder builder;
  builder.has_cycles = true;
  for (size_t size = 0; size <= 9; ++size) {
    builder.cycles = Bytes(size, 1);
    EXPECT_EQ(load(builder.build()), size == 4 || size == 8 ? Error::Ok : Error::InvalidProgram);
  }
  builder.cycles = Bytes(8, 0);
  EXPECT_EQ(load(builder.build()), Error::InvalidProgram) << "a clock of 0 Hz";
  builder.cycles[0] = 1;
  ASSERT_EQ(load(builder.build()), Error::Ok);
  EXPECT_EQ(run({input_, output_}), Error::Ok);
  EXPECT_EQ(recorded.user_arg, nullptr) << "nothing traces the run";
}

TEST_F(EthosUDelegateTest, TooLittleScratchMemoryIsAnError) {
  ASSERT_EQ(load(PayloadBuilder().build()), Error::Ok);
  for (const size_t size : {size_t{0}, size_t{1}, size_t{63}}) {
    EXPECT_EQ(run({input_, output_}, size), Error::MemoryAllocationFailed);
  }
  EXPECT_EQ(recorded.reserved, 0);
}

TEST_F(EthosUDelegateTest, ArgumentsAreThoseOfThePayload) {
  ASSERT_EQ(load(PayloadBuilder().build()), Error::Ok);
  EXPECT_EQ(run({input_}), Error::InvalidProgram);
  EXPECT_EQ(run({input_, output_, output_}), Error::InvalidProgram);
  EXPECT_EQ(run({EValue(int64_t{1}), output_}), Error::InvalidArgument);
  EXPECT_EQ(run({bytes({4, 3, 2}), output_}), Error::InvalidArgument);
  EXPECT_EQ(run({bytes({2, 4, 3}), output_}), Error::InvalidArgument);
  EXPECT_EQ(run({bytes({3, 8}), output_}), Error::InvalidArgument);
  EXPECT_EQ(run({bytes({2, 3, 5}), output_}), Error::InvalidArgument);
  EXPECT_EQ(run({input_, bytes({9})}), Error::InvalidArgument);
  EXPECT_EQ(run({extension::make_tensor_ptr({2, 3, 4}, std::vector<int16_t>(24)), output_}), Error::InvalidArgument);
  EXPECT_EQ(run({input_, extension::make_tensor_ptr({2}, std::vector<float>(2))}), Error::InvalidArgument);
  EXPECT_EQ(recorded.reserved, 0);
  // Dimensions of 1 are ignored, and adjacent dimensions of one shape may be one dimension of the other.
  EXPECT_EQ(run({bytes({6, 4}), bytes({2, 2, 2})}), Error::Ok);
  EXPECT_EQ(run({bytes({1, 1, 2, 1, 1, 3, 1, 4, 1}), bytes({1, 8})}), Error::Ok);
}

TEST_F(EthosUDelegateTest, ShapesAreThoseInMemory) {
  PayloadBuilder builder;
  builder.input = edge({1, 3, 4, 2, 1, 0, 1});
  ASSERT_EQ(load(builder.build()), Error::Ok);
  EXPECT_EQ(run({bytes({1, 2, 3, 4}, {0, 2, 3, 1}), output_}), Error::Ok);
  EXPECT_EQ(run({bytes({1, 2, 3, 4}), output_}), Error::InvalidArgument);
  EXPECT_EQ(run({bytes({1, 3, 4, 2}, {0, 2, 3, 1}), output_}), Error::InvalidArgument);
}

TEST_F(EthosUDelegateTest, ADedicatedMemoryIsTheApplications) {
  PayloadBuilder builder;
  constexpr uint32_t kOutputIsInRegion2 = 2U << 16 | 0x11F, kCopyIntoTheNpu = 0x102U << 16 | 0x131;
  builder.commands = command_stream({kCopyIntoTheNpu});
  EXPECT_EQ(load(builder.build()), Error::Ok);
  builder.commands = command_stream({kOutputIsInRegion2});
  EXPECT_EQ(load(builder.build()), Error::DelegateInvalidCompatibility);
  alignas(16) static unsigned char fast[32];
  ethosu_fast_scratch = fast;
  ethosu_fast_scratch_size = sizeof(fast);
  ASSERT_EQ(load(builder.build()), Error::Ok);
  ASSERT_EQ(run({input_, output_}), Error::Ok);
  EXPECT_EQ(recorded.bases[2], reinterpret_cast<uintptr_t>(fast));
  EXPECT_EQ(recorded.sizes[2], sizeof(fast));
}

TEST_F(EthosUDelegateTest, PayloadsAreAligned) {
  for (size_t remainder = 1; remainder < 16; ++remainder) {
    EXPECT_EQ(load(PayloadBuilder().build(), remainder), Error::InvalidProgram);
  }
}

/// Each case makes one field wrong.
TEST_F(EthosUDelegateTest, WrongPayloadsAreRefused) {
  const auto changed = [](auto&& change) {
    PayloadBuilder builder;
    change(builder);
    return builder.build();
  };
  const std::vector<Bytes> inputs = {
      edge({1, 2, 3, 4, 1, 0, 0}),
      edge({1, 2, 3, 4, 1, 0, 2}),
      edge({1, 2, 3, 4, 1, 41, 1}),
      edge({1, 2, 3, 4, 1, 0xFFFFFFFF, 1}),
      edge({1, 2, 3, 4, 4, 0, 1}),
      edge({1, 2, 3, 4, 0, 0, 1}),
      edge({1, 2, 3, 0xFFFFFFFF, 1, 0, 1}),
      edge({1, 2, 3, 4, 0xFFFFFFFF, 0, 1}),
      edge({65536, 65536, 65536, 65536, 1, 0, 1}),
      edge({0x10000, 0x10000, 1, 1, 1, 0, 1}),
      edge({1, 2, 3, 4, 1, 0x7FFFFFFF, 1}),
  };
  for (const Bytes& input : inputs) {
    EXPECT_EQ(load(changed([&](PayloadBuilder& builder) { builder.input = input; })), Error::InvalidProgram);
    EXPECT_EQ(load(changed([&](PayloadBuilder& builder) { builder.output = input; })), Error::InvalidProgram);
  }
  EXPECT_EQ(load(changed([](PayloadBuilder& builder) { builder.scratch_size = 39; })), Error::InvalidProgram);
  EXPECT_EQ(load(changed([](PayloadBuilder& builder) { builder.commands.clear(); })), Error::InvalidProgram);
  EXPECT_EQ(load(changed([](PayloadBuilder& builder) { builder.commands[0] = 'X'; })), Error::InvalidProgram);
  EXPECT_EQ(load(changed([](PayloadBuilder& builder) { builder.commands.resize(20); })), Error::InvalidProgram);
  EXPECT_EQ(load(changed([](PayloadBuilder& builder) { builder.commands = command_stream({0x8000}); })),
            Error::InvalidProgram);
  EXPECT_EQ(load(changed([](PayloadBuilder& builder) { builder.commands = command_stream({}, 0x30003007); })),
            Error::InvalidProgram);
  EXPECT_EQ(load({}), Error::InvalidProgram);
  ASSERT_EQ(load(PayloadBuilder().build()), Error::Ok);
}

/// A payload with any bytes is refused, or runs within its memory, which a sanitizer checks.
TEST_F(EthosUDelegateTest, DamagedPayloadsAreRefusedOrRun) {
  const Bytes payload = PayloadBuilder().build();
  for (size_t length = 0; length < payload.size(); ++length) {
    EXPECT_EQ(load(Bytes(payload.begin(), payload.begin() + static_cast<std::ptrdiff_t>(length))),
              Error::InvalidProgram);
  }
  size_t refused = 0, ran = 0;
  for (size_t at = 0; at < payload.size(); ++at) {
    for (const uint8_t change : {0x01, 0x55, 0x80, 0xFF}) {
      Bytes damaged = payload;
      damaged[at] = static_cast<uint8_t>(damaged[at] ^ change);
      const Error error = load(damaged);
      refused += error == Error::Ok ? 0 : 1;
      ran += error == Error::Ok && run({input_, output_}, 1024) == Error::Ok ? 1 : 0;
    }
  }
  EXPECT_GT(refused, 500u);
  EXPECT_GT(ran, 100u);
}

}  // namespace
}  // namespace ethosu
}  // namespace backends
}  // namespace executorch
