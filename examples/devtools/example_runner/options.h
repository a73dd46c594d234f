// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <string>

/// What the command line of example_runner asks for.
struct Options {
  std::string bundled_program_path = "model_bundled.bpte";
  std::string method_name;  ///< empty: the first of the program
  size_t testset_idx = 0;
  bool output_verification = false;
  double rtol = 1e-5;
  double atol = 1e-8;
  bool print_output = false;
  std::string etdump_path = "etdump.etdp";
  bool etdump_asked = false;  ///< whether etdump_path was given
  bool dump_outputs = false;
  bool dump_intermediate_outputs = false;
  std::string debug_output_path = "debug_output.bin";
  size_t debug_buffer_size = 262144;
  bool help = false;

  /// Whether the ETDump records values, which go to a separate file.
  bool logs_values() const { return dump_outputs || dump_intermediate_outputs; }
};

/// Reads `--name=value`, `--name value`, and `--name`, `--noname` for switches, each also with one dash, over the
/// defaults in `options`. Returns an empty text, or what is wrong with the command line.
std::string parse_options(int argc, const char* const* argv, Options* options);

/// The text of `--help`.
extern const char* const kHelpText;
