// SPDX-License-Identifier: BSD-3-Clause
// One delegated part of a method: a compiled model of OpenVINO, and its infer requests.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/exec_aten/util/tensor_dimension_limit.h>
#include <executorch/runtime/core/named_data_map.h>

#include "library.h"
#include "options.h"
#include "owned.h"

namespace executorch {
namespace backends {
namespace openvino {

/// An input or output of a compiled model. Its dims are in memory order.
struct Port {
  OvType type;
  runtime::etensor::ScalarType scalar_type;
  bool has_rank = false;
  std::vector<OvDimension> dims;

  bool is_static() const;
  /// "[1, 3, 1..8, ?]".
  std::string text() const;
};

class Delegate final {
 public:
  Delegate(const Library& library, const OvCore* core, Options options)
      : library_(library), core_(core), options_(std::move(options)), model_(nullptr, {&library}) {}

  /**
   * Imports the payload. If OpenVINO refuses it, because it was made by another release or for another device, compiles
   * the IR in `data`, if that exists, and logs this in one line.
   *
   * @param payload Not used after the call.
   * @param data May be null.
   */
  runtime::Error load(const void* payload, size_t size, const runtime::NamedDataMap* data);

  /// May be called by several threads at once: each uses a separate request.
  runtime::Error execute(runtime::Span<runtime::EValue*> args);

 private:
  /// The memory that an earlier call bound to an input or output of a request: the same memory is not bound again.
  struct Binding {
    const void* data = nullptr;
    std::vector<int64_t> shape;
    int64_t number = 0;  ///< the value of an input that is an int
  };
  struct Request {
    OwnedRequest request;
    std::vector<Binding> inputs;
    std::vector<Binding> outputs;
  };
  /// Sizes, outermost in memory first.
  struct Shape {
    std::array<int64_t, runtime::kTensorDimensionLimit> sizes;
    size_t rank;
  };

  runtime::Error compile_ir(const std::string& refusal, const std::string& key, const runtime::NamedDataMap& data);
  runtime::Error read_ports();
  runtime::Result<Port> read_port(OvConstPort* port, const char* what, size_t index) const;
  runtime::Result<std::unique_ptr<Request>> make_request() const;
  runtime::Result<std::unique_ptr<Request>> take_request();
  runtime::Error run(Request& request, runtime::Span<runtime::EValue*> args);
  runtime::Error bind_input(Request& request, size_t index, const runtime::EValue& value);
  runtime::Error bind_output(Request& request, size_t index, const runtime::EValue& value);
  runtime::Error bind(Request& request, bool is_input, size_t index, const void* data, Shape shape);
  runtime::Error fetch_output(Request& request, size_t index, const runtime::EValue& value);
  runtime::Error resize_output(size_t index, const runtime::EValue& value, const Shape& shape) const;

  const Library& library_;
  const OvCore* core_;
  Options options_;
  std::optional<runtime::FreeableBuffer> weights_;  ///< of an IR; must outlive the model
  OwnedCompiledModel model_;
  std::vector<Port> inputs_;
  std::vector<Port> outputs_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Request>> free_requests_;
};

}  // namespace openvino
}  // namespace backends
}  // namespace executorch
