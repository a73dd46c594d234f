// SPDX-License-Identifier: BSD-3-Clause
// Runs the drivers of the fuzz targets without libFuzzer, with any compiler; .ptd files as external data, .bpte files
// as bundled programs, .choices as decisions about a program to build, others as programs:
//   replay_program --random COUNT               COUNT programs built by random decisions, the same ones every time
//   replay_program FILE_OR_FOLDER...            every file once (folders are searched)
//   replay_program --mutate FILE_OR_FOLDER...   also every truncation and every flipped bit of the first kilobytes
//   replay_program --expect-executed ...        fails unless every file executes to its end
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "built_program_driver.h"
#include "bundled_program_driver.h"
#include "flat_tensor_driver.h"
#include "header_driver.h"
#include "replay.h"

namespace {

using executorch::fuzz::Counts;
using executorch::fuzz::Outcome;
using executorch::fuzz::Run;
using executorch::fuzz::take_flag;

Run driver_of(const std::filesystem::path& file) {
  const auto extension = file.extension();
  return extension == ".ptd"       ? executorch::fuzz::run_flat_tensor
         : extension == ".bpte"    ? executorch::fuzz::run_bundled_program
         : extension == ".choices" ? executorch::fuzz::run_built_program
                                   : executorch::fuzz::run_program;
}

/// Reads the bytes as decisions about a program to build, and their first part as a header.
Outcome run_built_program_and_header(const uint8_t* data, size_t size) {
  executorch::fuzz::run_headers(data, size == 0 ? 0 : data[0] * size / 255);
  return executorch::fuzz::run_built_program(data, size);
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  const bool with_mutations = take_flag(arguments, "--mutate");
  const bool expect_executed = take_flag(arguments, "--expect-executed");
  const bool verbose = take_flag(arguments, "--verbose");
  if (!verbose) {
    executorch::fuzz::silence_logs();
  }
  if (arguments.size() == 2 && arguments[0] == "--random") {
    return executorch::fuzz::run_random(std::stoul(arguments[1]), 512, run_built_program_and_header);
  }
  const auto files = executorch::fuzz::find_files(arguments, {".pte", ".ptd", ""});
  if (files.empty()) {
    std::fprintf(stderr,
                 "replay_program: no .pte or .ptd files named or found; usage: replay_program [--mutate] PATH...\n");
    return 2;
  }
  size_t not_executed = 0;
  for (const auto& file : files) {
    const auto bytes = executorch::fuzz::read_file(file);
    Counts counts;
    const Run run = driver_of(file);
    const Outcome outcome = run(bytes.data(), bytes.size());
    counts.add(outcome);
    not_executed += outcome != Outcome::Executed;
    if (with_mutations) {
      executorch::fuzz::run_mutations(bytes, run, counts);
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
