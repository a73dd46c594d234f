// SPDX-License-Identifier: BSD-3-Clause
#include "container.h"

#include <cstring>
#include <iterator>
#include <memory>
#include <set>
#include <utility>

#include <executorch/runtime/platform/log.h>
#include <yyjson.h>

namespace executorch {
namespace backends {
namespace coreml {

using runtime::Error;
using runtime::Result;

namespace {

constexpr size_t kMostDirectory = 16 << 20;  // bytes; Core ML's packages have less than 20 files
constexpr size_t kMostShared = 64 << 10;     // bytes
constexpr size_t kMostNodes = 1 << 16;
constexpr int kMostDepth = 64;
constexpr int kMostNesting = 8;
constexpr uint64_t kFile = 0;
constexpr uint64_t kFolder = 1;
constexpr char kSharedMagic[] = {'C', 'M', 'J', 'R'};

struct FreeDocument {
  void operator()(yyjson_doc* document) const { yyjson_doc_free(document); }
};
using Document = std::unique_ptr<yyjson_doc, FreeDocument>;

/// A node of the directory with checked fields.
struct Node {
  std::string_view name;
  uint64_t offset, size, kind;
  std::vector<std::pair<std::string_view, uint64_t>> children;
};

std::string_view text_of(yyjson_val* value) {
  return {yyjson_get_str(value), yyjson_get_len(value)};
}

/// An object in JSON whose keys differ.
Result<Document> read_object(const char* text, size_t size, const char* what) {
  yyjson_read_err error;
  Document document(yyjson_read_opts(const_cast<char*>(text), size, YYJSON_READ_NOFLAG, nullptr, &error));
  ET_CHECK_OR_RETURN_ERROR(document != nullptr, InvalidProgram, "%s is not JSON: %s at byte %zu", what, error.msg,
                           error.pos);
  ET_CHECK_OR_RETURN_ERROR(yyjson_is_obj(yyjson_doc_get_root(document.get())), InvalidProgram,
                           "%s is JSON, but not an object", what);
  return document;
}

/// The text of a member; nullopt if the member is missing or not a text.
std::optional<std::string> text_at(yyjson_val* object, const char* key) {
  yyjson_val* const value = yyjson_obj_get(object, key);
  return yyjson_is_str(value) ? std::optional<std::string>(text_of(value)) : std::nullopt;
}

/// The size in bytes of the directory at the end of a payload; 0 if its end is missing.
size_t directory_size(const uint8_t* data, size_t size) {
  const size_t most = size < kMostDirectory ? size : kMostDirectory;
  int depth = 0;
  bool in_text = false;
  for (size_t i = 0; i < most; ++i) {
    const uint8_t byte = data[size - 1 - i];
    if (in_text) {
      if (byte == '\\') {
        ++i;
      } else if (byte == '"') {
        in_text = false;
      }
      continue;
    }
    if (byte == '"') {
      in_text = true;
    } else if (byte == '{' || byte == '[') {
      if (++depth > kMostNesting) {
        return 0;
      }
    } else if ((byte == '}' || byte == ']') && --depth <= 0) {
      return depth == 0 ? i + 1 : 0;
    }
  }
  return 0;
}

bool is_name(std::string_view name) {
  constexpr std::string_view kSeparators("/\\\0", 3);
  return !name.empty() && name != "." && name != ".." && name.find_first_of(kSeparators) == std::string_view::npos;
}

/// Whether an object has exactly `count` members. The caller reads `count` different names: if all of them exist, the
/// object has no duplicate and no unknown member.
bool has_members(yyjson_val* object, size_t count) {
  return yyjson_is_obj(object) && yyjson_obj_size(object) == count;
}

bool read_number(yyjson_val* value, uint64_t& number) {
  number = yyjson_get_uint(value);
  return yyjson_is_uint(value) && number <= INT64_MAX;
}

bool read_node(yyjson_val* value, Node& node) {
  yyjson_val* const region = yyjson_obj_get(value, "dataRegion");
  yyjson_val* const children = yyjson_obj_get(value, "children");
  yyjson_val* const name = yyjson_obj_get(value, "name");
  if (!has_members(value, 4) || !has_members(region, 2) || !yyjson_is_obj(children) || !yyjson_is_str(name) ||
      !read_number(yyjson_obj_get(region, "offset"), node.offset) ||
      !read_number(yyjson_obj_get(region, "size"), node.size) ||
      !read_number(yyjson_obj_get(value, "kind"), node.kind) || node.kind > kFolder) {
    return false;
  }
  node.name = text_of(name);
  std::set<std::string_view> names;
  yyjson_obj_iter members = yyjson_obj_iter_with(children);
  while (yyjson_val* const key = yyjson_obj_iter_next(&members)) {
    uint64_t index = 0;
    if (!read_number(yyjson_obj_iter_get_val(key), index) || !names.insert(text_of(key)).second) {
      return false;
    }
    node.children.emplace_back(text_of(key), index);
  }
  return node.kind == kFolder || node.children.empty();
}

/// Checks that the nodes are a tree whose files lie in the `available` bytes before the directory.
Error check_tree(const std::vector<Node>& nodes, size_t available) {
  std::vector<int> depths(nodes.size(), 1);
  std::vector<bool> is_held(nodes.size(), false);
  uint64_t stored = 0;
  for (size_t i = 0; i < nodes.size(); ++i) {
    const Node& node = nodes[i];
    const bool is_root = i + 1 == nodes.size();
    ET_CHECK_OR_RETURN_ERROR(is_name(node.name) || (is_root && node.name.empty()), InvalidProgram,
                             "the name of node %zu of the payload's directory would lead out of its folder", i);
    for (const auto& [name, child] : node.children) {
      ET_CHECK_OR_RETURN_ERROR(child < i, InvalidProgram,
                               "node %zu of the payload's directory has the child %llu; children precede their folder",
                               i, static_cast<unsigned long long>(child));
      ET_CHECK_OR_RETURN_ERROR(!is_held[child], InvalidProgram,
                               "node %llu of the payload's directory belongs to several folders",
                               static_cast<unsigned long long>(child));
      ET_CHECK_OR_RETURN_ERROR(nodes[child].name == name, InvalidProgram,
                               "node %llu of the payload's directory has another name in its folder",
                               static_cast<unsigned long long>(child));
      is_held[child] = true;
      depths[i] = depths[child] + 1 > depths[i] ? depths[child] + 1 : depths[i];
    }
    ET_CHECK_OR_RETURN_ERROR(depths[i] <= kMostDepth, InvalidProgram, "the payload's directory has more than %d levels",
                             kMostDepth);
    if (node.kind == kFile) {
      // Files that share contents could grow to any size when they are written.
      ET_CHECK_OR_RETURN_ERROR(
          node.offset <= available && node.size <= available - node.offset && node.size <= available - stored,
          InvalidProgram, "file %zu of the payload has %llu bytes at offset %llu; the payload holds %zu bytes of files",
          i, static_cast<unsigned long long>(node.size), static_cast<unsigned long long>(node.offset), available);
      stored += node.size;
    }
  }
  for (size_t i = 0; i + 1 < nodes.size(); ++i) {
    ET_CHECK_OR_RETURN_ERROR(is_held[i], InvalidProgram, "node %zu of the payload's directory belongs to no folder", i);
  }
  ET_CHECK_OR_RETURN_ERROR(nodes.back().kind == kFolder, InvalidProgram,
                           "the root of the payload's directory is a file; expected a folder");
  return Error::Ok;
}

/// Adds the contents of a folder. The recursion depth is that of the tree, which is limited.
void add_children(const std::vector<Node>& nodes, const Node& folder, const std::string& prefix, const uint8_t* data,
                  Folder& made) {
  for (const auto& [name, index] : folder.children) {
    const Node& node = nodes[index];
    const std::string path = prefix + std::string(name);
    if (node.kind == kFile) {
      made.files.push_back({path, data + node.offset, static_cast<size_t>(node.size)});
    } else {
      made.folders.push_back(path);
      add_children(nodes, node, path + "/", data, made);
    }
  }
}

bool read_texts(yyjson_val* array, std::vector<std::string>& texts) {
  if (!yyjson_is_arr(array)) {
    return false;
  }
  yyjson_arr_iter elements = yyjson_arr_iter_with(array);
  while (yyjson_val* const element = yyjson_arr_iter_next(&elements)) {
    if (!yyjson_is_str(element)) {
      return false;
    }
    texts.emplace_back(text_of(element));
  }
  return true;
}

bool read_names(yyjson_val* object, FunctionNames& names) {
  return read_texts(yyjson_obj_get(object, "inputNames"), names.inputs) &&
         read_texts(yyjson_obj_get(object, "outputNames"), names.outputs);
}

}  // namespace

const File* Folder::find(std::string_view path) const {
  for (const File& file : files) {
    if (file.path == path) {
      return &file;
    }
  }
  return nullptr;
}

bool Folder::has_folder(std::string_view path) const {
  for (const std::string& folder : folders) {
    if (folder == path) {
      return true;
    }
  }
  return false;
}

Result<Folder> read_payload(const void* data, size_t size) {
  const auto* const bytes = static_cast<const uint8_t*>(data);
  ET_CHECK_OR_RETURN_ERROR(size > 0 && bytes[size - 1] == '{', InvalidProgram,
                           "the payload does not end with a directory in reverse, whose last byte is {");
  const size_t length = directory_size(bytes, size);
  ET_CHECK_OR_RETURN_ERROR(length > 0, InvalidProgram, "the directory of the payload has no end within %zu bytes",
                           size < kMostDirectory ? size : kMostDirectory);
  const std::string text(std::reverse_iterator<const uint8_t*>(bytes + size),
                         std::reverse_iterator<const uint8_t*>(bytes + size - length));
  Result<Document> document = read_object(text.data(), text.size(), "the directory of the payload");
  ET_CHECK_OK_OR_RETURN_ERROR(document.error());
  yyjson_val* const root = yyjson_doc_get_root(document->get());
  yyjson_val* const list = yyjson_obj_get(root, "nodes");
  ET_CHECK_OR_RETURN_ERROR(
      has_members(root, 1) && yyjson_is_arr(list) && yyjson_arr_size(list) > 0 && yyjson_arr_size(list) <= kMostNodes,
      InvalidProgram, "the directory of the payload has no list `nodes` of 1 to %zu nodes", kMostNodes);
  std::vector<Node> nodes(yyjson_arr_size(list));
  yyjson_arr_iter elements = yyjson_arr_iter_with(list);
  for (size_t i = 0; i < nodes.size(); ++i) {
    ET_CHECK_OR_RETURN_ERROR(read_node(yyjson_arr_iter_next(&elements), nodes[i]), InvalidProgram,
                             "node %zu of the payload's directory has no valid fields, or a field twice", i);
  }
  ET_CHECK_OK_OR_RETURN_ERROR(check_tree(nodes, size - length));
  Folder made;
  add_children(nodes, nodes.back(), "", bytes, made);
  return made;
}

Result<std::optional<SharedModel>> read_shared(const void* data, size_t size) {
  if (size < sizeof(kSharedMagic) || std::memcmp(data, kSharedMagic, sizeof(kSharedMagic)) != 0) {
    return std::optional<SharedModel>();
  }
  ET_CHECK_OR_RETURN_ERROR(size <= kMostShared, InvalidProgram,
                           "the payload that names a model has %zu bytes; expected at most %zu", size, kMostShared);
  const char* const text = static_cast<const char*>(data) + sizeof(kSharedMagic);
  Result<Document> document = read_object(text, size - sizeof(kSharedMagic), "the payload that names a model");
  ET_CHECK_OK_OR_RETURN_ERROR(document.error());
  yyjson_val* const root = yyjson_doc_get_root(document->get());
  yyjson_val* const version = yyjson_obj_get(root, "version");
  ET_CHECK_OR_RETURN_ERROR(yyjson_is_uint(version) && yyjson_get_uint(version) == 1, InvalidProgram,
                           "the payload that names a model is not of version 1: update this SDK, or export again");
  std::optional<std::string> key = text_at(root, "key");
  std::optional<std::string> function = text_at(root, "functionName");
  ET_CHECK_OR_RETURN_ERROR(
      has_members(root, 3) && key && function && !key->empty() && !function->empty(), InvalidProgram,
      "the payload that names a model has no texts `key` and `functionName`, or has another field");
  return std::optional<SharedModel>(SharedModel{std::move(*key), std::move(*function)});
}

Result<Metadata> read_metadata(const Folder& folder) {
  const File* const file = folder.find("metadata.json");
  ET_CHECK_OR_RETURN_ERROR(file != nullptr, InvalidProgram, "the payload has no metadata.json");
  Result<Document> document =
      read_object(reinterpret_cast<const char*>(file->data), file->size, "the payload's metadata.json");
  ET_CHECK_OK_OR_RETURN_ERROR(document.error());
  yyjson_val* const root = yyjson_doc_get_root(document->get());
  Metadata made;
  made.identifier = text_at(root, "identifier").value_or("");
  yyjson_val* const methods = yyjson_obj_get(root, "methods");
  bool is_valid = true;
  if (methods == nullptr) {
    is_valid = read_names(root, made.functions[""]);
  } else {
    is_valid = yyjson_is_obj(methods) && yyjson_obj_size(methods) > 0;
    yyjson_obj_iter members = yyjson_obj_iter_with(methods);
    while (yyjson_val* const key = is_valid ? yyjson_obj_iter_next(&members) : nullptr) {
      const auto added = made.functions.emplace(text_of(key), FunctionNames{});
      is_valid = added.second && read_names(yyjson_obj_iter_get_val(key), added.first->second);
    }
  }
  ET_CHECK_OR_RETURN_ERROR(is_valid, InvalidProgram,
                           "the payload's metadata.json does not name the inputs and outputs of its functions");
  return made;
}

}  // namespace coreml
}  // namespace backends
}  // namespace executorch
