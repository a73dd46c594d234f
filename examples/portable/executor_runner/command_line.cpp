// SPDX-License-Identifier: BSD-3-Clause
#include "command_line.h"

#include <sstream>
#include <string_view>

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

std::string parse_command_line(int argc, const char* const* argv, const Switches& switches, const Values& values) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument.size() < 2 || argument[0] != '-') {
      return "expected an option, found '" + std::string(argument) + "'";
    }
    const std::string_view text = argument.substr(argument[1] == '-' ? 2 : 1);
    const size_t equals = text.find('=');
    const bool has_value = equals != std::string_view::npos;
    const std::string name(text.substr(0, equals));

    if (const auto found = switches.find(name); found != switches.end()) {
      const std::string value = has_value ? std::string(text.substr(equals + 1)) : "true";
      if (value != "true" && value != "false") {
        return "--" + name + " is true or false, found '" + value + "'; --no" + name + " turns it off";
      }
      *found->second = value == "true";
    } else if (const auto negated = switches.find(name.substr(0, 2) == "no" ? name.substr(2) : "");
               negated != switches.end() && !has_value) {
      *negated->second = false;
    } else if (const auto value = values.find(name); value != values.end()) {
      if (!has_value && i + 1 >= argc) {
        return "--" + name + " needs a value";
      }
      value->second(has_value ? std::string(text.substr(equals + 1)) : std::string(argv[++i]));
    } else {
      return "unknown option '" + std::string(argument) + "'";
    }
  }
  return "";
}
