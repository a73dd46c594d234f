// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <optional>
#include <unordered_map>

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>  // included in every file, so that all use the same converters of containers

#include <executorch/extension/pybindings/dlpack_exchange.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>

namespace executorch {
namespace extension {
namespace pybindings {

/// The parts of torch that are used; this module neither imports nor links torch. Attributes are looked up once,
/// because a look-up takes as long as a call.
class TorchApi final {
 public:
  /// Null if the process has not imported torch. Needs the GIL.
  static const TorchApi* get();

  /// Whether a value is a torch.Tensor, or of a class derived from it.
  bool is_tensor(const pybind11::handle& value) const;
  /// A tensor's data, shape and strides, valid as long as the tensor. nullopt for a tensor of a derived class, of
  /// another device or layout, or of a torch without the exchange API.
  std::optional<dlpack::Tensor> view(const pybind11::handle& tensor) const;
  /// The dtype of such a view; nullopt if the runtime does not have it.
  static std::optional<aten::ScalarType> scalar_type(const dlpack::DataType& dtype);

  /// The dtype of a tensor; nullopt if the runtime does not have it.
  std::optional<aten::ScalarType> scalar_type(const pybind11::handle& dtype) const;
  /// `torch.float32` and so on; null if torch has none.
  pybind11::handle dtype(aten::ScalarType type) const;
  const pybind11::object& strided() const { return strided_; }

  /// torch.empty_strided(sizes, strides, dtype=dtype); `data` is set to the address of its elements.
  pybind11::object empty_strided(const pybind11::tuple& sizes, const pybind11::tuple& strides,
                                 const pybind11::handle& dtype, void** data) const;
  /// torch.frombuffer(buffer, dtype=dtype)
  pybind11::object from_buffer(const pybind11::handle& buffer, const pybind11::handle& dtype) const;

 private:
  explicit TorchApi(const pybind11::object& torch);

  pybind11::object module_;
  pybind11::object tensor_class_;
  pybind11::object strided_;
  pybind11::object empty_strided_;
  pybind11::tuple dtype_keyword_;
  pybind11::str data_ptr_;
  // dtypes are objects that live as long as torch, one for each type.
  std::array<pybind11::object, static_cast<size_t>(aten::ScalarType::NumOptions)> dtypes_;
  std::unordered_map<PyObject*, aten::ScalarType> types_;
  const dlpack::ExchangeApi* exchange_ = nullptr;
};

}  // namespace pybindings
}  // namespace extension
}  // namespace executorch
