// SPDX-License-Identifier: BSD-3-Clause
// Firmware that checks that DSP or vector instructions give the same sums as the portable code.
// tests/baremetal/test_int8.py builds it for each processor and runs it.
#include "kernels/cortex_m/cpu/dot_products.h"
#include "semihosting.h"

namespace {

using namespace torch::executor::native::cortex_m;

#if !defined(EXECUTORCH_CORTEX_M_PORTABLE)
static_assert(fast::ChannelSums::kChannels > portable::ChannelSums::kChannels, "there is nothing to compare");
#endif

constexpr size_t kMost = 67;
constexpr int32_t kOffsets[] = {0, 1, -128, 127, 128, 129, -32640, -32641, 32640, 32641, INT16_MIN, INT16_MAX};

class Random {
 public:
  uint32_t bits() {
    state_ = state_ * 1664525 + 1013904223;
    return state_ >> 8 ^ state_ << 20;
  }
  /// With `extremes`, returns only the least and the largest number.
  int8_t int8(bool extremes) {
    const uint32_t value = bits();
    return extremes ? (value & 64 ? INT8_MIN : INT8_MAX) : static_cast<int8_t>(value >> 5);
  }

 private:
  uint32_t state_ = 1;
};

Random generator;
int8_t first[kMost + 4];
int8_t second[kRows * (kMost + 4) + 4];

void fill() {
  const bool extremes = generator.bits() % 4 == 0;
  for (int8_t& each : first) {
    each = generator.int8(extremes);
  }
  for (int8_t& each : second) {
    each = generator.int8(extremes);
  }
}

template <size_t kCount>
bool same_products(size_t count, int32_t a_offset, int32_t b_offset) {
  const size_t shift = generator.bits() % 4;
  const Rows rows = {first + shift, a_offset, second + generator.bits() % 4, kMost + shift, b_offset, count};
  uint32_t expected[kCount], found[kCount];
  for (size_t i = 0; i < kCount; ++i) {
    expected[i] = found[i] = generator.bits();
  }
  portable::dot_products(rows, expected);
  fast::dot_products(rows, found);
  return std::memcmp(expected, found, sizeof(found)) == 0;
}

bool products_are_equal() {
  for (size_t count = 0; count <= kMost; ++count) {
    fill();
    for (const int32_t a : kOffsets) {
      for (const int32_t b : kOffsets) {
        if (!same_products<kRows>(count, a, b) || !same_products<1>(count, a, b)) {
          return false;
        }
      }
    }
  }
  return true;
}

constexpr int32_t kNumbers[] = {INT32_MIN, INT32_MIN + 1, -(1 << 30), -3, -2, -1, 0, 1, 2, 3, 1 << 30, INT32_MAX};

int32_t number() {
  const uint32_t chosen = generator.bits() % 24;
  return chosen < 12 ? kNumbers[chosen] : static_cast<int32_t>(generator.bits()) >> generator.bits() % 31;
}

bool results_are_equal() {
  for (int i = 0; i < 60000; ++i) {
    uint32_t sums[kRows];
    int32_t multipliers[kRows], shifts[kRows];
    for (size_t k = 0; k < kRows; ++k) {
      sums[k] = static_cast<uint32_t>(number());
      multipliers[k] = number();
      shifts[k] = static_cast<int32_t>(generator.bits() % 63) - 31;
    }
    const int32_t low = generator.int8(false), high = generator.int8(false);
    const Int8Output output = {i % 7 == 0 ? INT16_MIN : generator.int8(false), low < high ? low : high,
                               low < high ? high : low};
    int8_t expected[kRows], found[kRows];
    portable::store(sums, {output, multipliers, shifts}, expected);
    fast::store(sums, {output, multipliers, shifts}, found);
    if (std::memcmp(expected, found, sizeof(found)) != 0) {
      return false;
    }
  }
  return true;
}

/// Writes the requantised sums over `taps` pixels of each of `channels` channels. `results` has room for more channels,
/// so that the caller's comparison notices a write after the last.
template <typename Sums>
void sum_channels(size_t channels, size_t taps, int32_t offset, const int32_t* bias, int8_t* results) {
  static const int32_t multipliers[24] = {1 << 30, 1 << 29, INT32_MAX, 1 << 30, 1 << 28, 7, 1 << 30, 1 << 30,
                                          1 << 30, 1 << 29, INT32_MAX, 1 << 30, 1 << 28, 7, 1 << 30, 1 << 30,
                                          1 << 30, 1 << 29, INT32_MAX, 1 << 30, 1 << 28, 7, 1 << 30, 1 << 30};
  static const int32_t shifts[24] = {-6, -7, -8, -9, -5, 0,  1,  -6, -6, -7, -8, -9,
                                     -5, 0,  1,  -6, -6, -7, -8, -9, -5, 0,  1,  -6};
  for (size_t channel = 0; channel < channels; channel += Sums::kChannels) {
    Sums sums(bias == nullptr ? nullptr : bias + channel, channels - channel);
    for (size_t tap = 0; tap < taps; ++tap) {
      sums.add({first + tap + channel, offset, second + tap * channels + channel});
    }
    sums.store({{3, -100, 120}, multipliers + channel, shifts + channel}, results + channel);
  }
}

bool channels_are_equal() {
  int32_t bias[24];
  for (size_t channels = 1; channels <= 20; ++channels) {
    for (size_t taps = 0; taps < 10; ++taps) {
      fill();
      for (int32_t& each : bias) {
        each = static_cast<int32_t>(generator.bits() % 4096);
      }
      for (const int32_t offset : kOffsets) {
        int8_t expected[24] = {}, found[24] = {};
        const int32_t* const added = taps % 2 == 0 ? bias : nullptr;
        sum_channels<portable::ChannelSums>(channels, taps, offset, added, expected);
        sum_channels<fast::ChannelSums>(channels, taps, offset, added, found);
        if (std::memcmp(expected, found, sizeof(found)) != 0) {
          return false;
        }
      }
    }
  }
  return true;
}

}  // namespace

extern "C" int main() {
  const char* wrong = !products_are_equal()   ? "sums of products"
                      : !results_are_equal()  ? "results"
                      : !channels_are_equal() ? "sums of channels"
                                              : nullptr;
  semihosting_write(wrong == nullptr ? "equal\n" : wrong);
  return wrong == nullptr ? 0 : 1;
}
