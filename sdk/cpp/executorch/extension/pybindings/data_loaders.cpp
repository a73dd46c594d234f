// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/pybindings/data_loaders.h>

#include <cstring>
#include <new>
#include <string>
#include <utility>

#include <executorch/extension/pybindings/sources.h>

namespace py = pybind11;

namespace executorch {
namespace extension {
namespace pybindings {

using runtime::DataLoader;
using runtime::Error;
using runtime::FreeableBuffer;
using runtime::Result;

namespace {

/// Reads through the functions `size()` and `load(offset, size)` of a Python object. Takes the GIL for each call.
class PythonLoader final : public DataLoader {
 public:
  explicit PythonLoader(py::object reader) : reader_(std::move(reader)) {}
  ~PythonLoader() override {
    const py::gil_scoped_acquire gil;
    reader_ = py::object();
  }

  Result<FreeableBuffer> load(size_t offset, size_t size, const SegmentInfo&) const override {
    ET_ASSIGN_OR_RETURN(data, read(offset, size));
    auto* owner = new (std::nothrow) std::shared_ptr<void>(std::move(data));
    ET_CHECK_OR_RETURN_ERROR(owner != nullptr, MemoryAllocationFailed, "out of memory");
    return FreeableBuffer(
        owner->get(), size, [](void* context, void*, size_t) { delete static_cast<std::shared_ptr<void>*>(context); },
        owner);
  }

  Error load_into(size_t offset, size_t size, const SegmentInfo&, void* buffer) const override {
    ET_CHECK_OR_RETURN_ERROR(buffer != nullptr, InvalidArgument, "load_into() was given no buffer");
    ET_ASSIGN_OR_RETURN(data, read(offset, size));
    std::memcpy(buffer, data.get(), size);
    return Error::Ok;
  }

  Result<size_t> size() const override {
    return call<size_t>("size()", [&]() -> Result<size_t> { return reader_.attr("size")().cast<size_t>(); });
  }

 private:
  // An exception of the Python code becomes an error with its text.
  template <typename T, typename Function>
  static Result<T> call(const char* what, Function&& function) {
    const py::gil_scoped_acquire gil;
    std::string text;
    try {
      return function();
    } catch (const py::error_already_set& error) {
      text = error.what();
    } catch (const py::cast_error&) {
      text = "it returned a value of a wrong type";
    }
    ET_LOG(Error, "The data loader's %s failed: %s", what, text.c_str());
    return Error::AccessFailed;
  }

  Result<std::shared_ptr<void>> read(size_t offset, size_t size) const {
    using Data = std::shared_ptr<void>;
    return call<Data>("load()", [&]() -> Result<Data> {
      const py::object data = reader_.attr("load")(offset, size);
      const auto bytes = py::reinterpret_steal<py::bytes>(PyBytes_FromObject(data.ptr()));
      if (!bytes) {
        throw py::error_already_set();
      }
      const auto found = static_cast<size_t>(PyBytes_GET_SIZE(bytes.ptr()));
      ET_CHECK_OR_RETURN_ERROR(found == size, AccessFailed,
                               "The data loader's load() returned %zu bytes, expected %zu from offset %zu", found, size,
                               offset);
      return Data(Source::buffer(bytes).data());
    });
  }

  py::object reader_;
};

PyDataLoader from_python(const py::object& reader) {
  for (const char* name : {"size", "load"}) {
    if (!py::hasattr(reader, name) || PyCallable_Check(reader.attr(name).ptr()) == 0) {
      throw py::type_error(std::string("a data loader needs a function ") + name +
                           "(): expected an object with size() and load(offset, size)");
    }
  }
  return PyDataLoader{std::make_shared<PythonLoader>(reader)};
}

}  // namespace

void bind_data_loaders(py::module_& m) {
  py::class_<PyDataLoader>(m, "PyDataLoader", "A source of programs: for example a file in your own format.")
      .def(py::init(&from_python), py::arg("reader"),
           "`reader` has the functions size(), the bytes of the program, and load(offset, size), which returns that "
           "part of them as bytes. They may be called from several threads.");
}

}  // namespace pybindings
}  // namespace extension
}  // namespace executorch
