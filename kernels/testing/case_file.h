// SPDX-License-Identifier: BSD-3-Clause
// Files of calls of kernels with their expected results. sdk.kernels.testing writes such files, in Python.
//
// A case has these lines:
//     case NAME [fails] [tolerance V]      the operator; "fails" if the call must be refused
//     arguments ...                        one in each line
//     out | out_list N | self              what the call writes: outputs, a list of N outputs as the last argument, or
//                                          the first argument, in place
//     expected tensors ...                 one in each line
// An argument is one of
//     tensor DTYPE SIZES DIM_ORDER VALUES...      values in row-major order; "-" for no dimensions
//     tensors N | optional_tensors N              followed by N lines
//     int V | float V | bool V | ints V... | floats V... | str TEXT | none
#pragma once

#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

namespace kernel_testing {

struct Case {
  std::string place;  // file:line
  bool fails = false;
  std::optional<double> tolerance;  // relative; without a value, the tolerance of the dtype
  std::vector<std::string> lines;
};

// Adds the cases of a file to those of each operator. False if it cannot be read.
inline bool read_cases(const std::string& path, std::map<std::string, std::vector<Case>>* cases) {
  std::ifstream file(path);
  Case* current = nullptr;
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (line.compare(0, 5, "case ") == 0) {
      std::stringstream words(line.substr(5));
      std::string word;
      words >> word;
      current = &(*cases)[word].emplace_back();
      current->place = path.substr(path.rfind('/') + 1) + ":" + std::to_string(number);
      while (words >> word) {
        current->fails = current->fails || word == "fails";
        if (word == "tolerance") {
          words >> current->tolerance.emplace();
        }
      }
    } else if (current != nullptr) {
      current->lines.push_back(line);
    }
  }
  return number > 0;
}

}  // namespace kernel_testing
