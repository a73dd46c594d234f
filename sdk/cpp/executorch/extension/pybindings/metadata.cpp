// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/pybindings/metadata.h>

#include <executorch/extension/pybindings/errors.h>
#include <executorch/runtime/core/exec_aten/util/scalar_type_util.h>

namespace py = pybind11;

namespace executorch {
namespace extension {
namespace pybindings {

using runtime::MethodMeta;
using runtime::Result;
using runtime::Tag;
using runtime::TensorInfo;

namespace {

struct PyTensorInfo {
  std::shared_ptr<runtime::Program> program;
  TensorInfo info;
};

using InfoGetter = Result<TensorInfo> (MethodMeta::*)(size_t) const;
using TagGetter = Result<Tag> (MethodMeta::*)(size_t) const;

using Count = size_t (MethodMeta::*)() const;

PyTensorInfo tensor_info(const PyMethodMeta& self, InfoGetter getter, Count count, size_t index, const char* what) {
  if (const size_t found = (self.meta.*count)(); index >= found) {
    throw py::index_error(std::string(what) + " " + std::to_string(index) + ": method '" + self.meta.name() + "' has " +
                          std::to_string(found));
  }
  const LogCapture capture;
  const Result<TensorInfo> info = (self.meta.*getter)(index);
  if (!info.ok()) {
    throw_error(std::string(what) + " " + std::to_string(index) + " of method '" + self.meta.name() +
                    "' has no tensor metadata",
                info.error(), capture);
  }
  return PyTensorInfo{self.program, info.get()};
}

std::string describe(const TensorInfo& info) {
  std::string sizes;
  for (const int32_t size : info.sizes()) {
    sizes += (sizes.empty() ? "" : ", ") + std::to_string(size);
  }
  return "TensorInfo(sizes=[" + sizes + "], dtype=" + runtime::toString(info.scalar_type()) +
         ", is_memory_planned=" + (info.is_memory_planned() ? "True" : "False") +
         ", nbytes=" + std::to_string(info.nbytes()) + ")";
}

// A quoted entry for each value: its tensor metadata, or the name of its type.
std::string describe_values(const MethodMeta& meta, size_t count, TagGetter tag_getter, InfoGetter info_getter) {
  std::string text;
  for (size_t i = 0; i < count; ++i) {
    const Result<Tag> tag = (meta.*tag_getter)(i);
    text += i > 0 ? ", '" : "'";
    if (tag.ok() && tag.get() == Tag::Tensor) {
      const Result<TensorInfo> info = (meta.*info_getter)(i);
      text += info.ok() ? describe(info.get()) : "Tensor";
    } else {
      text += tag.ok() ? runtime::tag_to_string(tag.get()) : "unknown";
    }
    text += "'";
  }
  return "[" + text + "]";
}

std::string describe(const PyMethodMeta& self) {
  const MethodMeta& meta = self.meta;
  return std::string("MethodMeta(name='") + meta.name() + "', num_inputs=" + std::to_string(meta.num_inputs()) +
         ", input_tensor_meta=" +
         describe_values(meta, meta.num_inputs(), &MethodMeta::input_tag, &MethodMeta::input_tensor_meta) +
         ", num_outputs=" + std::to_string(meta.num_outputs()) + ", output_tensor_meta=" +
         describe_values(meta, meta.num_outputs(), &MethodMeta::output_tag, &MethodMeta::output_tensor_meta) + ")";
}

std::string tag_name(const PyMethodMeta& self, TagGetter getter, size_t index, const char* what) {
  const LogCapture capture;
  const Result<Tag> tag = (self.meta.*getter)(index);
  if (!tag.ok()) {
    throw_error("method '" + std::string(self.meta.name()) + "' has no " + what + " " + std::to_string(index),
                tag.error(), capture);
  }
  return runtime::tag_to_string(tag.get());
}

}  // namespace

void bind_metadata(py::module_& m) {
  py::class_<PyTensorInfo>(m, "TensorInfo", "dtype, sizes and memory of one input or output.")
      .def(
          "sizes",
          [](const PyTensorInfo& self) {
            py::tuple sizes(self.info.sizes().size());
            for (size_t i = 0; i < sizes.size(); ++i) {
              sizes[i] = self.info.sizes()[i];
            }
            return sizes;
          },
          "Sizes by dimension; upper bounds where the shape is dynamic.")
      .def(
          "dim_order",
          [](const PyTensorInfo& self) {
            py::tuple dim_order(self.info.dim_order().size());
            for (size_t i = 0; i < dim_order.size(); ++i) {
              dim_order[i] = static_cast<int>(self.info.dim_order()[i]);
            }
            return dim_order;
          },
          "Dimensions from the outermost in memory to the innermost.")
      .def(
          "dtype", [](const PyTensorInfo& self) { return static_cast<int>(self.info.scalar_type()); },
          "PyTorch's number of the dtype (sdk.exir.scalar_type.ScalarType).")
      .def(
          "is_memory_planned", [](const PyTensorInfo& self) { return self.info.is_memory_planned(); },
          "Whether its memory was planned at export.")
      .def(
          "nbytes", [](const PyTensorInfo& self) { return self.info.nbytes(); }, "Size in bytes at these sizes.")
      .def("__repr__", [](const PyTensorInfo& self) { return describe(self.info); });

  py::class_<PyMethodMeta>(m, "MethodMeta", "The metadata of a method.")
      .def("name", [](const PyMethodMeta& self) { return self.meta.name(); })
      .def("num_inputs", [](const PyMethodMeta& self) { return self.meta.num_inputs(); })
      .def("num_outputs", [](const PyMethodMeta& self) { return self.meta.num_outputs(); })
      .def(
          "num_attributes", [](const PyMethodMeta& self) { return self.meta.num_attributes(); },
          "Number of named mutable buffers.")
      .def(
          "input_tag",
          [](const PyMethodMeta& self, size_t index) { return tag_name(self, &MethodMeta::input_tag, index, "input"); },
          py::arg("index"), "The type of an input: 'Tensor', 'Int', 'Double', ...")
      .def(
          "output_tag",
          [](const PyMethodMeta& self, size_t index) {
            return tag_name(self, &MethodMeta::output_tag, index, "output");
          },
          py::arg("index"), "The type of an output: 'Tensor', 'Int', 'Double', ...")
      .def(
          "input_tensor_meta",
          [](const PyMethodMeta& self, size_t index) {
            return tensor_info(self, &MethodMeta::input_tensor_meta, &MethodMeta::num_inputs, index, "input");
          },
          py::arg("index"), "TensorInfo of an input; an error if it is not a tensor.")
      .def(
          "output_tensor_meta",
          [](const PyMethodMeta& self, size_t index) {
            return tensor_info(self, &MethodMeta::output_tensor_meta, &MethodMeta::num_outputs, index, "output");
          },
          py::arg("index"), "TensorInfo of an output; an error if it is not a tensor.")
      .def(
          "attribute_tensor_meta",
          [](const PyMethodMeta& self, size_t index) {
            return tensor_info(self, &MethodMeta::attribute_tensor_meta, &MethodMeta::num_attributes, index,
                               "attribute");
          },
          py::arg("index"), "TensorInfo of a named mutable buffer.")
      .def("__repr__", [](const PyMethodMeta& self) { return describe(self); });
}

}  // namespace pybindings
}  // namespace extension
}  // namespace executorch
