// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <executorch/extension/llm/runner/irunner.h>

/// The options of llama_main's command line.
struct Flags {
  std::string model_path = "llama2.pte";
  std::vector<std::string> data_paths;
  std::string tokenizer_path;  // empty: the tokenizer inside the program, or tokenizer.bin
  std::string prompt = "The answer to the ultimate question is";
  std::string prompt_file;
  std::string method_name = "forward";
  std::string etdump_path;
  executorch::extension::llm::GenerationConfig config;
  int32_t cpu_threads = -1;
  bool warmup = false;
  bool verbose = false;
  bool help = false;
};

/// Reads the command line over the defaults in `flags`. Returns an empty text, or what is wrong with it.
std::string parse_flags(int argc, const char* const* argv, Flags* flags);

/// The text of `--help`.
extern const char* const kHelpText;
