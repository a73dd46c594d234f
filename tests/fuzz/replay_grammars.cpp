// SPDX-License-Identifier: BSD-3-Clause
// Runs the drivers of fuzz_grammars (.grammar) and fuzz_tool_calls (.answer) without libFuzzer:
//   replay_grammars FILE_OR_FOLDER...             every file once (folders are searched)
//   replay_grammars --mutate FILE_OR_FOLDER...    also every truncation and every flipped bit of the first kilobytes
#include <cstdio>
#include <string>
#include <vector>

#include "grammar_driver.h"
#include "replay.h"

int main(int argc, char** argv) {
  using namespace executorch::fuzz;
  std::vector<std::string> arguments(argv + 1, argv + argc);
  const bool with_mutations = take_flag(arguments, "--mutate");
  silence_logs();
  Counts counts;
  for (const auto& file : find_files(arguments, {".answer", ".grammar"})) {
    std::printf("%s\n", file.c_str());
    std::fflush(stdout);
    const Run run = file.extension() == ".grammar" ? run_grammar : run_answer;
    const auto bytes = read_file(file);
    counts.add(run(bytes.data(), bytes.size()));
    if (with_mutations) {
      run_mutations(bytes, run, counts);
    }
  }
  std::printf("%zu executed, %zu loaded only, %zu refused\n", counts.executed, counts.loaded, counts.refused);
  return counts.executed > 0 ? 0 : 1;
}
