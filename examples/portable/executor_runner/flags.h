// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

/// The options of executor_runner's command line.
struct Flags {
  std::string model_path = "model.pte";
  std::vector<std::string> data_paths;
  std::string method_name = "forward";
  std::vector<std::string> inputs;
  std::string output_file;
  std::string etdump_path;
  std::string debug_output_path = "debug_output.bin";
  uint32_t debug_buffer_size = 16 << 20;
  uint32_t num_executions = 1;
  /// How far outputs may be from the expected ones: backends add in another order than PyTorch.
  double bundleio_rtol = 1e-4;
  double bundleio_atol = 1e-4;
  bool bundled_program = false;
  bool dump_outputs = false;
  bool print_all_output = false;
  bool print_output = true;
  bool verbose = false;
  bool help = false;
};

/// Reads `--name=value`, `--name value`, `-name value`, and `--name`, `--noname` for switches, over the defaults in
/// `flags`. Returns an empty text, or what is wrong with the command line.
std::string parse_flags(int argc, const char* const* argv, Flags* flags);

/// The text of `--help`.
extern const char* const kHelpText;
