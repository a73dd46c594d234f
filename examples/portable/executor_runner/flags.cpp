// SPDX-License-Identifier: BSD-3-Clause
#include "flags.h"

#include <charconv>
#include <cstdlib>
#include <system_error>

#include "command_line.h"

const char* const kHelpText = R"(executor_runner: run a .pte program once or more and print its outputs.

Usage: executor_runner --model_path model.pte [options]

What to run
  --model_path FILE       The program. Default: model.pte
  --data_path FILE,...    Files with the program's external data (.ptd).
  --bundled_program       The model file is a bundled program: run its first test case, and check that each element of
                          the outputs is at most ATOL + RTOL * |expected| away from the expected one.
  --bundleio_atol ATOL, --bundleio_rtol RTOL
                          Default: 1e-4. Outputs that were computed in float16 need more.
  --method_name NAME      The method to run. Default: forward

Inputs
  --inputs FILE,...       Raw bytes of each tensor input, in order: row-major as the method's dim order says,
                          little-endian, exactly as many bytes as the tensor has. FILE:2x8 says its sizes where a
                          dynamic shape is smaller than the largest one. Without --inputs every tensor has its
                          largest shape and is filled with ones. Inputs other than tensors keep the value the
                          program has for them.

Outputs
  --output_file BASE      Write the raw bytes of each tensor output i to BASE-i.bin.
  --print_all_output      Print every element; by default the first and the last ten of each tensor.
  --noprint_output        Print no outputs.
  --etdump_path FILE      Write an ETDump of all runs for the Inspector. Needs a build with
                          EXECUTORCH_ENABLE_EVENT_TRACER=ON.
  --dump_outputs          Also keep the outputs of all runs for the Inspector; the ETDump's default is etdump.etdp then.
  --debug_output_path FILE
                          The file of these outputs. Default: debug_output.bin
  --debug_buffer_size N   The bytes that it has room for. Default: 16777216

How
  --num_executions N      Run N times and report the total time. Default: 1
  --verbose               Log which instructions of this processor the kernels use.
  --help                  Print this text.

The exit status is 0 if every run succeeded, 1 if something failed (the log says what), 2 for a wrong command line.
)";

std::string parse_flags(int argc, const char* const* argv, Flags* flags) {
  std::string problem;
  const Switches switches = {
      {"bundled_program", &flags->bundled_program},
      {"dump_outputs", &flags->dump_outputs},
      {"dump-outputs", &flags->dump_outputs},
      {"help", &flags->help},
      {"h", &flags->help},
      {"print_all_output", &flags->print_all_output},
      {"print_output", &flags->print_output},
      {"verbose", &flags->verbose},
  };
  const auto number = [&](const char* name, uint32_t* target) {
    return [&problem, name, target](const std::string& value) {
      const char* end = value.data() + value.size();
      const auto parsed = std::from_chars(value.data(), end, *target);
      if (parsed.ec != std::errc() || parsed.ptr != end || *target == 0) {
        problem = "--" + std::string(name) + ": expected a whole number of at least 1, found '" + value + "'";
      }
    };
  };
  const auto tolerance = [&](const char* name, double* target) {
    return [&problem, name, target](const std::string& value) {
      char* end = nullptr;
      *target = std::strtod(value.c_str(), &end);
      if (value.empty() || *end != '\0' || !(*target >= 0)) {
        problem = "--" + std::string(name) + ": expected a number of at least 0, found '" + value + "'";
      }
    };
  };
  const Values values = {
      {"model_path", [&](const std::string& value) { flags->model_path = value; }},
      {"data_path", [&](const std::string& value) { flags->data_paths = split_at_commas(value); }},
      {"method_name", [&](const std::string& value) { flags->method_name = value; }},
      {"inputs", [&](const std::string& value) { flags->inputs = split_at_commas(value); }},
      {"output_file", [&](const std::string& value) { flags->output_file = value; }},
      {"etdump_path", [&](const std::string& value) { flags->etdump_path = value; }},
      {"bundleio_rtol", tolerance("bundleio_rtol", &flags->bundleio_rtol)},
      {"bundleio_atol", tolerance("bundleio_atol", &flags->bundleio_atol)},
      {"debug_output_path", [&](const std::string& value) { flags->debug_output_path = value; }},
      {"debug_buffer_size", number("debug_buffer_size", &flags->debug_buffer_size)},
      {"num_executions", number("num_executions", &flags->num_executions)},
  };

  const std::string misread = parse_command_line(argc, argv, switches, values);
  if (misread.empty() && problem.empty() && flags->bundled_program && !flags->inputs.empty()) {
    return "--bundled_program runs the bundled inputs: leave out --inputs";
  }
  if (flags->dump_outputs && flags->etdump_path.empty()) {
    flags->etdump_path = "etdump.etdp";
  }
  return misread.empty() ? problem : misread;
}
