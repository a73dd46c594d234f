// SPDX-License-Identifier: BSD-3-Clause
#include <cstring>
#include <numeric>

#include <executorch/extension/pybindings/errors.h>
#include <executorch/extension/pybindings/tensor_types.h>
#include <executorch/extension/pybindings/torch_api.h>
#include <executorch/extension/pybindings/values.h>
#include <executorch/runtime/core/exec_aten/util/scalar_type_util.h>

namespace py = pybind11;

namespace executorch {
namespace extension {
namespace pybindings {

using aten::DimOrderType;
using aten::ScalarType;
using aten::SizesType;
using runtime::EValue;

namespace {

std::string type_name(const py::handle& value) {
  return py::str(py::type::of(value).attr("__module__")).cast<std::string>() + "." +
         py::str(py::type::of(value).attr("__qualname__")).cast<std::string>();
}

// The dim order that the method expects; contiguous if the method has no dim order, or one of another rank.
std::vector<DimOrderType> expected_dim_order(const runtime::MethodMeta& meta, size_t index, size_t rank) {
  std::vector<DimOrderType> dim_order(rank);
  std::iota(dim_order.begin(), dim_order.end(), 0);
  if (index < meta.num_inputs()) {
    const auto tag = meta.input_tag(index);
    if (tag.ok() && tag.get() == runtime::Tag::Tensor) {
      const auto info = meta.input_tensor_meta(index);
      if (info.ok() && info->dim_order().size() == rank) {
        dim_order.assign(info->dim_order().begin(), info->dim_order().end());
      }
    }
  }
  return dim_order;
}

bool is_dense(const std::vector<SizesType>& sizes, const std::vector<ssize_t>& strides,
              const std::vector<DimOrderType>& dim_order, size_t itemsize) {
  ssize_t step = static_cast<ssize_t>(itemsize);
  for (size_t i = dim_order.size(); i-- > 0;) {
    const size_t dim = dim_order[i];
    if (sizes[dim] == 0) {
      return true;
    }
    if (sizes[dim] != 1 && strides[dim] != step) {
      return false;
    }
    step *= sizes[dim];
  }
  return true;
}

// Copies elements in the order of `dim_order` to `out`, which is advanced.
void copy_in_order(const uint8_t* data, const std::vector<SizesType>& sizes, const std::vector<ssize_t>& strides,
                   const std::vector<DimOrderType>& dim_order, size_t depth, size_t itemsize, uint8_t*& out) {
  if (depth == dim_order.size()) {
    std::memcpy(out, data, itemsize);
    out += itemsize;
    return;
  }
  const size_t dim = dim_order[depth];
  for (SizesType i = 0; i < sizes[dim]; ++i) {
    copy_in_order(data + i * strides[dim], sizes, strides, dim_order, depth + 1, itemsize, out);
  }
}

SizesType checked_size(ssize_t size, size_t index) {
  if (size > INT32_MAX) {
    throw_unsupported_input("input " + std::to_string(index) + ": a dimension of " + std::to_string(size) +
                            " is larger than the runtime's limit of 2147483647");
  }
  return static_cast<SizesType>(size);
}

struct TorchTensor {
  const void* data;
  ScalarType type;
  std::vector<SizesType> sizes;
  std::vector<ssize_t> strides;  // in bytes
};

// Views a tensor without a call into Python. nullopt for tensors that this does not support.
std::optional<TorchTensor> view_torch_tensor(const TorchApi& torch, const py::handle& value, size_t index) {
  const auto view = torch.view(value);
  const auto type = view ? TorchApi::scalar_type(view->dtype) : std::nullopt;
  if (!type) {
    return std::nullopt;
  }
  TorchTensor tensor{view->data, *type, {}, {}};
  const auto rank = static_cast<size_t>(view->ndim);
  tensor.sizes.reserve(rank);
  tensor.strides.reserve(rank);
  for (size_t d = 0; d < rank; ++d) {
    tensor.sizes.push_back(checked_size(static_cast<ssize_t>(view->shape[d]), index));
    tensor.strides.push_back(static_cast<ssize_t>(view->strides[d]) *
                             static_cast<ssize_t>(runtime::elementSize(*type)));
  }
  return tensor;
}

// Reads a tensor by calls into Python. Throws UnsupportedInputError for a tensor that no method can take.
TorchTensor ask_torch_tensor(const TorchApi& torch, const py::handle& value, size_t index) {
  const std::string where = "input " + std::to_string(index) + ": ";
  if (!value.attr("is_cpu").cast<bool>()) {
    throw_unsupported_input(where + "expected a tensor in CPU memory, found one on '" +
                            py::str(value.attr("device").attr("type")).cast<std::string>() + "'; call .cpu()");
  }
  const py::object layout = value.attr("layout");
  const auto type = torch.scalar_type(value.attr("dtype"));
  if (!type || !layout.is(torch.strided())) {
    throw_unsupported_input(where + "expected a dense tensor of a dtype that the runtime has, found " +
                            py::str(layout).cast<std::string>() + " of " +
                            py::str(value.attr("dtype")).cast<std::string>());
  }
  TorchTensor tensor{nullptr, *type, {}, {}};
  const py::object shape = value.attr("shape");
  const py::object element_strides = value.attr("stride")();
  for (const py::handle size : shape) {
    tensor.sizes.push_back(checked_size(size.cast<ssize_t>(), index));
  }
  for (const py::handle stride : element_strides) {
    tensor.strides.push_back(stride.cast<ssize_t>() * static_cast<ssize_t>(runtime::elementSize(*type)));
  }
  tensor.data = reinterpret_cast<const void*>(value.attr("data_ptr")().cast<uintptr_t>());
  return tensor;
}

}  // namespace

Inputs::Inputs(const py::sequence& values, const runtime::MethodMeta& meta) {
  const size_t count = py::len(values);
  evalues_.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    add(values[i], i, meta);
  }
}

TensorLibrary Inputs::output_library() const {
  const bool torch = has_torch_tensor_ || (!has_array_ && TorchApi::get() != nullptr);
  return torch ? TensorLibrary::kTorch : TensorLibrary::kNumpy;
}

void Inputs::add(const py::handle& value, size_t index, const runtime::MethodMeta& meta) {
  if (add_torch_tensor(value, index, meta) || add_array(value, index, meta)) {
    return;
  }
  if (value.is_none()) {
    evalues_.emplace_back();
  } else if (py::isinstance<py::bool_>(value)) {
    evalues_.emplace_back(value.cast<bool>());
  } else if (py::isinstance<py::int_>(value)) {
    int overflow = 0;
    const long long number = PyLong_AsLongLongAndOverflow(value.ptr(), &overflow);
    if (overflow != 0) {
      throw_unsupported_input("input " + std::to_string(index) +
                              ": expected an integer that fits into 64 bits, found a larger one");
    }
    evalues_.emplace_back(static_cast<int64_t>(number));
  } else if (py::isinstance<py::float_>(value)) {
    evalues_.emplace_back(value.cast<double>());
  } else if (py::isinstance<py::str>(value)) {
    Py_ssize_t size = 0;
    const char* const text = PyUnicode_AsUTF8AndSize(value.ptr(), &size);
    if (text == nullptr) {
      throw py::error_already_set();  // names the character that has no UTF-8
    }
    strings_.emplace_back(text, static_cast<size_t>(size));
    string_refs_.emplace_back(strings_.back().data(), strings_.back().size());
    evalues_.emplace_back(&string_refs_.back());
  } else {
    const bool nested =
        py::isinstance<py::list>(value) || py::isinstance<py::tuple>(value) || py::isinstance<py::dict>(value);
    throw_unsupported_input("input " + std::to_string(index) +
                            ": expected a numpy array, a torch tensor, an int, float, bool, str or None, found " +
                            type_name(value) +
                            (nested ? "; pass the leaves of nested inputs in order (sdk.extension.pytree.tree_flatten)"
                                    : "; convert it with numpy.asarray"));
  }
}

void Inputs::add_tensor(const void* data, ScalarType type, std::vector<SizesType> sizes,
                        const std::vector<ssize_t>& strides, size_t index, const runtime::MethodMeta& meta) {
  std::vector<DimOrderType> dim_order = expected_dim_order(meta, index, sizes.size());
  const size_t itemsize = runtime::elementSize(type);
  if (is_dense(sizes, strides, dim_order, itemsize)) {
    // Methods read their inputs, they never write to them.
    tensors_.push_back(make_tensor_ptr(std::move(sizes), const_cast<void*>(data), std::move(dim_order), {}, type));
  } else {
    size_t nbytes = itemsize;
    for (const SizesType size : sizes) {
      nbytes *= static_cast<size_t>(size);
    }
    std::vector<uint8_t> copy(nbytes);
    uint8_t* out = copy.data();
    copy_in_order(static_cast<const uint8_t*>(data), sizes, strides, dim_order, 0, itemsize, out);
    tensors_.push_back(make_tensor_ptr(std::move(sizes), std::move(copy), std::move(dim_order), {}, type));
  }
  evalues_.emplace_back(*tensors_.back());
}

void Inputs::check_dtype(ScalarType type, bool is_array, size_t index, const runtime::MethodMeta& meta) {
  if (!conversion_.empty() || index >= meta.num_inputs() || meta.input_tag(index).get() != runtime::Tag::Tensor) {
    return;
  }
  const auto expected = meta.input_tensor_meta(index);
  if (!expected.ok() || expected->scalar_type() == type) {
    return;
  }
  const std::string dtype = dtype_name(expected->scalar_type());
  const std::string in_numpy = dtype == "bool" ? dtype : "np." + dtype;
  conversion_ = " (input " + std::to_string(index) + " is " + dtype_name(type) + ": convert it with " +
                (is_array ? ".astype(" + in_numpy + ")" : ".to(torch." + dtype + ")") + ")";
}

bool Inputs::add_torch_tensor(const py::handle& value, size_t index, const runtime::MethodMeta& meta) {
  const TorchApi* const torch = TorchApi::get();
  if (torch == nullptr || !torch->is_tensor(value)) {
    return false;
  }
  std::optional<TorchTensor> tensor = view_torch_tensor(*torch, value, index);
  if (!tensor) {
    tensor = ask_torch_tensor(*torch, value, index);
  }
  owners_.push_back(py::reinterpret_borrow<py::object>(value));
  has_torch_tensor_ = true;
  check_dtype(tensor->type, /*is_array=*/false, index, meta);
  add_tensor(tensor->data, tensor->type, std::move(tensor->sizes), tensor->strides, index, meta);
  return true;
}

bool Inputs::add_array(const py::handle& value, size_t index, const runtime::MethodMeta& meta) {
  if (PyLong_Check(value.ptr()) || PyFloat_CheckExact(value.ptr()) || PyUnicode_Check(value.ptr()) || value.is_none()) {
    return false;  // without asking numpy, which would import it
  }
  py::object array = py::reinterpret_borrow<py::object>(value);
  if (!py::isinstance<py::array>(value)) {
    // numpy's scalars are arrays without dimensions; tensors of other libraries say how to become arrays.
    if (py::hasattr(value, "dtype") && py::hasattr(value, "__array__") && !PyFloat_Check(value.ptr())) {
      array = py::module_::import("numpy").attr("asarray")(value);
    } else if (py::hasattr(value, "__dlpack__")) {
      array = py::module_::import("numpy").attr("from_dlpack")(value);
    } else {
      return false;
    }
  }
  auto typed = py::reinterpret_borrow<py::array>(array);
  const auto type = scalar_type_of_numpy(typed.dtype());
  if (!type) {
    throw_unsupported_input("input " + std::to_string(index) + ": the runtime has no dtype like numpy's '" +
                            py::str(typed.dtype()).cast<std::string>() + "'");
  }
  std::vector<SizesType> sizes;
  std::vector<ssize_t> strides;
  for (ssize_t i = 0; i < typed.ndim(); ++i) {
    sizes.push_back(checked_size(typed.shape(i), index));
    strides.push_back(typed.strides(i));
  }
  owners_.push_back(array);
  has_array_ = true;
  check_dtype(*type, /*is_array=*/true, index, meta);
  add_tensor(typed.data(), *type, std::move(sizes), strides, index, meta);
  return true;
}

}  // namespace pybindings
}  // namespace extension
}  // namespace executorch
