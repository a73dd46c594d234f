// SPDX-License-Identifier: BSD-3-Clause
#include "context.h"

#include <cinttypes>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include <executorch/runtime/core/checked_size.h>
#include <executorch/runtime/core/exec_aten/util/scalar_type_util.h>
#include <executorch/runtime/platform/log.h>

namespace executorch {
namespace backends {
namespace qnn {

using aten::ScalarType;
using runtime::Error;
using runtime::Result;

namespace {

constexpr char kOpening[] = "a context binary was opened";
constexpr char kReading[] = "a context binary was read";
constexpr char kEnding[] = "it was ended";
constexpr Error kRefused = Error::DelegateInvalidCompatibility;
constexpr uint32_t kMost = 4096;  // graphs, tensors
constexpr uint32_t kMostDimensions = 16;

struct Known {
  std::mutex mutex;
  std::map<std::pair<Processor, uint64_t>, std::weak_ptr<const Context>> contexts;
};

/// Never destroyed: delegates may be destroyed at exit.
Known& known() {
  static auto* const all = new Known;
  return *all;
}

/// The dtype of a data type; false if programs do not have it.
bool find_type(Qnn_DataType_t type, ScalarType& found) {
  switch (type) {
    case QNN_DATATYPE_BOOL_8:
      found = ScalarType::Bool;
      return true;
    case QNN_DATATYPE_UINT_8:
    case QNN_DATATYPE_UFIXED_POINT_8:
      found = ScalarType::Byte;
      return true;
    case QNN_DATATYPE_INT_8:
    case QNN_DATATYPE_SFIXED_POINT_8:
      found = ScalarType::Char;
      return true;
    case QNN_DATATYPE_UINT_16:
    case QNN_DATATYPE_UFIXED_POINT_16:
      found = ScalarType::UInt16;
      return true;
    case QNN_DATATYPE_INT_16:
    case QNN_DATATYPE_SFIXED_POINT_16:
      found = ScalarType::Short;
      return true;
    case QNN_DATATYPE_INT_32:
    case QNN_DATATYPE_SFIXED_POINT_32:
      found = ScalarType::Int;
      return true;
    case QNN_DATATYPE_INT_64:
      found = ScalarType::Long;
      return true;
    case QNN_DATATYPE_FLOAT_16:
      found = ScalarType::Half;
      return true;
    case QNN_DATATYPE_FLOAT_32:
      found = ScalarType::Float;
      return true;
    default:
      return false;
  }
}

/// Both versions of tensors have these members.
template <typename Tensor>
Error copy(const Tensor& from, TensorInfo& to) {
  ET_CHECK_OR_RETURN_ERROR(
      from.name != nullptr && from.rank <= kMostDimensions && (from.rank == 0 || from.dimensions != nullptr),
      DelegateInvalidCompatibility,
      "QNN: a tensor of a context binary has no name, or %" PRIu32 " dimensions, expected at most %" PRIu32,
      static_cast<uint32_t>(from.rank), kMostDimensions);
  to.name = from.name;
  ET_CHECK_OR_RETURN_ERROR(to.name.find("mutbuf_") == std::string::npos, NotSupported,
                           "QNN: the tensor %s of a context binary is state that stays in Qualcomm's memory: export "
                           "the model with skip_mutable_buffer=True",
                           to.name.c_str());
  ET_CHECK_OR_RETURN_ERROR(find_type(from.dataType, to.type), NotSupported,
                           "QNN: the tensor %s of a context binary has the data type 0x%x, which programs do not have",
                           to.name.c_str(), static_cast<unsigned>(from.dataType));
  to.sizes.assign(from.dimensions, from.dimensions + from.rank);
  runtime::internal::CheckedSize bytes(runtime::elementSize(to.type));
  for (const uint32_t size : to.sizes) {
    bytes = bytes * size;
  }
  ET_CHECK_OR_RETURN_ERROR(bytes.at_most(UINT32_MAX), DelegateInvalidCompatibility,
                           "QNN: the tensor %s of a context binary has more than %" PRIu32 " bytes", to.name.c_str(),
                           UINT32_MAX);
  to.bytes = static_cast<size_t>(bytes.value());
  return Error::Ok;
}

Error copy(const Qnn_Tensor_t& from, TensorInfo& to) {
  to.tensor = from;
  if (from.version == QNN_TENSOR_VERSION_1) {
    return copy(from.v1, to);
  }
  ET_CHECK_OR_RETURN_ERROR(from.version == QNN_TENSOR_VERSION_2, NotSupported,
                           "QNN: a tensor of a context binary has the version %u, expected 1 or 2: build this with the "
                           "SDK of the library",
                           static_cast<unsigned>(from.version));
  return copy(from.v2, to);
}

Error copy(const Qnn_Tensor_t* from, uint32_t count, std::vector<TensorInfo>& to) {
  ET_CHECK_OR_RETURN_ERROR(count <= kMost && (count == 0 || from != nullptr), DelegateInvalidCompatibility,
                           "QNN: a graph of a context binary has %" PRIu32 " tensors, expected at most %" PRIu32, count,
                           kMost);
  to.resize(count);
  for (uint32_t i = 0; i < count; ++i) {
    ET_CHECK_OK_OR_RETURN_ERROR(copy(from[i], to[i]));
  }
  return Error::Ok;
}

/// All versions of graphs have these members.
template <typename Graph>
Error copy(const Graph& from, GraphInfo& to) {
  ET_CHECK_OR_RETURN_ERROR(from.graphName != nullptr && from.numGraphOutputs > 0, DelegateInvalidCompatibility,
                           "QNN: a graph of a context binary has no name, or no output");
  to.name = from.graphName;
  ET_CHECK_OK_OR_RETURN_ERROR(copy(from.graphInputs, from.numGraphInputs, to.inputs));
  return copy(from.graphOutputs, from.numGraphOutputs, to.outputs);
}

Error copy_graph(const QnnSystemContext_GraphInfo_t& from, GraphInfo& to) {
  switch (from.version) {
    case QNN_SYSTEM_CONTEXT_GRAPH_INFO_VERSION_1:
      return copy(from.graphInfoV1, to);
    case QNN_SYSTEM_CONTEXT_GRAPH_INFO_VERSION_2:
      return copy(from.graphInfoV2, to);
    case QNN_SYSTEM_CONTEXT_GRAPH_INFO_VERSION_3:
      return copy(from.graphInfoV3, to);
    default:
      break;
  }
  ET_LOG(Error, "QNN: a graph of a context binary has the version %u, expected 1 to 3",
         static_cast<unsigned>(from.version));
  return Error::NotSupported;
}

template <typename Info>
Error copy_graphs(const Info& from, std::vector<GraphInfo>& to) {
  ET_CHECK_OR_RETURN_ERROR(from.numGraphs > 0 && from.numGraphs <= kMost && from.graphs != nullptr,
                           DelegateInvalidCompatibility,
                           "QNN: a context binary has %" PRIu32 " graphs, expected 1 to %" PRIu32,
                           static_cast<uint32_t>(from.numGraphs), kMost);
  to.resize(from.numGraphs);
  for (size_t i = 0; i < to.size(); ++i) {
    ET_CHECK_OK_OR_RETURN_ERROR(copy_graph(from.graphs[i], to[i]));
  }
  return Error::Ok;
}

Error copy_binary(const QnnSystemContext_BinaryInfo_t* info, std::vector<GraphInfo>& to) {
  switch (info == nullptr ? QNN_SYSTEM_CONTEXT_BINARY_INFO_UNDEFINED : info->version) {
    case QNN_SYSTEM_CONTEXT_BINARY_INFO_VERSION_1:
      return copy_graphs(info->contextBinaryInfoV1, to);
    case QNN_SYSTEM_CONTEXT_BINARY_INFO_VERSION_2:
      return copy_graphs(info->contextBinaryInfoV2, to);
    case QNN_SYSTEM_CONTEXT_BINARY_INFO_VERSION_3:
      return copy_graphs(info->contextBinaryInfoV3, to);
    default:
      break;
  }
  ET_LOG(Error, "QNN: the description of a context binary has another version than 1 to 3");
  return Error::NotSupported;
}

/// The reader of a context binary, whose description is valid while this object exists.
class SystemContext final {
 public:
  explicit SystemContext(const SystemInterface& functions) : functions_(functions) {}
  SystemContext(const SystemContext&) = delete;
  SystemContext& operator=(const SystemContext&) = delete;
  ~SystemContext() { (void)close(); }

  Error open() {
    return answer(nullptr, functions_.systemContextCreate(&handle_), "QnnSystemContext_create", kReading,
                  Error::DelegateInvalidHandle);
  }
  Error close() {
    QnnSystemContext_Handle_t const handle = handle_;
    handle_ = nullptr;
    return handle == nullptr ? Error::Ok
                             : answer(nullptr, functions_.systemContextFree(handle), "QnnSystemContext_free", kReading,
                                      Error::DelegateInvalidHandle);
  }
  QnnSystemContext_Handle_t handle() const { return handle_; }

 private:
  const SystemInterface& functions_;
  QnnSystemContext_Handle_t handle_ = nullptr;
};

}  // namespace

Result<std::shared_ptr<const Context>> Context::get(const ContextBinary& binary, Processor processor) {
  const Result<const Api*> functions = api(processor);
  ET_CHECK_OK_OR_RETURN_ERROR(functions.error());
  const Result<const SystemApi*> system = system_api();
  ET_CHECK_OK_OR_RETURN_ERROR(system.error());
  Known& all = known();
  const std::lock_guard<std::mutex> lock(all.mutex);
  std::weak_ptr<const Context>& place = all.contexts[{processor, binary.signature}];
  if (std::shared_ptr<const Context> found = place.lock()) {
    return found;
  }
  const auto made = std::make_shared<Context>(**functions);
  ET_CHECK_OK_OR_RETURN_ERROR(made->load(binary, **system));
  if (!keeps_binary(processor)) {
    place = made;
  }
  return std::shared_ptr<const Context>(made);
}

Error Context::load(const ContextBinary& binary, const SystemApi& system) {
  ET_CHECK_OK_OR_RETURN_ERROR(describe(binary, system));
  const Interface& call = api_.functions;
  ET_CHECK_OK_OR_RETURN_ERROR(answer(&call, call.backendCreate(nullptr, nullptr, &backend_), "QnnBackend_create",
                                     "the library was started", Error::DelegateInvalidHandle));
  const Qnn_ErrorHandle_t made = call.deviceCreate(nullptr, nullptr, &device_);
  // Libraries without devices, such as that of x86-64, return this code; contexts then have no device.
  if (made == QNN_DEVICE_ERROR_UNSUPPORTED_FEATURE) {
    device_ = nullptr;
  } else {
    ET_CHECK_OK_OR_RETURN_ERROR(
        answer(&call, made, "QnnDevice_create", "the library was started", Error::DelegateInvalidHandle));
  }
  return answer(&call,
                call.contextCreateFromBinary(backend_, device_, nullptr, binary.bytes.data(), binary.bytes.size(),
                                             &context_, nullptr),
                "QnnContext_createFromBinary", kOpening, kRefused);
}

Error Context::describe(const ContextBinary& binary, const SystemApi& system) {
  SystemContext reading(system.functions);
  ET_CHECK_OK_OR_RETURN_ERROR(reading.open());
  const QnnSystemContext_BinaryInfo_t* info = nullptr;
  Qnn_ContextBinarySize_t size = 0;
  const Error read =
      answer(nullptr,
             system.functions.systemContextGetBinaryInfo(reading.handle(), const_cast<uint8_t*>(binary.bytes.data()),
                                                         binary.bytes.size(), &info, &size),
             "QnnSystemContext_getBinaryInfo", kReading, kRefused);
  ET_CHECK_OK_OR_RETURN_ERROR(read);
  ET_CHECK_OK_OR_RETURN_ERROR(copy_binary(info, graphs_));
  return reading.close();
}

Context::~Context() {
  const Interface& call = api_.functions;
  if (context_ != nullptr) {
    (void)answer(&call, call.contextFree(context_, nullptr), "QnnContext_free", kEnding, Error::DelegateInvalidHandle);
  }
  if (device_ != nullptr) {
    (void)answer(&call, call.deviceFree(device_), "QnnDevice_free", kEnding, Error::DelegateInvalidHandle);
  }
  if (backend_ != nullptr) {
    (void)answer(&call, call.backendFree(backend_), "QnnBackend_free", kEnding, Error::DelegateInvalidHandle);
  }
}

Result<const GraphInfo*> Context::graph(const char* name) const {
  for (const GraphInfo& graph : graphs_) {
    if (name != nullptr && graph.name == name) {
      return &graph;
    }
  }
  ET_CHECK_OR_RETURN_ERROR(graphs_.size() == 1, InvalidProgram,
                           "QNN: a context binary has %zu graphs, and none for the method %s: export the model again",
                           graphs_.size(), name == nullptr ? "" : name);
  return graphs_.data();
}

}  // namespace qnn
}  // namespace backends
}  // namespace executorch
