// SPDX-License-Identifier: BSD-3-Clause
// The payload of a delegate of Core ML: a folder in one sequence of bytes. Payloads are untrusted.
//
//   payload   = contents of the files, in sequence; then the directory, its bytes in reverse order
//   directory = {"nodes": [node, ...]}, JSON in UTF-8
//   node      = {"children": {name: node's index}, "dataRegion": {"offset": o, "size": s}, "kind": 0 | 1, "name": name}
//
// `kind` is 0 for a file and 1 for a folder. Children precede their folder, and the last node is the root. Methods that
// share weights have a payload that only names a model: "CMJR", then JSON with "version", "key" (of the named data that
// holds the folder) and "functionName". sdk/backends/apple/coreml/container.py writes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <executorch/runtime/core/result.h>

namespace executorch {
namespace backends {
namespace coreml {

/// A file in a payload.
struct File {
  std::string path;     ///< below the root, with `/`; no component is empty, `.` or `..`
  const uint8_t* data;  ///< in the payload, which must outlive it
  size_t size;          ///< in bytes
};

/// The folder in a payload.
struct Folder {
  std::vector<std::string> folders;  ///< paths below the root, parents before their contents
  std::vector<File> files;

  /// The file of a path; null if it does not exist.
  const File* find(std::string_view path) const;
  bool has_folder(std::string_view path) const;
};

/// Reads and checks a whole payload. InvalidProgram (logged) if a byte of a file lies outside of the payload, if a name
/// would lead out of the folder, if the directory is not a tree, or if it is larger than any package of Core ML needs.
runtime::Result<Folder> read_payload(const void* data, size_t size);

/// A function of a model in the program's named data.
struct SharedModel {
  std::string key;
  std::string function_name;
};

/// The model that a payload names; nullopt if the payload holds a folder instead. InvalidProgram (logged) if it is
/// damaged, or if a later version wrote it.
runtime::Result<std::optional<SharedModel>> read_shared(const void* data, size_t size);

/// The names of the inputs and outputs of a function, in the order of the delegate's arguments.
struct FunctionNames {
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
};

/// metadata.json.
struct Metadata {
  std::string identifier;
  /// Functions by name. A model with one function has an empty name for it.
  std::map<std::string, FunctionNames> functions;
};

/// Reads the metadata of a model. InvalidProgram (logged) if they are missing or damaged.
runtime::Result<Metadata> read_metadata(const Folder& folder);

}  // namespace coreml
}  // namespace backends
}  // namespace executorch
