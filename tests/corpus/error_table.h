// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "manifest.h"

// tests/data/errors.json: mistakes, and the error that every language reports for each.
namespace corpus {

struct Mistake {
  std::string name;
  std::vector<uint8_t> program;  ///< the bytes to load
  std::string method;            ///< empty: loading fails
  std::vector<Value> inputs;     ///< tensors of zeros
  std::string error;             ///< for example "InvalidProgram"
  std::vector<std::string> words;
};

struct ErrorTable {
  std::map<std::string, uint32_t> codes;
  std::vector<Mistake> mistakes;
};

/// Throws std::runtime_error that names the file.
ErrorTable read_error_table();

}  // namespace corpus
