// SPDX-License-Identifier: BSD-3-Clause
#include "error_table.h"
#include "paths.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>

#include <flatbuffers/flexbuffers.h>
#include <flatbuffers/idl.h>

#include <executorch/runtime/core/exec_aten/util/scalar_type_util.h>

namespace corpus {

namespace fs = std::filesystem;
using executorch::aten::ScalarType;
using executorch::tests::kCorpusFolder;

namespace {

fs::path folder(const std::string& name) {
  return fs::path(kCorpusFolder) / name;
}

template <typename Bytes>
Bytes read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    throw std::runtime_error(path.string() + " cannot be read");
  }
  return Bytes(std::istreambuf_iterator<char>(file), {});
}

ScalarType dtype_of(const std::string& name) {
  static const std::map<std::string, ScalarType> kTypes = {
      {"uint8", ScalarType::Byte},    {"int8", ScalarType::Char},      {"int16", ScalarType::Short},
      {"int32", ScalarType::Int},     {"int64", ScalarType::Long},     {"float16", ScalarType::Half},
      {"float32", ScalarType::Float}, {"float64", ScalarType::Double}, {"bool", ScalarType::Bool}};
  const auto found = kTypes.find(name);
  if (found == kTypes.end()) {
    throw std::runtime_error("unknown dtype '" + name + "' in a manifest");
  }
  return found->second;
}

template <typename T>
std::vector<T> integers(const flexbuffers::Reference& list) {
  std::vector<T> result;
  if (list.IsTypedVector()) {
    const auto items = list.AsTypedVector();
    for (size_t i = 0; i < items.size(); ++i) {
      result.push_back(static_cast<T>(items[i].AsInt64()));
    }
  } else {
    const auto items = list.AsVector();
    for (size_t i = 0; i < items.size(); ++i) {
      result.push_back(static_cast<T>(items[i].AsInt64()));
    }
  }
  return result;
}

Value read_value(const std::string& name, const flexbuffers::Map& entry) {
  Value value;
  value.type = entry["type"].AsString().str();
  if (value.type == "tensor") {
    value.dtype = dtype_of(entry["dtype"].AsString().str());
    value.sizes = integers<int32_t>(entry["shape"]);
    value.dim_order = integers<uint8_t>(entry["orig_dim_order"]);
    value.data = read<std::vector<uint8_t>>(folder(name) / entry["file"].AsString().str());
  } else if (value.type == "int") {
    value.integer = entry["value"].AsInt64();
  } else if (value.type == "double") {
    value.real = entry["value"].AsDouble();
  } else if (value.type == "bool") {
    value.flag = entry["value"].AsBool();
  } else if (value.type == "string") {
    value.text = entry["value"].AsString().str();
  } else if (value.type != "none") {
    throw std::runtime_error("unknown type '" + value.type + "' in the manifest of " + name);
  }
  return value;
}

std::vector<Value> read_values(const std::string& name, const flexbuffers::Reference& list) {
  std::vector<Value> values;
  const auto items = list.AsVector();
  for (size_t i = 0; i < items.size(); ++i) {
    values.push_back(read_value(name, items[i].AsMap()));
  }
  return values;
}

/// A JSON file as a FlexBuffer.
std::vector<uint8_t> read_json(const fs::path& path) {
  const auto text = read<std::string>(path);
  flexbuffers::Builder builder;
  flatbuffers::Parser parser;
  if (!parser.ParseFlexBuffer(text.c_str(), nullptr, &builder)) {
    throw std::runtime_error(path.string() + " is not JSON: " + parser.error_);
  }
  return builder.GetBuffer();
}

Mistake read_mistake(const flexbuffers::Map& entry) {
  Mistake mistake;
  mistake.name = entry["case"].AsString().str();
  mistake.error = entry["error"].AsString().str();
  mistake.method = entry["method"].AsString().str();
  if (entry["text"].IsString()) {
    const std::string text = entry["text"].AsString().str();
    mistake.program.assign(text.begin(), text.end());
  } else {
    mistake.program = read<std::vector<uint8_t>>(folder(entry["program"].AsString().str()) / "model.pte");
    if (entry["keep"].IsIntOrUint()) {
      mistake.program.resize(entry["keep"].AsUInt64());
    }
  }
  const auto words = entry["words"];
  for (size_t i = 0; i < words.AsVector().size(); ++i) {
    mistake.words.push_back(words.AsVector()[i].AsString().str());
  }
  const auto inputs = entry["inputs"].AsVector();
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto input = inputs[i].AsMap();
    Value value;
    value.type = input["type"].AsString().str();
    if (value.type == "tensor") {
      value.dtype = dtype_of(input["dtype"].AsString().str());
      value.sizes = integers<int32_t>(input["shape"]);
      size_t bytes = executorch::runtime::elementSize(value.dtype);
      for (size_t dim = 0; dim < value.sizes.size(); ++dim) {
        value.dim_order.push_back(static_cast<uint8_t>(dim));
        bytes *= static_cast<size_t>(value.sizes[dim]);
      }
      value.data.resize(bytes);
    }
    mistake.inputs.push_back(std::move(value));
  }
  return mistake;
}

}  // namespace

ErrorTable read_error_table() {
  const std::vector<uint8_t> json = read_json(fs::path(kCorpusFolder).parent_path() / "errors.json");
  const auto root = flexbuffers::GetRoot(json).AsMap();
  ErrorTable table;
  const auto codes = root["codes"].AsMap();
  for (size_t i = 0; i < codes.size(); ++i) {
    table.codes[codes.Keys()[i].AsKey()] = codes.Values()[i].AsUInt32();
  }
  const auto cases = root["cases"].AsVector();
  for (size_t i = 0; i < cases.size(); ++i) {
    table.mistakes.push_back(read_mistake(cases[i].AsMap()));
  }
  return table;
}

std::vector<std::string> program_names() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(kCorpusFolder)) {
    if (entry.is_directory()) {
      names.push_back(entry.path().filename().string());
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

Manifest read_manifest(const std::string& name) {
  const std::vector<uint8_t> json = read_json(folder(name) / "manifest.json");
  const auto root = flexbuffers::GetRoot(json).AsMap();
  Manifest manifest;
  manifest.program_path = (folder(name) / root["pte"].AsString().str()).string();
  for (const auto& entry : fs::directory_iterator(folder(name))) {
    if (entry.path().extension() == ".ptd") {
      manifest.data_paths.push_back(entry.path().string());
    }
  }
  const auto calls = root["calls"].AsVector();
  for (size_t i = 0; i < calls.size(); ++i) {
    const auto call = calls[i].AsMap();
    manifest.calls.push_back(
        {call["method"].AsString().str(), read_values(name, call["inputs"]), read_values(name, call["outputs"])});
  }
  return manifest;
}

size_t position(size_t index, const std::vector<int32_t>& sizes, const std::vector<uint8_t>& dim_order) {
  std::vector<size_t> place(sizes.size());
  for (size_t dim = sizes.size(); dim-- > 0;) {
    place[dim] = index % static_cast<size_t>(sizes[dim]);
    index /= static_cast<size_t>(sizes[dim]);
  }
  size_t result = 0;
  for (const uint8_t dim : dim_order) {
    result = result * static_cast<size_t>(sizes[dim]) + place[dim];
  }
  return result;
}

}  // namespace corpus
