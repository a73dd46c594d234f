// SPDX-License-Identifier: BSD-3-Clause
// Payloads for the tests of the delegate.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>
#include <vector>

namespace executorch {
namespace backends {
namespace ethosu {

using Bytes = std::vector<uint8_t>;

inline void append(Bytes& bytes, uint32_t word) {
  for (int i = 0; i < 4; ++i) {
    bytes.push_back(static_cast<uint8_t>(word >> (8 * i)));
  }
}

/// The words of a command stream for an NPU: the header of the driver, `commands`, and a stop.
inline Bytes command_stream(std::initializer_list<uint32_t> commands, uint32_t configuration = 0x3007) {
  Bytes bytes;
  append(bytes, 0x31504F43);
  for (const uint32_t word : {1U, configuration, 0U}) {
    append(bytes, word);
  }
  append(bytes, 2U | static_cast<uint32_t>(commands.size() + 1) << 16);
  for (const uint32_t word : commands) {
    append(bytes, word);
  }
  append(bytes, 0);
  return bytes;
}

/// An edge in the scratch memory: four dimensions, the bytes of an element, the offset, the region.
inline Bytes edge(std::initializer_list<uint32_t> numbers) {
  Bytes bytes;
  append(bytes, 1);
  append(bytes, 1);
  for (const uint32_t number : numbers) {
    append(bytes, number);
  }
  return bytes;
}

/// A payload with one input and one output.
struct PayloadBuilder {
  Bytes commands = command_stream({});
  Bytes weights = Bytes(16, 0x77);
  uint32_t scratch_size = 64;
  Bytes input = edge({1, 2, 3, 4, 1, 0, 1});
  Bytes output = edge({1, 1, 1, 8, 1, 32, 1});
  bool has_cycles = false;
  Bytes cycles;

  Bytes build() const {
    Bytes bytes;
    add(bytes, "vela_bin_stream", {});
    add(bytes, "cmd_data", commands);
    add(bytes, "weight_data", weights);
    Bytes number;
    append(number, scratch_size);
    add(bytes, "scratch_size", number);
    add(bytes, "inputs", counted(input));
    add(bytes, "outputs", counted(output));
    if (has_cycles) {
      add(bytes, "cycles", cycles);
    }
    add(bytes, "vela_end_stream", {});
    return bytes;
  }

 private:
  static Bytes counted(const Bytes& edge) {
    Bytes bytes;
    append(bytes, 1);
    bytes.insert(bytes.end(), edge.begin(), edge.end());
    return bytes;
  }

  static void add(Bytes& bytes, const std::string& name, const Bytes& data) {
    Bytes head(16, 0);
    std::copy_n(name.begin(), std::min<size_t>(name.size(), 16), head.begin());
    bytes.insert(bytes.end(), head.begin(), head.end());
    append(bytes, static_cast<uint32_t>(data.size()));
    bytes.resize(bytes.size() + 12);
    bytes.insert(bytes.end(), data.begin(), data.end());
    bytes.resize((bytes.size() + 15) / 16 * 16);
  }
};

}  // namespace ethosu
}  // namespace backends
}  // namespace executorch
