// SPDX-License-Identifier: BSD-3-Clause
#include "command_line.h"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <sstream>
#include <string_view>
#include <system_error>

namespace {

/// The Levenshtein distance of `a` and `b`: the number of letters to insert, remove or replace.
size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t before = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t replaced = before + (a[i] == b[j] ? 0 : 1);
      before = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

/// A hint at the most similar option; empty if none is similar.
std::string nearest(const std::string& name, const Switches& switches, const Values& values) {
  std::string best;
  size_t least = std::max<size_t>(1, name.size() / 3) + 1;
  const auto compare = [&](const std::string& known) {
    const size_t found = distance(name, known);
    if (found < least) {
      least = found;
      best = known;
    }
  };
  for (const auto& entry : switches) {
    compare(entry.first);
  }
  for (const auto& entry : values) {
    compare(entry.first);
  }
  return best.empty() ? "" : "; did you mean --" + best + "?";
}

}  // namespace

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

std::vector<int32_t> take_sizes(std::string* text) {
  const size_t colon = text->rfind(':');
  if (colon == std::string::npos) {
    return {};
  }
  std::vector<int32_t> sizes;
  const char* const end = text->data() + text->size();
  for (const char* at = text->data() + colon + 1;; ++at) {
    int32_t size = 0;
    const auto parsed = std::from_chars(at, end, size);
    if (parsed.ec != std::errc() || size < 0 || (parsed.ptr != end && *parsed.ptr != 'x')) {
      return {};
    }
    sizes.push_back(size);
    at = parsed.ptr;
    if (at == end) {
      break;
    }
  }
  text->resize(colon);
  return sizes;
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
      return "unknown option '" + std::string(argument) + "'" + nearest(name, switches, values);
    }
  }
  return "";
}
