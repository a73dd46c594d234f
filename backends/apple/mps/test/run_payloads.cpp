// SPDX-License-Identifier: BSD-3-Clause
// Opens payloads and runs each once or more, for test_mps_delegate.py. A line of the script names a payload, the prefix
// of its outputs' files, and the files of its inputs: all inputs of the first call, then all of the second, and so on.
// Prints an error for each line.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include <executorch/extension/tensor/tensor.h>
#include <executorch/runtime/platform/runtime.h>

#include "model.h"

using executorch::runtime::Error;
using executorch::runtime::EValue;
using namespace executorch::backends::mps;

namespace {

std::vector<char> bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// A tensor with its memory.
struct Argument {
  explicit Argument(const Value& value, std::vector<char> given) : bytes(std::move(given)) {
    bytes.resize(static_cast<size_t>(count_of(value.sizes)) * element_size(value.type));
    std::vector<executorch::aten::SizesType> sizes(value.sizes.begin(), value.sizes.end());
    tensor = executorch::extension::from_blob(bytes.data(), std::move(sizes), scalar_type_of(value.type));
    holder = EValue(*tensor);
  }
  std::vector<char> bytes;
  executorch::extension::TensorPtr tensor;
  EValue holder;
};

Error call(Model& model, const Graph& graph, const std::string& prefix, const std::vector<std::string>& files) {
  std::vector<std::unique_ptr<Argument>> arguments;
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    arguments.push_back(std::make_unique<Argument>(graph.values[graph.inputs[i]], bytes_of(files.at(i))));
  }
  for (const int32_t id : graph.outputs) {
    arguments.push_back(std::make_unique<Argument>(graph.values[id], std::vector<char>()));
  }
  std::vector<EValue*> values;
  for (const auto& argument : arguments) {
    values.push_back(&argument->holder);
  }
  ET_CHECK_OK_OR_RETURN_ERROR(model.execute({values.data(), values.size()}));
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    const std::vector<char>& bytes = arguments[graph.inputs.size() + i]->bytes;
    std::ofstream(prefix + "." + std::to_string(i), std::ios::binary)
        .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
  return Error::Ok;
}

Error run(const std::string& line) {
  std::istringstream words(line);
  std::string payload, prefix;
  words >> payload >> prefix;
  std::vector<std::string> files{std::istream_iterator<std::string>(words), std::istream_iterator<std::string>()};
  // The buffer has exactly the size of the bytes, so that the sanitizer reports reads beyond them.
  const std::vector<char> bytes = bytes_of(payload);
  const auto graph = read_payload(bytes.data(), bytes.size());
  ET_CHECK_OK_OR_RETURN_ERROR(graph.error());
  const auto model = open_model(*graph);
  ET_CHECK_OK_OR_RETURN_ERROR(model.error());
  const size_t count = graph->inputs.empty() ? 1 : files.size() / graph->inputs.size();
  for (size_t i = 0; i < count; ++i) {
    const auto first = files.begin() + static_cast<ptrdiff_t>(i * graph->inputs.size());
    const std::vector<std::string> own(first, first + static_cast<ptrdiff_t>(graph->inputs.size()));
    ET_CHECK_OK_OR_RETURN_ERROR(call(**model, *graph, prefix + "." + std::to_string(i), own));
  }
  return Error::Ok;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: run_payloads SCRIPT\n");
    return 2;
  }
  executorch::runtime::runtime_init();
  std::ifstream lines(argv[1]);
  for (std::string line; std::getline(lines, line);) {
    std::printf("%s\n", executorch::runtime::error_name(run(line)));
    std::fflush(stdout);
  }
  return 0;
}
