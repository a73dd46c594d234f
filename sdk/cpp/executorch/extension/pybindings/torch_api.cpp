// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/pybindings/torch_api.h>

#include <executorch/extension/pybindings/tensor_types.h>

namespace py = pybind11;

namespace executorch {
namespace extension {
namespace pybindings {

using aten::ScalarType;

namespace {

struct ExchangedType {
  ScalarType type;
  dlpack::TypeCode code;
  uint8_t bits;
};

constexpr ExchangedType kExchangedTypes[] = {
    {ScalarType::Float, dlpack::kFloat, 32},
    {ScalarType::Long, dlpack::kInt, 64},
    {ScalarType::Int, dlpack::kInt, 32},
    {ScalarType::Bool, dlpack::kBool, 8},
    {ScalarType::Half, dlpack::kFloat, 16},
    {ScalarType::BFloat16, dlpack::kBfloat, 16},
    {ScalarType::Byte, dlpack::kUInt, 8},
    {ScalarType::Char, dlpack::kInt, 8},
    {ScalarType::Short, dlpack::kInt, 16},
    {ScalarType::Double, dlpack::kFloat, 64},
    {ScalarType::UInt16, dlpack::kUInt, 16},
    {ScalarType::UInt32, dlpack::kUInt, 32},
    {ScalarType::UInt64, dlpack::kUInt, 64},
    {ScalarType::ComplexHalf, dlpack::kComplex, 32},
    {ScalarType::ComplexFloat, dlpack::kComplex, 64},
    {ScalarType::ComplexDouble, dlpack::kComplex, 128},
};

const dlpack::ExchangeApi* exchange_api_of(const py::object& tensor_class) {
  if (!py::hasattr(tensor_class, "__dlpack_c_exchange_api__")) {
    return nullptr;
  }
  const py::object capsule = tensor_class.attr("__dlpack_c_exchange_api__");
  const auto* api = static_cast<const dlpack::ExchangeApi*>(PyCapsule_GetPointer(capsule.ptr(), dlpack::kCapsuleName));
  while (api != nullptr && api->major != dlpack::kMajorVersion) {
    api = api->previous;
  }
  PyErr_Clear();  // a capsule of another name
  return api != nullptr && api->view_of_object != nullptr ? api : nullptr;
}

py::object called(PyObject* result) {
  if (result == nullptr) {
    throw py::error_already_set();
  }
  return py::reinterpret_steal<py::object>(result);
}

}  // namespace

const TorchApi* TorchApi::get() {
  static PyObject* const name = PyUnicode_InternFromString("torch");
  PyObject* const torch = PyDict_GetItem(PyImport_GetModuleDict(), name);
  if (torch == nullptr) {
    return nullptr;
  }
  static const TorchApi* api = nullptr;  // never freed, like torch itself
  if (api == nullptr || api->module_.ptr() != torch) {
    // If another thread is still importing torch, the module lacks some of its names.
    for (const char* needed : {"Tensor", "strided", "empty_strided", "frombuffer"}) {
      if (PyObject_HasAttrString(torch, needed) == 0) {
        return nullptr;
      }
    }
    api = new TorchApi(py::reinterpret_borrow<py::object>(torch));
  }
  return api;
}

TorchApi::TorchApi(const py::object& torch)
    : module_(torch),
      tensor_class_(torch.attr("Tensor")),
      strided_(torch.attr("strided")),
      empty_strided_(torch.attr("empty_strided")),
      dtype_keyword_(py::make_tuple(py::str("dtype"))),
      data_ptr_(py::reinterpret_steal<py::str>(PyUnicode_InternFromString("data_ptr"))),
      exchange_(exchange_api_of(tensor_class_)) {
  for (const ExchangedType& known : kExchangedTypes) {
    const std::string name = dtype_name(known.type);
    if (py::hasattr(torch, name.c_str())) {
      dtypes_[static_cast<size_t>(known.type)] = torch.attr(name.c_str());
      types_.emplace(dtypes_[static_cast<size_t>(known.type)].ptr(), known.type);
    }
  }
}

bool TorchApi::is_tensor(const py::handle& value) const {
  return Py_TYPE(value.ptr()) == reinterpret_cast<PyTypeObject*>(tensor_class_.ptr()) ||
         py::isinstance(value, tensor_class_);
}

std::optional<dlpack::Tensor> TorchApi::view(const py::handle& tensor) const {
  if (exchange_ == nullptr || Py_TYPE(tensor.ptr()) != reinterpret_cast<PyTypeObject*>(tensor_class_.ptr())) {
    return std::nullopt;
  }
  dlpack::Tensor view{};
  if (exchange_->view_of_object(tensor.ptr(), &view) != 0) {
    PyErr_Clear();
    return std::nullopt;
  }
  return view.device_type == dlpack::kCpu && view.byte_offset == 0 ? std::optional(view) : std::nullopt;
}

std::optional<ScalarType> TorchApi::scalar_type(const dlpack::DataType& dtype) {
  for (const ExchangedType& known : kExchangedTypes) {
    if (known.code == dtype.code && known.bits == dtype.bits && dtype.lanes == 1) {
      return known.type;
    }
  }
  return std::nullopt;
}

std::optional<ScalarType> TorchApi::scalar_type(const py::handle& dtype) const {
  const auto found = types_.find(dtype.ptr());
  return found == types_.end() ? std::nullopt : std::optional(found->second);
}

py::handle TorchApi::dtype(ScalarType type) const {
  const auto index = static_cast<size_t>(type);
  return index < dtypes_.size() ? py::handle(dtypes_[index]) : py::handle();
}

py::object TorchApi::empty_strided(const py::tuple& sizes, const py::tuple& strides, const py::handle& dtype,
                                   void** data) const {
  PyObject* const arguments[] = {sizes.ptr(), strides.ptr(), dtype.ptr()};
  py::object result = called(PyObject_Vectorcall(empty_strided_.ptr(), arguments, 2, dtype_keyword_.ptr()));
  if (const auto made = view(result)) {
    *data = made->data;
  } else {
    const py::object address = called(PyObject_CallMethodNoArgs(result.ptr(), data_ptr_.ptr()));
    *data = reinterpret_cast<void*>(address.cast<uintptr_t>());
  }
  return result;
}

py::object TorchApi::from_buffer(const py::handle& buffer, const py::handle& dtype) const {
  return module_.attr("frombuffer")(buffer, py::arg("dtype") = dtype);
}

}  // namespace pybindings
}  // namespace extension
}  // namespace executorch
