// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <string>

// Builds of the runner for one family of programs have another name and other defaults.
#ifndef ET_RUNNER_NAME
#define ET_RUNNER_NAME "example_runner"
#define ET_BUNDLED_PROGRAM_PATH "model_bundled.bpte"
#define ET_DUMP_OUTPUTS 0
#define ET_BUNDLEIO_RTOL 1e-5
#define ET_BUNDLEIO_ATOL 1e-8
#endif

/// The options of example_runner's command line.
struct Options {
  std::string bundled_program_path = ET_BUNDLED_PROGRAM_PATH;
  std::string method_name;  ///< empty: the first of the program
  size_t testset_idx = 0;
  bool output_verification = false;
  double rtol = ET_BUNDLEIO_RTOL;
  double atol = ET_BUNDLEIO_ATOL;
  bool print_output = false;
  std::string etdump_path = "etdump.etdp";
  bool etdump_asked = false;  ///< whether etdump_path was given
  bool dump_outputs = ET_DUMP_OUTPUTS != 0;
  bool dump_intermediate_outputs = false;
  std::string debug_output_path = "debug_output.bin";
  size_t debug_buffer_size = 262144;
  bool help = false;

  /// Whether the ETDump records values, which go to a separate file.
  bool logs_values() const { return dump_outputs || dump_intermediate_outputs; }
};

/// Reads `--name=value`, `--name value`, and `--name`, `--noname`, `--name=true` or `=false` for switches, each also
/// with one dash, over the defaults in `options`. Returns an empty text, or what is wrong with the command line.
std::string parse_options(int argc, const char* const* argv, Options* options);

/// The text of `--help`.
extern const char* const kHelpText;
