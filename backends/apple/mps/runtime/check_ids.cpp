// SPDX-License-Identifier: BSD-3-Clause
#include "check_ids.h"

#include <cstring>
#include <string>
#include <vector>

#include <executorch/runtime/platform/log.h>

namespace executorch {
namespace backends {
namespace mps {

using runtime::Error;

Error damaged(const char* what) {
  ET_LOG(Error, "MPS: the payload is damaged: %s. Export the program again", what);
  return Error::InvalidProgram;
}

namespace {

/// Logs which part of a graph refers to a value that does not exist or is not computed yet.
Error wrong_id(const char* where, int32_t id, size_t count) {
  ET_LOG(Error, "MPS: %s has the id %d; the payload has %zu values, and reads those that are known", where, id, count);
  return damaged("an id is wrong");
}

/// Whether a form allows an operand to be absent, which it does for operands marked O and for elements of the list P. A
/// form has at most one list.
bool may_be_absent(const char* form, size_t operand, size_t operands) {
  std::string letters;
  for (; *form != '\0'; ++form) {
    if (std::strchr("oOLP", *form) != nullptr) {
      letters += *form;
    }
  }
  const size_t list = letters.find_first_of("LP");
  if (list != std::string::npos) {
    letters =
        letters.substr(0, list) + std::string(operands + 1 - letters.size(), letters[list]) + letters.substr(list + 1);
  }
  return letters[operand] == 'O' || letters[operand] == 'P';
}

}  // namespace

Error check_ids(const Graph& graph) {
  const size_t count = graph.values.size();
  std::vector<bool> known(count);
  const auto is_inside = [&](int32_t id) { return id >= 0 && static_cast<size_t>(id) < count; };
  for (const auto* const ids : {&graph.inputs, &graph.constants}) {
    for (const int32_t id : *ids) {
      if (!is_inside(id) || known[id]) {
        return wrong_id("the list of inputs or constants", id, count);
      }
      known[id] = true;
      // Results that nothing reads may be empty, such as the statistics of a batch normalisation.
      ET_CHECK_OR_RETURN_ERROR(count_of(graph.values[id].sizes) > 0, NotSupported,
                               "MPS: an input or a constant has no elements, and MPS has no such tensors");
    }
  }
  for (const int32_t id : graph.constants) {
    const Value& value = graph.values[id];
    const size_t elements = static_cast<size_t>(count_of(value.sizes));
    const size_t needed = value.type == DataType::Int4 ? (elements + 1) / 2 : elements * element_size(value.type);
    if (value.data == nullptr || value.data_size < needed) {
      return damaged("a constant has fewer bytes than its elements need");
    }
  }
  for (const Node& node : graph.nodes) {
    for (size_t i = 0; i < node.operands.size(); ++i) {
      const int32_t id = node.operands[i];
      const bool is_absent = id == kAbsent && may_be_absent(form_of(node.type), i, node.operands.size());
      if (!is_absent && !(is_inside(id) && known[id])) {
        return wrong_id(name_of(node.type), id, count);
      }
    }
    for (const int32_t id : node.results) {
      if (!is_inside(id)) {
        return wrong_id(name_of(node.type), id, count);
      }
      known[id] = true;
    }
  }
  for (const int32_t id : graph.outputs) {
    if (!is_inside(id) || !known[id]) {
      return wrong_id("the list of outputs", id, count);
    }
  }
  return Error::Ok;
}

}  // namespace mps
}  // namespace backends
}  // namespace executorch
