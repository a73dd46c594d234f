// SPDX-License-Identifier: BSD-3-Clause
// The graph that Samsung's compiler gets, by the functions of the SDK's library graph_wrapper. Compiled with the
// headers of the SDK, whose layouts are not public.
#include <common-types.h>
#include <graph_wrapper_api.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace py = pybind11;

namespace {

void check(GraphWrapperReturn code, const char* function) {
  if (code != GraphWrapperReturn::SUCCESS) {
    throw std::runtime_error(std::string(function) + " of Samsung's SDK failed with the code " +
                             std::to_string(static_cast<int>(code)));
  }
}

ParamWrapper wrapped(const void* data, size_t size, bool is_scalar, ScalarType type) {
  ParamWrapper made;
  made.data = const_cast<void*>(data);
  made.size = static_cast<uint32_t>(size);
  made.is_scalar = is_scalar;
  made.type = type;
  return made;
}

/// A parameter of a call: numbers that are not negative are unsigned where they fit, as in ExecuTorch.
class Parameter {
 public:
  explicit Parameter(std::string key) : key_(std::move(key)) {}

  void set_text(const std::string& text) { store(text.data(), text.size(), sizeof(char), false, ScalarType::CHAR); }
  void set_bool(bool value) { store(&value, 1, sizeof(value), true, ScalarType::BOOL); }
  void set_float(double value) { store(&value, 1, sizeof(value), true, ScalarType::FLOAT64); }
  void set_integer(int64_t value) { set_integers({value}, true); }
  void set_floats(const std::vector<double>& values) {
    store(values.data(), values.size(), sizeof(double), false, ScalarType::FLOAT64);
  }
  void set_list(const std::vector<int64_t>& values) { set_integers(values, false); }

  const std::string& key() const { return key_; }
  ParamWrapper value() const { return wrapped(bytes_.data(), count_, is_scalar_, type_); }

 private:
  template <typename T>
  static bool fit(const std::vector<int64_t>& values) {
    for (const int64_t value : values) {
      if (value < static_cast<int64_t>(std::numeric_limits<T>::min()) ||
          value > static_cast<int64_t>(std::numeric_limits<T>::max())) {
        return false;
      }
    }
    return true;
  }

  void set_integers(const std::vector<int64_t>& values, bool is_scalar) {
    if (fit<uint32_t>(values)) {
      const std::vector<uint32_t> narrow(values.begin(), values.end());
      store(narrow.data(), narrow.size(), sizeof(uint32_t), is_scalar, ScalarType::UINT32);
    } else if (fit<int32_t>(values)) {
      const std::vector<int32_t> narrow(values.begin(), values.end());
      store(narrow.data(), narrow.size(), sizeof(int32_t), is_scalar, ScalarType::INT32);
    } else {
      store(values.data(), values.size(), sizeof(int64_t), is_scalar, ScalarType::INT64);
    }
  }

  void store(const void* data, size_t count, size_t size, bool is_scalar, ScalarType type) {
    const auto* const first = static_cast<const uint8_t*>(data);
    bytes_.assign(first, first + count * size);
    count_ = count;
    is_scalar_ = is_scalar;
    type_ = type;
  }

  std::string key_;
  std::vector<uint8_t> bytes_;
  size_t count_ = 0;
  bool is_scalar_ = false;
  ScalarType type_ = ScalarType::UNKNOWN;
};

struct Tensor {
  std::string name;
  std::vector<DIM_T> shape;
  std::string dtype;
  std::string layout;
  bool is_quantized = false;
  std::string quantized_dtype;
  std::vector<float> scales;
  std::vector<int32_t> zero_points;
  std::vector<uint8_t> data;

  void quantize(std::string dtype_name, std::vector<float> given, std::vector<int32_t> zeros) {
    is_quantized = true;
    quantized_dtype = std::move(dtype_name);
    scales = std::move(given);
    zero_points = std::move(zeros);
  }

  void add_data(const py::array& array) {
    const py::array contiguous = py::array::ensure(array, py::array::c_style);
    const auto* const first = static_cast<const uint8_t*>(contiguous.data());
    data.assign(first, first + contiguous.nbytes());
  }
};

struct Call {
  std::string name;
  std::string type;
  std::vector<TENSOR_ID_T> inputs;
  std::vector<TENSOR_ID_T> outputs;
  std::vector<Parameter> parameters;
};

class Graph {
 public:
  Graph() = default;
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  ~Graph() {
    if (is_made_) {
      release_graph(graph_);
    }
  }

  void init() {
    if (!is_made_) {
      graph_ = create_graph("");
      is_made_ = true;
    }
  }

  TENSOR_ID_T define(const Tensor& tensor) {
    TENSOR_ID_T id;
    check(define_tensor(graph_, &id, tensor.name.c_str(), tensor.shape.data(), tensor.shape.size(),
                        tensor.dtype.c_str(), tensor.layout.c_str()),
          "define_tensor");
    if (!tensor.data.empty()) {
      check(set_data_for_constant_tensor(graph_, id, tensor.data.data(), tensor.data.size()),
            "set_data_for_constant_tensor");
    }
    if (tensor.is_quantized) {
      check(set_quantize_param_for_tensor(
                graph_, id, tensor.quantized_dtype.c_str(),
                wrapped(tensor.scales.data(), tensor.scales.size(), false, ScalarType::FLOAT32),
                wrapped(tensor.zero_points.data(), tensor.zero_points.size(), false, ScalarType::INT32)),
            "set_quantize_param_for_tensor");
    }
    return id;
  }

  NODE_ID_T define(const Call& call) {
    NODE_ID_T id;
    check(define_op_node(graph_, &id, call.name.c_str(), call.type.c_str(), call.inputs.data(), call.inputs.size(),
                         call.outputs.data(), call.outputs.size()),
          "define_op_node");
    for (const Parameter& parameter : call.parameters) {
      add_op_parameter(graph_, id, parameter.key().c_str(), parameter.value());
    }
    return id;
  }

  void set_inputs(const std::vector<TENSOR_ID_T>& ids) {
    check(set_graph_input_tensors(graph_, ids.data(), ids.size()), "set_graph_input_tensors");
  }
  void set_outputs(const std::vector<TENSOR_ID_T>& ids) {
    check(set_graph_output_tensors(graph_, ids.data(), ids.size()), "set_graph_output_tensors");
  }
  void finish() { check(finish_build_graph(graph_), "finish_build_graph"); }

  py::bytes bytes() {
    uint64_t size = 0;
    uint8_t* data = nullptr;
    check(serialize(graph_, &data, &size), "serialize");
    if (data == nullptr || size == 0) {
      throw std::runtime_error("serialize of Samsung's SDK gave no bytes");
    }
    return py::bytes(reinterpret_cast<const char*>(data), size);
  }

 private:
  GraphHandler graph_{};
  bool is_made_ = false;
};

}  // namespace

PYBIND11_MODULE(PyGraphWrapperAdaptor, module) {
  // For functions with the same name, pybind11 takes the first whose argument needs no conversion.
  py::class_<Parameter>(module, "OpParamWrapper")
      .def(py::init<std::string>())
      .def("SetStringValue", &Parameter::set_text)
      .def("SetScalarValue", &Parameter::set_bool, py::arg("value").noconvert())
      .def("SetScalarValue", &Parameter::set_integer, py::arg("value").noconvert())
      .def("SetScalarValue", &Parameter::set_float)
      .def("SetVectorValue", &Parameter::set_list, py::arg("values").noconvert())
      .def("SetVectorValue", &Parameter::set_floats);
  py::class_<Tensor>(module, "PyEnnTensorWrapper")
      .def(py::init([](std::string name, std::vector<DIM_T> shape, std::string dtype, std::string layout) {
        Tensor made;
        made.name = std::move(name);
        made.shape = std::move(shape);
        made.dtype = std::move(dtype);
        made.layout = std::move(layout);
        return made;
      }))
      .def("AddQuantizeParam", &Tensor::quantize)
      .def("AddData", &Tensor::add_data);
  py::class_<Call>(module, "PyEnnOpWrapper")
      .def(py::init(
          [](std::string name, std::string type, std::vector<TENSOR_ID_T> inputs, std::vector<TENSOR_ID_T> outputs) {
            return Call{std::move(name), std::move(type), std::move(inputs), std::move(outputs), {}};
          }))
      .def("AddOpParam", [](Call& call, const Parameter& parameter) { call.parameters.push_back(parameter); });
  py::class_<Graph>(module, "PyEnnGraphWrapper")
      .def(py::init())
      .def("Init", &Graph::init)
      .def("DefineTensor", py::overload_cast<const Tensor&>(&Graph::define))
      .def("DefineOpNode", py::overload_cast<const Call&>(&Graph::define))
      .def("SetGraphInputTensors", &Graph::set_inputs)
      .def("SetGraphOutputTensors", &Graph::set_outputs)
      .def("FinishBuild", &Graph::finish)
      .def("Serialize", &Graph::bytes);
}
