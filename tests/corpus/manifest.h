// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <executorch/runtime/core/exec_aten/exec_aten.h>

// The manifest of the programs in tests/data/corpus.
namespace corpus {

/// An input or the expected output of a call.
struct Value {
  std::string type;  ///< "tensor", "int", "double", "bool", "string" or "none"
  int64_t integer = 0;
  double real = 0;
  bool flag = false;
  std::string text;

  // For a tensor: `data` is contiguous, while the program has it in `dim_order`.
  executorch::aten::ScalarType dtype = executorch::aten::ScalarType::Float;
  std::vector<int32_t> sizes;
  std::vector<uint8_t> dim_order;
  std::vector<uint8_t> data;
};

struct Call {
  std::string method;
  std::vector<Value> inputs;
  std::vector<Value> outputs;
};

struct Manifest {
  std::string program_path;
  std::vector<std::string> data_paths;  ///< of the .ptd files
  std::vector<Call> calls;              ///< to be made in this order on one loaded program
};

/// The names of all programs, sorted.
std::vector<std::string> program_names();

/// Reads the manifest of a program and the tensors that it names. Throws std::runtime_error that names the file.
Manifest read_manifest(const std::string& name);

/// Returns where a dense tensor of this dim order has the element that is at `index` in contiguous order.
size_t position(size_t index, const std::vector<int32_t>& sizes, const std::vector<uint8_t>& dim_order);

}  // namespace corpus
