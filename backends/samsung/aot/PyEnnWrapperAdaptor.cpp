// SPDX-License-Identifier: BSD-3-Clause
// EnnWrapper: Samsung's compiler, graphgen, which makes the network of a serialised graph. Compiled with the headers of
// the SDK, whose layouts are not public.
#include <graphgen_c.h>
#include <graphgen_common.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>

namespace py = pybind11;

namespace {

class EnnWrapper {
 public:
  EnnWrapper() = default;
  EnnWrapper(const EnnWrapper&) = delete;
  EnnWrapper& operator=(const EnnWrapper&) = delete;
  ~EnnWrapper() { destroy(); }

  /// Takes the bytes of gen_samsung_backend_compile_spec(), which end with the number of the chip.
  void init(const py::bytes& options) {
    const std::string bytes = options;
    if (bytes.size() < sizeof(int32_t)) {
      throw std::invalid_argument("the options have " + std::to_string(bytes.size()) + " bytes");
    }
    std::memcpy(&chip_, bytes.data() + bytes.size() - sizeof(chip_), sizeof(chip_));
    destroy();
    compiler_ = graphgen_create();
    if (compiler_ == nullptr) {
      throw std::runtime_error("graphgen_create of Samsung's SDK failed");
    }
  }

  bool takes_other_calls() const { return false; }

  py::bytes compile(const py::buffer& graph) {
    if (compiler_ == nullptr) {
      throw std::runtime_error("Init() comes before Compile()");
    }
    if (graphgen_initialize_context(compiler_, chip_) != GraphGenResult::SUCCESS) {
      throw std::runtime_error("Samsung's compiler has no chip " + std::to_string(chip_));
    }
    const py::buffer_info given = graph.request();
    NNCBuffer* network = nullptr;
    const auto size = static_cast<size_t>(given.size * given.itemsize);
    if (graphgen_generate(compiler_, static_cast<uint8_t*>(given.ptr), size, &network) != GraphGenResult::SUCCESS ||
        network == nullptr) {
      throw std::runtime_error("Samsung's compiler could not compile the graph; its log says why");
    }
    py::bytes made(reinterpret_cast<const char*>(network->addr), static_cast<size_t>(network->size));
    graphgen_release_buffer(compiler_, network);
    return made;
  }

  void destroy() {
    if (compiler_ != nullptr) {
      graphgen_release(compiler_);
      compiler_ = nullptr;
    }
  }

 private:
  void* compiler_ = nullptr;
  int32_t chip_ = 0;
};

}  // namespace

PYBIND11_MODULE(PyEnnWrapperAdaptor, module) {
  py::class_<EnnWrapper>(module, "EnnWrapper")
      .def(py::init())
      .def("Init", &EnnWrapper::init)
      .def("IsNodeSupportedByBackend", &EnnWrapper::takes_other_calls)
      .def("Compile", &EnnWrapper::compile)
      .def("Destroy", &EnnWrapper::destroy);
}
