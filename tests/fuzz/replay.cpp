// SPDX-License-Identifier: BSD-3-Clause
#include "replay.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <random>

namespace executorch {
namespace fuzz {

std::vector<uint8_t> read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return std::vector<uint8_t>(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
}

std::vector<std::filesystem::path> find_files(const std::vector<std::string>& arguments,
                                              const std::vector<std::string>& extensions) {
  std::vector<std::filesystem::path> files;
  for (const auto& argument : arguments) {
    if (!std::filesystem::is_directory(argument)) {
      files.emplace_back(argument);
      continue;
    }
    for (const auto& entry : std::filesystem::recursive_directory_iterator(argument)) {
      const auto extension = entry.path().extension().string();
      if (entry.is_regular_file() && std::find(extensions.begin(), extensions.end(), extension) != extensions.end()) {
        files.push_back(entry.path());
      }
    }
  }
  return files;
}

void run_mutations(const std::vector<uint8_t>& original, Run run, Counts& counts) {
  constexpr size_t kMaxMutatedBytes = 8192;
  const size_t limit = std::min(original.size(), kMaxMutatedBytes);
  for (size_t length = 0; length < limit; ++length) {
    counts.add(run(original.data(), length));
  }
  std::vector<uint8_t> bytes = original;
  for (size_t i = 0; i < limit; ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      bytes[i] = static_cast<uint8_t>(original[i] ^ (1 << bit));
      counts.add(run(bytes.data(), bytes.size()));
    }
    for (const uint8_t value : {uint8_t{0x00}, uint8_t{0xff}, uint8_t{0x7f}}) {
      bytes[i] = value;
      counts.add(run(bytes.data(), bytes.size()));
    }
    bytes[i] = original[i];
  }
}

int run_random(size_t count, size_t size, Run run) {
  std::mt19937 random(20240229);
  Counts counts;
  for (size_t i = 0; i < count; ++i) {
    std::vector<uint8_t> bytes(size);
    for (uint8_t& byte : bytes) {
      byte = static_cast<uint8_t>(random());
    }
    counts.add(run(bytes.data(), bytes.size()));
  }
  std::printf("%zu executed, %zu loaded only, %zu refused\n", counts.executed, counts.loaded, counts.refused);
  return counts.executed > 0 && counts.refused > 0 ? 0 : 1;
}

bool take_flag(std::vector<std::string>& arguments, const char* flag) {
  const auto found = std::find(arguments.begin(), arguments.end(), flag);
  if (found == arguments.end()) {
    return false;
  }
  arguments.erase(found);
  return true;
}

}  // namespace fuzz
}  // namespace executorch
