// SPDX-License-Identifier: BSD-3-Clause
// Runs the drivers of files that the runner of language models reads, without libFuzzer: .wav files as sound, .session
// files as saved sessions, .image files as pictures with their descriptions:
//   replay_runner_files FILE_OR_FOLDER...            every file once (folders are searched); fails unless all are used
//   replay_runner_files --found FILE_OR_FOLDER...    the same for files that may be refused
//   replay_runner_files --mutate FILE_OR_FOLDER...   also every truncation and every flipped bit of the first kilobytes
#include <cstdio>
#include <string>
#include <vector>

#include "image_driver.h"
#include "replay.h"
#include "session_driver.h"
#include "wav_driver.h"

int main(int argc, char** argv) {
  using namespace executorch::fuzz;
  std::vector<std::string> arguments(argv + 1, argv + argc);
  const bool with_mutations = take_flag(arguments, "--mutate");
  const bool may_be_refused = take_flag(arguments, "--found");
  silence_logs();
  const auto files = find_files(arguments, {".wav", ".session", ".image"});
  size_t not_executed = 0;
  for (const auto& file : files) {
    const Run run = file.extension() == ".wav" ? run_wav : file.extension() == ".image" ? run_image : run_session;
    const auto bytes = read_file(file);
    Counts counts;
    counts.add(run(bytes.data(), bytes.size()));
    not_executed += counts.executed == 0 ? 1 : 0;
    if (with_mutations) {
      run_mutations(bytes, run, counts);
    }
    std::printf("%s: %zu executed, %zu loaded only, %zu refused\n", file.c_str(), counts.executed, counts.loaded,
                counts.refused);
    std::fflush(stdout);
  }
  if (files.empty() || (not_executed > 0 && !may_be_refused)) {
    std::fprintf(stderr, "replay_runner_files: %zu files, %zu of them not used\n", files.size(), not_executed);
    return 1;
  }
  return 0;
}
