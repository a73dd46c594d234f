// SPDX-License-Identifier: BSD-3-Clause
// Runs the drivers of fuzz_xnnpack and fuzz_packed_weights without libFuzzer, with any compiler. Files named *.weights
// are inputs of fuzz_packed_weights, files named *.payload are payloads, and other files (.pte) contain payloads:
//   replay_xnnpack --random COUNT               COUNT files of packed weights, the same ones every time
//   replay_xnnpack FILE_OR_FOLDER...            every payload once (folders are searched)
//   replay_xnnpack --mutate FILE_OR_FOLDER...   also every truncation and every flipped bit of the first kilobytes
//   replay_xnnpack --expect-executed ...        fails unless every payload executes to its end
//   replay_xnnpack --extract FOLDER FILE...     writes the payloads of the files into the folder
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "replay.h"
#include "xnnpack_driver.h"

namespace {

using executorch::fuzz::Counts;
using executorch::fuzz::Outcome;
using executorch::fuzz::take_flag;
using Bytes = std::vector<uint8_t>;

std::vector<Bytes> inputs_of(const std::filesystem::path& file) {
  Bytes bytes = executorch::fuzz::read_file(file);
  const auto extension = file.extension();
  return extension == ".payload" || extension == ".weights" ? std::vector<Bytes>{std::move(bytes)}
                                                            : executorch::fuzz::find_xnnpack_payloads(bytes);
}

void extract(const std::vector<std::filesystem::path>& files, const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  for (const auto& file : files) {
    size_t number = 0;
    for (const Bytes& bytes : inputs_of(file)) {
      const auto name =
          file.parent_path().filename().string() + "_" + file.stem().string() + "_" + std::to_string(number++);
      std::ofstream(folder / (name + ".payload"), std::ios::binary)
          .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  const bool with_mutations = take_flag(arguments, "--mutate");
  const bool expect_executed = take_flag(arguments, "--expect-executed");
  if (!take_flag(arguments, "--verbose")) {
    executorch::fuzz::silence_logs();
  }
  if (arguments.size() == 2 && arguments[0] == "--random") {
    return executorch::fuzz::run_random(std::stoul(arguments[1]), 256, executorch::fuzz::run_packed_weights);
  }
  std::string folder;
  if (arguments.size() > 2 && arguments[0] == "--extract") {
    folder = arguments[1];
    arguments.erase(arguments.begin(), arguments.begin() + 2);
  }
  const auto files = executorch::fuzz::find_files(arguments, {".pte", ".payload", ".weights"});
  if (!folder.empty()) {
    extract(files, folder);
    return 0;
  }
  size_t inputs = 0, not_executed = 0;
  for (const auto& file : files) {
    const auto run =
        file.extension() == ".weights" ? executorch::fuzz::run_packed_weights : executorch::fuzz::run_xnnpack_payload;
    Counts counts;
    for (const Bytes& bytes : inputs_of(file)) {
      const Outcome outcome = run(bytes.data(), bytes.size());
      counts.add(outcome);
      not_executed += outcome != Outcome::Executed;
      ++inputs;
      if (with_mutations) {
        executorch::fuzz::run_mutations(bytes, run, counts);
      }
    }
    std::printf("%s: %zu executed, %zu loaded only, %zu refused\n", file.c_str(), counts.executed, counts.loaded,
                counts.refused);
    std::fflush(stdout);
  }
  if (inputs == 0) {
    std::fprintf(stderr, "replay_xnnpack: no payloads named or found; usage: replay_xnnpack [--mutate] PATH...\n");
    return 2;
  }
  if (expect_executed && not_executed > 0) {
    std::fprintf(stderr, "replay_xnnpack: %zu of %zu payloads did not execute\n", not_executed, inputs);
    return 1;
  }
  return 0;
}
