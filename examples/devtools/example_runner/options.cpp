// SPDX-License-Identifier: BSD-3-Clause
#include "options.h"

#include <cstdlib>
#include <functional>
#include <map>
#include <type_traits>

#define ET_QUOTE(value) #value
#define ET_TEXT(macro) ET_QUOTE(macro)

const char* const kHelpText = ET_RUNNER_NAME R"(: run a case of a bundled program (.bpte) and check its outputs.

Usage: )" ET_RUNNER_NAME R"( --bundled_program_path model.bpte [options]

  --bundled_program_path FILE   The bundled program. Default: )" ET_BUNDLED_PROGRAM_PATH R"(
  --method_name NAME            The method to run. Default: the first of the program
  --testset_idx N               Which of the cases that are bundled with the method, from 0. Default: 0

Outputs
  --output_verification         Check the outputs against those that the case expects: nothing is said when they agree.
  --bundleio_rtol X             ... with this relative tolerance. Default: )" ET_TEXT(ET_BUNDLEIO_RTOL) R"(
  --bundleio_atol X             ... and this absolute one. Default: )" ET_TEXT(ET_BUNDLEIO_ATOL) R"(
  --print_output                Print the outputs.

For the Inspector; needs a build with EXECUTORCH_ENABLE_EVENT_TRACER=ON
  --etdump_path FILE            Where the ETDump goes. Default: etdump.etdp
  --dump_outputs                Keep the program's outputs too (--nodump_outputs: do not),
  --dump_intermediate_outputs   or those of every instruction,
  --debug_output_path FILE      in this file. Default: debug_output.bin
  --debug_buffer_size N         Bytes for them. Default: 262144

  --help                        Print this text.

An option without a value is a switch: --noOPTION and --OPTION=false turn it off, --OPTION=true turns it on.

The exit status is 0 if all went well, 1 if something failed or an output differs (the log says what), 2 for a wrong
command line.
)";

namespace {

// Whether all of `text` is a number that is not negative; a whole one for `Number` = size_t.
template <typename Number>
bool parse(const std::string& text, Number* number) {
  char* end = nullptr;
  if (text.empty() || text[0] == '-' || text[0] == ' ') {
    return false;
  }
  if constexpr (std::is_floating_point_v<Number>) {
    *number = std::strtod(text.c_str(), &end);
    return *end == '\0' && *number >= 0;
  } else {
    const unsigned long long value = std::strtoull(text.c_str(), &end, 10);
    *number = static_cast<Number>(value);
    return *end == '\0' && value <= static_cast<Number>(-1) / 2;
  }
}

// Whether `text` is true or false, in one of the spellings of gflags.
bool parse(const std::string& text, bool* value) {
  for (const char* yes : {"true", "t", "yes", "y", "1"}) {
    if (text == yes) {
      *value = true;
      return true;
    }
  }
  for (const char* no : {"false", "f", "no", "n", "0"}) {
    if (text == no) {
      *value = false;
      return true;
    }
  }
  return false;
}

}  // namespace

std::string parse_options(int argc, const char* const* argv, Options* options) {
  const std::map<std::string, bool*> switches = {
      {"output_verification", &options->output_verification},
      {"print_output", &options->print_output},
      {"dump_outputs", &options->dump_outputs},
      {"dump_intermediate_outputs", &options->dump_intermediate_outputs},
      {"help", &options->help},
  };
  const auto text = [](std::string* target) {
    return [target](const std::string& value) {
      *target = value;
      return !value.empty();
    };
  };
  const auto number = [](auto* target) { return [target](const std::string& value) { return parse(value, target); }; };
  const std::map<std::string, std::function<bool(const std::string&)>> values = {
      {"bundled_program_path", text(&options->bundled_program_path)},
      {"method_name", text(&options->method_name)},
      {"testset_idx", number(&options->testset_idx)},
      {"bundleio_rtol", number(&options->rtol)},
      {"bundleio_atol", number(&options->atol)},
      {"etdump_path", text(&options->etdump_path)},
      {"debug_output_path", text(&options->debug_output_path)},
      {"debug_buffer_size", number(&options->debug_buffer_size)},
  };
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument.size() < 2 || argument[0] != '-') {
      return "expected an option, found '" + argument + "'";
    }
    const std::string option = argument.substr(argument[1] == '-' ? 2 : 1);
    const size_t equals = option.find('=');
    const std::string name = option.substr(0, equals);
    const bool has_value = equals != std::string::npos;
    const bool negated = name.substr(0, 2) == "no" && switches.count(name.substr(2)) > 0;
    if (negated) {
      if (has_value) {
        return "--" + name + " takes no value";
      }
      *switches.at(name.substr(2)) = false;
      continue;
    }
    if (switches.count(name) > 0) {
      if (!parse(has_value ? option.substr(equals + 1) : "true", switches.at(name))) {
        return "--" + name + ": expected true or false, found '" + option.substr(equals + 1) + "'";
      }
      continue;
    }
    const auto found = values.find(name);
    if (found == values.end()) {
      return "unknown option '" + argument + "'";
    }
    if (!has_value && i + 1 >= argc) {
      return "--" + name + " needs a value";
    }
    const std::string value = has_value ? option.substr(equals + 1) : argv[++i];
    if (!found->second(value)) {
      return "--" + name + ": found '" + value + "', which is not one of its values";
    }
    options->etdump_asked |= name == "etdump_path";
  }
  return "";
}
