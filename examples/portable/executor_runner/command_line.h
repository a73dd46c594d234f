// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

/// The names of the options without a value, and a function that receives the values of the others.
using Switches = std::map<std::string, bool*>;
using Values = std::map<std::string, std::function<void(const std::string&)>>;

/// Reads `--name=value`, `--name value`, `-name value`, and for switches `--name`, `--noname` and `--name=true` or
/// `false`. Returns an empty text, or what is wrong with the command line.
std::string parse_command_line(int argc, const char* const* argv, const Switches& switches, const Values& values);

/// The parts of a text between its commas, without empty ones.
std::vector<std::string> split_at_commas(const std::string& text);

/// The sizes after the last colon of `FILE:2x8`, which are taken out of `text`: {2, 8}. Empty if it does not end in
/// sizes.
std::vector<int32_t> take_sizes(std::string* text);
