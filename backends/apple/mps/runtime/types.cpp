// SPDX-License-Identifier: BSD-3-Clause
#include "payload.h"

namespace executorch {
namespace backends {
namespace mps {

namespace {

struct NodeForm {
  const char* name;
  const char* form;
};
#define EXECUTORCH_MPS_NODE_FORM(name, form) {"MPS" #name, form},
constexpr NodeForm kForms[] = {{"none", ""}, EXECUTORCH_MPS_NODES(EXECUTORCH_MPS_NODE_FORM)};
#undef EXECUTORCH_MPS_NODE_FORM
static_assert(sizeof(kForms) / sizeof(kForms[0]) == static_cast<size_t>(NodeType::Count), "a form for each type");

}  // namespace

const char* name_of(NodeType type) {
  return kForms[static_cast<size_t>(type)].name;
}

const char* form_of(NodeType type) {
  return kForms[static_cast<size_t>(type)].form;
}

const char* name_of(DataType type) {
  switch (type) {
    case DataType::Float16:
      return "float16";
    case DataType::Float32:
      return "float32";
    case DataType::Int4:
      return "int4";
    case DataType::Int8:
      return "int8";
    case DataType::Int16:
      return "int16";
    case DataType::Int32:
      return "int32";
    case DataType::Int64:
      return "int64";
    case DataType::UInt8:
      return "uint8";
    case DataType::Bool:
      return "bool";
  }
  return "unknown";
}

executorch::aten::ScalarType scalar_type_of(DataType type) {
  using executorch::aten::ScalarType;
  switch (type) {
    case DataType::Float16:
      return ScalarType::Half;
    case DataType::Float32:
      return ScalarType::Float;
    case DataType::Int8:
      return ScalarType::Char;
    case DataType::Int16:
      return ScalarType::Short;
    case DataType::Int32:
      return ScalarType::Int;
    case DataType::Int64:
      return ScalarType::Long;
    case DataType::UInt8:
      return ScalarType::Byte;
    case DataType::Bool:
      return ScalarType::Bool;
    case DataType::Int4:
      break;
  }
  return ScalarType::Undefined;
}

bool is_float(DataType type) {
  return type == DataType::Float16 || type == DataType::Float32;
}

size_t element_size(DataType type) {
  switch (type) {
    case DataType::Int64:
      return 8;
    case DataType::Float32:
    case DataType::Int32:
      return 4;
    case DataType::Float16:
    case DataType::Int16:
      return 2;
    case DataType::Int8:
    case DataType::UInt8:
    case DataType::Bool:
      return 1;
    case DataType::Int4:
      return 0;
  }
  return 0;
}

int64_t count_of(const Sizes& sizes) {
  int64_t count = 1;
  for (const int64_t size : sizes) {
    count *= size;
  }
  return count;
}

std::string text_of(const Sizes& sizes) {
  std::string text = "[";
  for (size_t axis = 0; axis < sizes.size(); ++axis) {
    text += (axis > 0 ? ", " : "") + std::to_string(sizes[axis]);
  }
  return text + "]";
}

}  // namespace mps
}  // namespace backends
}  // namespace executorch
