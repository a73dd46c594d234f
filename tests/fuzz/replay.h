// SPDX-License-Identifier: BSD-3-Clause
// What the programs replay_* share: files, and what becomes of them and of what is like them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "program_driver.h"

namespace executorch {
namespace fuzz {

/// Runs one of the drivers.
using Run = Outcome (*)(const uint8_t* data, size_t size);

struct Counts {
  size_t refused = 0;
  size_t loaded = 0;
  size_t executed = 0;

  void add(Outcome outcome) {
    refused += outcome == Outcome::Refused;
    loaded += outcome == Outcome::Loaded;
    executed += outcome == Outcome::Executed;
  }
};

std::vector<uint8_t> read_file(const std::filesystem::path& path);

/// The files among the arguments, and in folders among them those with one of the extensions ("" for none).
std::vector<std::filesystem::path> find_files(const std::vector<std::string>& arguments,
                                              const std::vector<std::string>& extensions);

/// Every truncation, every flipped bit and some values of every byte of the first kilobytes: there a program says where
/// its flatbuffer ends; the rest is weights, which have no structure to break.
void run_mutations(const std::vector<uint8_t>& original, Run run, Counts& counts);

/// `count` inputs of random bytes, the same ones every time. Fails, with 1, unless some execute to their end and some
/// are refused: others would show nothing.
int run_random(size_t count, size_t size, Run run);

/// Whether the flag is there; takes it away.
bool take_flag(std::vector<std::string>& arguments, const char* flag);

}  // namespace fuzz
}  // namespace executorch
