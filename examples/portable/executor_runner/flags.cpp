// SPDX-License-Identifier: BSD-3-Clause
#include "flags.h"

#include <charconv>
#include <functional>
#include <map>
#include <sstream>
#include <string_view>
#include <system_error>

const char* const kHelpText = R"(executor_runner: run a .pte program once or more and print its outputs.

Usage: executor_runner --model_path model.pte [options]

What to run
  --model_path FILE       The program. Default: model.pte
  --data_path FILE,...    Files with the program's external data (.ptd).
  --method_name NAME      The method to run. Default: forward

Inputs
  --inputs FILE,...       Raw bytes of each tensor input, in order: row-major as the method's dim order says,
                          little-endian, exactly as many bytes as the tensor has. Without it every tensor is filled
                          with ones. Inputs that are no tensors keep the value the program has for them.

Outputs
  --output_file BASE      Write the raw bytes of each tensor output i to BASE-i.bin.
  --print_all_output      Print every element; by default the first and the last ten of each tensor.
  --noprint_output        Print no outputs.
  --etdump_path FILE      Write an ETDump of all runs for the Inspector. Needs a build with
                          EXECUTORCH_ENABLE_EVENT_TRACER=ON.

How
  --num_executions N      Run N times and report the total time. Default: 1
  --help                  Print this text.

The exit status is 0 if every run succeeded, 1 if something failed (the log says what), 2 for a wrong command line.
)";

namespace {

std::vector<std::string> split_at_commas(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, ',');) {
    if (!part.empty()) {
      parts.push_back(part);
    }
  }
  return parts;
}

}  // namespace

std::string parse_flags(int argc, const char* const* argv, Flags* flags) {
  std::string problem;
  const std::map<std::string, bool*> switches = {
      {"help", &flags->help},
      {"print_all_output", &flags->print_all_output},
      {"print_output", &flags->print_output},
  };
  const std::map<std::string, std::function<void(const std::string&)>> values = {
      {"model_path", [&](const std::string& value) { flags->model_path = value; }},
      {"data_path", [&](const std::string& value) { flags->data_paths = split_at_commas(value); }},
      {"method_name", [&](const std::string& value) { flags->method_name = value; }},
      {"inputs", [&](const std::string& value) { flags->inputs = split_at_commas(value); }},
      {"output_file", [&](const std::string& value) { flags->output_file = value; }},
      {"etdump_path", [&](const std::string& value) { flags->etdump_path = value; }},
      {"num_executions",
       [&](const std::string& value) {
         const char* end = value.data() + value.size();
         const auto parsed = std::from_chars(value.data(), end, flags->num_executions);
         if (parsed.ec != std::errc() || parsed.ptr != end || flags->num_executions == 0) {
           problem = "--num_executions: expected a whole number of at least 1, found '" + value + "'";
         }
       }},
  };

  for (int i = 1; i < argc && problem.empty(); ++i) {
    const std::string_view argument = argv[i];
    if (argument == "-h") {
      flags->help = true;
      continue;
    }
    if (argument.size() < 2 || argument[0] != '-') {
      return "expected an option, found '" + std::string(argument) + "'";
    }
    const std::string_view text = argument.substr(argument[1] == '-' ? 2 : 1);
    const size_t equals = text.find('=');
    const std::string name(text.substr(0, equals));

    if (const auto found = switches.find(name); found != switches.end() && equals == std::string_view::npos) {
      *found->second = true;
    } else if (const auto negated = switches.find(name.substr(0, 2) == "no" ? name.substr(2) : "");
               negated != switches.end() && equals == std::string_view::npos) {
      *negated->second = false;
    } else if (found != switches.end()) {
      return "--" + name + " takes no value; --no" + name + " turns it off";
    } else if (const auto value = values.find(name); value != values.end()) {
      if (equals == std::string_view::npos && i + 1 >= argc) {
        return "--" + name + " needs a value";
      }
      value->second(equals != std::string_view::npos ? std::string(text.substr(equals + 1)) : std::string(argv[++i]));
    } else {
      return "unknown option '" + std::string(argument) + "'";
    }
  }
  return problem;
}
