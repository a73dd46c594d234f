// SPDX-License-Identifier: BSD-3-Clause
#include <cstring>
#include <memory>

#include <pybind11/stl.h>

#include <executorch/extension/pybindings/tensor_types.h>
#include <executorch/extension/pybindings/torch_api.h>
#include <executorch/extension/pybindings/values.h>
#include <executorch/runtime/core/exec_aten/util/scalar_type_util.h>

namespace py = pybind11;

namespace executorch {
namespace extension {
namespace pybindings {

using aten::ScalarType;
using runtime::EValue;
using runtime::Tag;

namespace {

struct Layout {
  std::vector<ssize_t> sizes;
  std::vector<ssize_t> strides;  // in elements
};

Layout layout_of(const aten::Tensor& tensor) {
  return {{tensor.sizes().begin(), tensor.sizes().end()}, {tensor.strides().begin(), tensor.strides().end()}};
}

// An array over `data` that keeps `owner` alive.
py::array array_over(const py::dtype& dtype, const Layout& layout, const void* data, const py::object& owner) {
  std::vector<ssize_t> byte_strides(layout.strides);
  for (ssize_t& stride : byte_strides) {
    stride *= dtype.itemsize();
  }
  return py::array(dtype, layout.sizes, byte_strides, data, owner);
}

py::capsule new_buffer(size_t nbytes, void** data) {
  *data = ::operator new(nbytes > 0 ? nbytes : 1);
  return py::capsule(*data, [](void* buffer) { ::operator delete(buffer); });
}

py::object to_numpy(const aten::Tensor& tensor, bool clone, const py::object& owner) {
  const Layout layout = layout_of(tensor);
  const auto dtype = numpy_dtype_of(tensor.scalar_type());
  if (dtype && !clone) {
    return array_over(*dtype, layout, tensor.const_data_ptr(), owner);
  }
  void* data = nullptr;
  if (dtype) {
    const py::capsule buffer = new_buffer(tensor.nbytes(), &data);
    std::memcpy(data, tensor.const_data_ptr(), tensor.nbytes());
    return array_over(*dtype, layout, data, buffer);
  }
  if (tensor.scalar_type() != ScalarType::BFloat16) {
    throw py::type_error("numpy has no dtype for an output of " + dtype_name(tensor.scalar_type()) +
                         "; pass torch tensors to get torch tensors");
  }
  // numpy itself has no bfloat16: float32 holds the same values.
  const TensorPtr wide = clone_tensor_ptr(tensor, ScalarType::Float);
  const py::capsule buffer = new_buffer(wide->nbytes(), &data);
  std::memcpy(data, wide->const_data_ptr(), wide->nbytes());
  return array_over(py::dtype("float32"), layout, data, buffer);
}

template <typename List>
py::tuple to_tuple(const List& list) {
  py::tuple result(list.size());
  for (size_t i = 0; i < list.size(); ++i) {
    PyTuple_SET_ITEM(result.ptr(), static_cast<ssize_t>(i), PyLong_FromSsize_t(list[i]));
  }
  return result;
}

py::object to_torch(const aten::Tensor& tensor, bool clone, const py::object& owner) {
  const TorchApi* const torch = TorchApi::get();
  const py::handle dtype = torch == nullptr ? py::handle() : torch->dtype(tensor.scalar_type());
  if (!dtype) {
    throw py::type_error("torch has no dtype for an output of " + dtype_name(tensor.scalar_type()));
  }
  const py::tuple sizes = to_tuple(tensor.sizes());
  const py::tuple strides = to_tuple(tensor.strides());
  if (clone || tensor.numel() == 0) {
    void* data = nullptr;
    py::object result = torch->empty_strided(sizes, strides, dtype, &data);
    if (tensor.nbytes() > 0) {
      std::memcpy(data, tensor.const_data_ptr(), tensor.nbytes());
    }
    return result;
  }
  // Reads bytes as elements and sets the shape. This works for dtypes that numpy does not have.
  const Layout bytes{{static_cast<ssize_t>(tensor.nbytes())}, {1}};
  const py::array view = array_over(py::dtype("uint8"), bytes, tensor.const_data_ptr(), owner);
  return torch->from_buffer(view, dtype).attr("as_strided")(sizes, strides);
}

template <typename List, typename Convert>
py::list to_list(const List& items, Convert&& convert) {
  py::list result;
  for (const auto& item : items) {
    result.append(convert(item));
  }
  return result;
}

}  // namespace

py::object to_python(const EValue& value, TensorLibrary library, bool clone, const py::object& owner) {
  const auto tensor = [&](const aten::Tensor& item) -> py::object {
    if (item.const_data_ptr() == nullptr && item.nbytes() > 0) {
      throw py::value_error("this output has no data: run the method first");
    }
    return library == TensorLibrary::kTorch ? to_torch(item, clone, owner) : to_numpy(item, clone, owner);
  };
  const auto scalar = [](auto item) -> py::object { return py::cast(item); };
  switch (value.tag) {
    case Tag::None:
      return py::none();
    case Tag::Bool:
      return py::bool_(value.toBool());
    case Tag::Int:
      return py::int_(value.toInt());
    case Tag::Double:
      return py::float_(value.toDouble());
    case Tag::String:
      return py::str(value.toString().data(), value.toString().size());
    case Tag::Tensor:
      return tensor(value.toTensor());
    case Tag::ListBool:
      return to_list(value.toBoolList(), scalar);
    case Tag::ListInt:
      return to_list(value.toIntList(), scalar);
    case Tag::ListDouble:
      return to_list(value.toDoubleList(), scalar);
    case Tag::ListTensor:
      return to_list(value.toTensorList(), tensor);
    case Tag::ListOptionalTensor:
      return to_list(value.toListOptionalTensor(), [&](const std::optional<aten::Tensor>& item) -> py::object {
        return item.has_value() ? tensor(*item) : py::none();
      });
    default:
      throw py::type_error("an output of type " + std::string(runtime::tag_to_string(value.tag)) +
                           " has no counterpart in Python");
  }
}

}  // namespace pybindings
}  // namespace extension
}  // namespace executorch
