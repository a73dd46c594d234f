// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/pybindings/tensor_types.h>

#include <executorch/runtime/core/exec_aten/util/scalar_type_util.h>

namespace py = pybind11;

namespace executorch {
namespace extension {
namespace pybindings {

using aten::ScalarType;

namespace {

struct TypeNames {
  ScalarType type;
  const char* name;  // the names of torch, which are also those of numpy if it has the type
  char numpy_kind;   // numpy's dtype.kind; 0 if numpy does not have the type
  int numpy_itemsize;
};

constexpr TypeNames kTypes[] = {
    {ScalarType::Byte, "uint8", 'u', 1},
    {ScalarType::Char, "int8", 'i', 1},
    {ScalarType::Short, "int16", 'i', 2},
    {ScalarType::Int, "int32", 'i', 4},
    {ScalarType::Long, "int64", 'i', 8},
    {ScalarType::UInt16, "uint16", 'u', 2},
    {ScalarType::UInt32, "uint32", 'u', 4},
    {ScalarType::UInt64, "uint64", 'u', 8},
    {ScalarType::Half, "float16", 'f', 2},
    {ScalarType::Float, "float32", 'f', 4},
    {ScalarType::Double, "float64", 'f', 8},
    {ScalarType::Bool, "bool", 'b', 1},
    {ScalarType::BFloat16, "bfloat16", 0, 0},
    {ScalarType::ComplexHalf, "complex32", 0, 0},
    {ScalarType::ComplexFloat, "complex64", 'c', 8},
    {ScalarType::ComplexDouble, "complex128", 'c', 16},
};

const TypeNames* find_type(ScalarType type) {
  for (const TypeNames& entry : kTypes) {
    if (entry.type == type) {
      return &entry;
    }
  }
  return nullptr;
}

// numpy's bfloat16 comes from the package ml_dtypes. None if it is not installed.
py::object ml_bfloat16() {
  try {
    return py::module_::import("ml_dtypes").attr("bfloat16");
  } catch (py::error_already_set& error) {
    if (!error.matches(PyExc_ImportError)) {
      throw;
    }
    return py::none();
  }
}

}  // namespace

std::optional<ScalarType> scalar_type_of_numpy(const py::dtype& dtype) {
  const char byte_order = dtype.byteorder();
  if (byte_order == '>') {
    return std::nullopt;  // every supported host is little-endian
  }
  for (const TypeNames& entry : kTypes) {
    if (entry.numpy_kind == dtype.kind() && entry.numpy_itemsize == dtype.itemsize()) {
      return entry.type;
    }
  }
  if (dtype.attr("name").cast<std::string>() == "bfloat16") {
    return ScalarType::BFloat16;
  }
  return std::nullopt;
}

std::optional<py::dtype> numpy_dtype_of(ScalarType type) {
  if (type == ScalarType::BFloat16) {
    const py::object bfloat16 = ml_bfloat16();
    if (bfloat16.is_none()) {
      return std::nullopt;
    }
    return py::dtype::from_args(bfloat16);
  }
  const TypeNames* entry = find_type(type);
  if (entry == nullptr || entry->numpy_kind == 0) {
    return std::nullopt;
  }
  return py::dtype(entry->name);
}

std::string dtype_name(ScalarType type) {
  const TypeNames* entry = find_type(type);
  return entry != nullptr ? entry->name : runtime::toString(type);
}

}  // namespace pybindings
}  // namespace extension
}  // namespace executorch
