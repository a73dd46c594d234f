// SPDX-License-Identifier: BSD-3-Clause
// Runs the drivers of the fuzz targets without libFuzzer, with any compiler; .ptd files as external data, .bpte files
// as bundled programs, .choices as decisions about a program to build, others as programs:
//   replay_program --random COUNT               COUNT programs built by random decisions, the same ones every time
//   replay_program FILE_OR_FOLDER...            every file once (folders are searched)
//   replay_program --mutate FILE_OR_FOLDER...   also every truncation and every flipped bit of the first kilobytes
//   replay_program --expect-executed ...        fails unless every file executes to its end
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "built_program_driver.h"
#include "bundled_program_driver.h"
#include "flat_tensor_driver.h"
#include "header_driver.h"

namespace {

using executorch::fuzz::Outcome;

/// Runs one of the drivers.
using Run = Outcome (*)(const uint8_t* data, size_t size);

Run driver_of(const std::filesystem::path& file) {
  const auto extension = file.extension();
  return extension == ".ptd"       ? executorch::fuzz::run_flat_tensor
         : extension == ".bpte"    ? executorch::fuzz::run_bundled_program
         : extension == ".choices" ? executorch::fuzz::run_built_program
                                   : executorch::fuzz::run_program;
}

/// Fails unless some of the programs execute and some are refused: others would show nothing.
int run_random(size_t count) {
  std::mt19937 random(20240229);
  size_t outcomes[3] = {};
  for (size_t i = 0; i < count; ++i) {
    std::vector<uint8_t> bytes(512);
    for (uint8_t& byte : bytes) {
      byte = static_cast<uint8_t>(random());
    }
    ++outcomes[static_cast<size_t>(executorch::fuzz::run_built_program(bytes.data(), bytes.size()))];
    executorch::fuzz::run_headers(bytes.data(), bytes.size() % (1 + random() % 512));
  }
  std::printf("%zu executed, %zu loaded only, %zu refused\n", outcomes[2], outcomes[1], outcomes[0]);
  return outcomes[2] > 0 && outcomes[0] > 0 ? 0 : 1;
}

/// Where a program says that its flatbuffer ends; the rest is weights, which have no structure to break.
constexpr size_t kMaxMutatedBytes = 8192;

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

std::vector<uint8_t> read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return std::vector<uint8_t>(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
}

std::vector<std::filesystem::path> find_files(const std::vector<std::string>& arguments) {
  std::vector<std::filesystem::path> files;
  for (const auto& argument : arguments) {
    if (!std::filesystem::is_directory(argument)) {
      files.emplace_back(argument);
      continue;
    }
    for (const auto& entry : std::filesystem::recursive_directory_iterator(argument)) {
      const auto extension = entry.path().extension();
      if (entry.is_regular_file() && (extension == ".pte" || extension == ".ptd" || extension.empty())) {
        files.push_back(entry.path());
      }
    }
  }
  return files;
}

Counts mutate(const std::vector<uint8_t>& original, Run run) {
  Counts counts;
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
  return counts;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  const auto take_flag = [&](const char* flag) {
    for (auto it = arguments.begin(); it != arguments.end(); ++it) {
      if (*it == flag) {
        arguments.erase(it);
        return true;
      }
    }
    return false;
  };
  const bool with_mutations = take_flag("--mutate");
  const bool expect_executed = take_flag("--expect-executed");
  const bool verbose = take_flag("--verbose");
  if (!verbose) {
    executorch::fuzz::silence_logs();
  }
  if (arguments.size() == 2 && arguments[0] == "--random") {
    return run_random(std::stoul(arguments[1]));
  }
  const auto files = find_files(arguments);
  if (files.empty()) {
    std::fprintf(stderr,
                 "replay_program: no .pte or .ptd files named or found; usage: replay_program [--mutate] PATH...\n");
    return 2;
  }
  size_t not_executed = 0;
  for (const auto& file : files) {
    const auto bytes = read_file(file);
    Counts counts;
    const Run run = driver_of(file);
    const Outcome outcome = run(bytes.data(), bytes.size());
    counts.add(outcome);
    not_executed += outcome != Outcome::Executed;
    if (with_mutations) {
      const Counts more = mutate(bytes, run);
      counts.refused += more.refused;
      counts.loaded += more.loaded;
      counts.executed += more.executed;
    }
    std::printf("%s: %zu executed, %zu loaded only, %zu refused\n", file.c_str(), counts.executed, counts.loaded,
                counts.refused);
    std::fflush(stdout);
  }
  if (expect_executed && not_executed > 0) {
    std::fprintf(stderr, "replay_program: %zu of %zu programs did not execute\n", not_executed, files.size());
    return 1;
  }
  return 0;
}
