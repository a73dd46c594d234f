// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/pybindings/sources.h>

#include <cstddef>
#include <cstring>
#include <new>
#include <utility>

#include <executorch/extension/data_loader/mmap_data_loader.h>
#include <executorch/extension/data_loader/shared_ptr_data_loader.h>
#include <executorch/extension/pybindings/errors.h>

namespace py = pybind11;

namespace executorch {
namespace extension {
namespace pybindings {

namespace {

/// A program owns its loader; this loader shares another one.
class SharedLoader final : public runtime::DataLoader {
 public:
  explicit SharedLoader(std::shared_ptr<runtime::DataLoader> loader) : loader_(std::move(loader)) {}

  runtime::Result<runtime::FreeableBuffer> load(size_t offset, size_t size, const SegmentInfo& info) const override {
    return loader_->load(offset, size, info);
  }
  runtime::Error load_into(size_t offset, size_t size, const SegmentInfo& info, void* buffer) const override {
    return loader_->load_into(offset, size, info, buffer);
  }
  runtime::Result<size_t> size() const override { return loader_->size(); }

 private:
  std::shared_ptr<runtime::DataLoader> loader_;
};

}  // namespace

Source Source::path(std::string path) {
  if (path.find('\0') != std::string::npos) {  // the system would open another file, whose name ends there
    throw py::value_error("expected a path, found a text with a null character: " + std::string(path.c_str()) +
                          "\\0...");
  }
  Source source;
  source.name_ = std::move(path);
  return source;
}

Source Source::buffer(const py::bytes& bytes) {
  Source source;
  source.name_ = "the buffer";
  source.size_ = static_cast<size_t>(PyBytes_GET_SIZE(bytes.ptr()));
  char* data = PyBytes_AS_STRING(bytes.ptr());
  constexpr size_t kAlignment = alignof(std::max_align_t);
  if (reinterpret_cast<uintptr_t>(data) % kAlignment == 0) {
    PyObject* owner = bytes.ptr();
    Py_INCREF(owner);
    source.data_ = std::shared_ptr<void>(data, [owner](void*) {
      const py::gil_scoped_acquire gil;
      Py_DECREF(owner);
    });
  } else {
    void* copy = ::operator new(source.size_ + 1, std::align_val_t(kAlignment));
    std::memcpy(copy, data, source.size_);
    source.data_ =
        std::shared_ptr<void>(copy, [](void* buffer) { ::operator delete(buffer, std::align_val_t(kAlignment)); });
  }
  return source;
}

Source Source::memory(std::string name, std::shared_ptr<void> data, size_t size) {
  Source source;
  source.name_ = std::move(name);
  source.data_ = std::move(data);
  source.size_ = size;
  return source;
}

Source Source::loader(std::string name, std::shared_ptr<runtime::DataLoader> loader) {
  Source source;
  source.name_ = std::move(name);
  source.loader_ = std::move(loader);
  return source;
}

std::unique_ptr<runtime::DataLoader> Source::open() const {
  if (loader_ != nullptr) {
    return std::make_unique<SharedLoader>(loader_);
  }
  if (data_ != nullptr) {
    return std::make_unique<SharedPtrDataLoader>(data_, size_);
  }
  const LogCapture capture;
  auto loader = MmapDataLoader::from(name_.c_str(), MmapDataLoader::MlockConfig::NoMlock);
  if (!loader.ok()) {
    throw_error("The file cannot be loaded", loader.error(), capture);
  }
  return std::make_unique<MmapDataLoader>(std::move(loader.get()));
}

}  // namespace pybindings
}  // namespace extension
}  // namespace executorch
