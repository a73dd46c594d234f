// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * The words of a command stream. The first one is `COP1`. Actions of the driver follow, each of which begins with one
 * word: the configuration of the NPU has two more words of parameters, and the run of commands has the commands.
 */
#pragma once

#include <cstddef>
#include <cstdint>

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/result.h>
#include <executorch/runtime/core/span.h>
#include <executorch/runtime/platform/log.h>

namespace executorch {
namespace backends {
namespace ethosu {

inline uint32_t read_word(const uint8_t* data) {
  return static_cast<uint32_t>(data[0]) | static_cast<uint32_t>(data[1]) << 8 | static_cast<uint32_t>(data[2]) << 16 |
         static_cast<uint32_t>(data[3]) << 24;
}

class Words final {
 public:
  Words() = default;
  explicit Words(runtime::Span<const uint8_t> data) : data_(data.data()), count_(data.size() / 4) {}
  size_t count() const { return count_; }
  uint32_t operator[](size_t i) const { return read_word(data_ + 4 * i); }
  Words part(size_t first, size_t count) const { return Words({data_ + 4 * first, 4 * count}); }

 private:
  const uint8_t* data_ = nullptr;
  size_t count_ = 0;
};

/// An NPU as a command stream names it.
struct Configuration {
  /// Reads the first word of parameters.
  explicit Configuration(uint32_t word) : macs(1U << (word & 15)), kilobytes(word >> 8 & 255), product(word >> 28) {}
  uint32_t macs;       // multiply-accumulate operations per cycle
  uint32_t kilobytes;  // the size of the internal memory
  uint32_t product;    // 0: Ethos-U55, 1: U65, 2: U85
  uint32_t name() const { return product == 0 ? 55 : product == 1 ? 65 : product == 2 ? 85 : 0; }
};

/// A command within a stream.
struct CommandWord {
  static constexpr uint16_t kStop = 0;  // ends a stream
  bool is_stop() const { return !has_second && code == kStop; }
  uint16_t code;
  uint16_t value;       // the parameter
  bool has_second;      // a second word follows, as for addresses
  uint32_t second = 0;  // that word
};

/// Whether a command chooses this region for a feature map, weights, scales, or a side of a copy.
inline bool chooses_region(const CommandWord& command, uint16_t region) {
  constexpr uint16_t kInternal = 0x100;  // the bit of a side of a copy that lies within the NPU
  switch (command.code) {
    case 0x10F:
    case 0x11F:
    case 0x128:
    case 0x129:
    case 0x130:
    case 0x131:
    case 0x18F:
      return !command.has_second && (command.value & (kInternal | 0xFF)) == region;
    default:
      return false;
  }
}

/// The region near the NPU, for the memory modes Dedicated_Sram.
constexpr uint16_t kFastRegion = 2;

/// Calls `configure(Configuration)` and `command(CommandWord)` for each configuration and command, in order. Both
/// return a runtime::Result<bool>: false ends a stream of commands. Returns the error of the first call that fails, or,
/// for damaged words, InvalidProgram or NotSupported (logged).
template <typename Configure, typename Run>
runtime::Error visit_commands(const Words& words, Configure&& configure, Run&& command) {
  using runtime::Error;
  constexpr uint32_t kMagic = 0x31504F43;  // "COP1"
  constexpr uint32_t kConfigure = 1, kStream = 2, kNothing = 5;
  ET_CHECK_OR_RETURN_ERROR(words.count() > 0 && words[0] == kMagic, InvalidProgram,
                           "the commands do not begin with COP1");
  bool is_configured = false;
  size_t at = 1;
  while (at < words.count()) {
    const uint32_t word = words[at++];
    const uint32_t action = word & 0xFF;
    if (action == kConfigure) {
      ET_CHECK_OR_RETURN_ERROR(words.count() - at >= 2, InvalidProgram, "the commands end in their configuration");
      ET_CHECK_OK_OR_RETURN_ERROR(configure(Configuration(words[at])));
      is_configured = true;
      at += 2;  // the second word is the version of the architecture
      continue;
    }
    ET_CHECK_OR_RETURN_ERROR(action == kStream || action == kNothing, NotSupported,
                             "the driver's action %u is not known here", static_cast<unsigned>(action));
    if (action == kNothing) {
      continue;
    }
    // The length has 24 bits: the lower 16 are the upper half of the word, the upper 8 are its second byte.
    const size_t length = (word >> 16) | (word >> 8 & 0xFF) << 16;
    ET_CHECK_OR_RETURN_ERROR(length <= words.count() - at && is_configured, InvalidProgram,
                             "a stream of %zu words is there, %zu are left, or its configuration is missing", length,
                             words.count() - at);
    const size_t end = at + length;
    bool goes_on = true;
    while (goes_on) {
      ET_CHECK_OR_RETURN_ERROR(at < end, InvalidProgram, "the commands end without a stop");
      const uint32_t first = words[at];
      const uint32_t kind = first >> 14 & 3;
      CommandWord found = {static_cast<uint16_t>(first & 0x3FF), static_cast<uint16_t>(first >> 16), kind == 1};
      ET_CHECK_OR_RETURN_ERROR(kind == 0 || (kind == 1 && end - at >= 2), InvalidProgram,
                               "word %zu of the commands is damaged, or lacks its second word", at);
      found.second = found.has_second ? words[at + 1] : 0;
      at += found.has_second ? 2 : 1;
      const auto result = command(found);
      ET_CHECK_OK_OR_RETURN_ERROR(result.error());
      goes_on = *result;
    }
    at = end;
  }
  return Error::Ok;
}

}  // namespace ethosu
}  // namespace backends
}  // namespace executorch
