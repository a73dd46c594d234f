// SPDX-License-Identifier: BSD-3-Clause
#include "delegate.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <utility>

#include <executorch/extension/delegate/arguments.h>
#include <executorch/extension/file_cache/sha256.h>
#include <executorch/runtime/core/exec_aten/util/scalar_type_util.h>
#include <executorch/runtime/core/exec_aten/util/tensor_util.h>
#include <executorch/runtime/platform/log.h>

namespace executorch {
namespace backends {
namespace openvino {

using extension::delegate::Argument;
using runtime::Error;
using runtime::EValue;
using runtime::FreeableBuffer;
using runtime::NamedDataMap;
using runtime::Result;
using runtime::Span;
using runtime::etensor::ScalarType;
using runtime::etensor::Tensor;

namespace {

constexpr char kTitle[] = "OpenVINO";
constexpr size_t kMaxRank = runtime::kTensorDimensionLimit;

struct TypePair {
  OvType theirs;
  ScalarType ours;
};
constexpr TypePair kTypes[] = {
    {OvType::Boolean, ScalarType::Bool}, {OvType::Bf16, ScalarType::BFloat16}, {OvType::F16, ScalarType::Half},
    {OvType::F32, ScalarType::Float},    {OvType::F64, ScalarType::Double},    {OvType::I8, ScalarType::Char},
    {OvType::I16, ScalarType::Short},    {OvType::I32, ScalarType::Int},       {OvType::I64, ScalarType::Long},
    {OvType::U8, ScalarType::Byte},      {OvType::U16, ScalarType::UInt16},    {OvType::U32, ScalarType::UInt32},
    {OvType::U64, ScalarType::UInt64},
};

/// The name of the payload's IR in the program: the SHA-256 of the payload, because nothing may be added to the payload
/// itself.
std::string name_of_ir(const void* payload, size_t size) {
  std::string name = "openvino_ir_";
  for (const uint8_t byte : extension::sha256(payload, size)) {
    constexpr char kDigits[] = "0123456789abcdef";
    name += kDigits[byte >> 4];
    name += kDigits[byte & 15];
  }
  return name;
}

/// OpenVINO computes int64 as int32 and reports no error.
bool fits_int32(const int64_t* numbers, size_t count) {
  uint64_t outside = 0;
  for (size_t i = 0; i < count; ++i) {
    outside |= (static_cast<uint64_t>(numbers[i]) + 0x80000000u) >> 32;
  }
  return outside == 0;
}

}  // namespace

bool Port::is_static() const {
  return has_rank && std::all_of(dims.begin(), dims.end(), [](const OvDimension& dim) { return dim.min == dim.max; });
}

std::string Port::text() const {
  if (!has_rank) {
    return "[...]";
  }
  std::string text = "[";
  for (const OvDimension& dim : dims) {
    text += text.size() > 1 ? ", " : "";
    if (dim.min == dim.max) {
      text += std::to_string(dim.min);
    } else if (dim.max < 0 || dim.max == std::numeric_limits<int64_t>::max()) {
      text += "?";
    } else {
      text += std::to_string(dim.min) + ".." + std::to_string(dim.max);
    }
  }
  return text + "]";
}

Error Delegate::load(const void* payload, size_t size, const NamedDataMap* data) {
  ET_CHECK_OR_RETURN_ERROR(payload != nullptr && size > 0, DelegateInvalidCompatibility,
                           "OpenVINO: the payload is empty: export the model again");
  OvCompiledModel* model = nullptr;
  const OvStatus status =
      library_.core_import_model(core_, static_cast<const char*>(payload), size, options_.device.c_str(), &model);
  if (status == 0 && model != nullptr) {
    model_.reset(model);
  } else {
    const std::string refusal = last_error(library_);
    ET_CHECK_OR_RETURN_ERROR(!is_lack_of_memory(refusal), MemoryAllocationFailed,
                             "OpenVINO cannot import the payload for %s: %s", options_.device.c_str(), refusal.c_str());
    const std::string key = name_of_ir(payload, size);
    const bool has_ir = data != nullptr && data->get_data(key + ".xml").ok();
    ET_CHECK_OR_RETURN_ERROR(has_ir, DelegateInvalidCompatibility,
                             "OpenVINO %s refuses the payload for %s (%s): export the model with this release, or with "
                             "include_ir=True for any",
                             library_.version.c_str(), options_.device.c_str(), refusal.c_str());
    ET_CHECK_OK_OR_RETURN_ERROR(compile_ir(refusal, key, *data));
  }
  ET_CHECK_OK_OR_RETURN_ERROR(read_ports());
  auto first = make_request();
  ET_CHECK_OK_OR_RETURN_ERROR(first.error());
  free_requests_.push_back(std::move(*first));
  return Error::Ok;
}

Error Delegate::compile_ir(const std::string& refusal, const std::string& key, const NamedDataMap& data) {
  auto xml = data.get_data(key + ".xml");
  ET_CHECK_OK_OR_RETURN_ERROR(xml.error());
  auto bin = data.get_data(key + ".bin");
  if (!bin.ok() && bin.error() != Error::NotFound) {
    return bin.error();  // they exist, but cannot be read
  }
  ET_CHECK_OR_RETURN_ERROR(bin.ok(), DelegateInvalidCompatibility,
                           "OpenVINO: the program has the IR %s.xml without its weights %s.bin: export the model again",
                           key.c_str(), key.c_str());
  weights_.emplace(std::move(*bin));  // the compiled model reads them in place
  // The message says first what happened, then what the user can do.
  ET_LOG(Info, "OpenVINO %s did not import the payload (%s): compiling its IR for %s%s", library_.version.c_str(),
         refusal.c_str(), options_.device.c_str(),
         options_.cache_dir.empty() ? "; set the option cache_dir, and later starts are faster" : "");
  OwnedTensor tensor(nullptr, {&library_});
  if (weights_->size() > 0) {
    int64_t bytes = static_cast<int64_t>(weights_->size());
    OvTensor* made = nullptr;
    const OvStatus status =
        library_.tensor_create_from_host_ptr(OvType::U8, {1, &bytes}, const_cast<void*>(weights_->data()), &made);
    ET_CHECK_OK_OR_RETURN_ERROR(answer(library_, status, Error::DelegateMemoryAllocationFailed, ""));
    tensor.reset(made);
  }
  OvModel* read = nullptr;
  OvStatus status = library_.core_read_model_from_memory_buffer(core_, static_cast<const char*>(xml->data()),
                                                                xml->size(), tensor.get(), &read);
  ET_CHECK_OK_OR_RETURN_ERROR(
      answer(library_, status, Error::DelegateInvalidCompatibility, " cannot read the program's IR"));
  const OwnedModel model(read, {&library_});
  OvCompiledModel* compiled = nullptr;
  status = library_.core_compile_model(core_, model.get(), options_.device.c_str(), 0, &compiled);
  ET_CHECK_OK_OR_RETURN_ERROR(answer(library_, status, Error::DelegateInvalidCompatibility,
                                     " cannot compile the program's IR for " + options_.device));
  model_.reset(compiled);
  return Error::Ok;
}

Error Delegate::read_ports() {
  for (const bool is_input : {true, false}) {
    size_t count = 0;
    const OvStatus status = is_input ? library_.compiled_model_inputs_size(model_.get(), &count)
                                     : library_.compiled_model_outputs_size(model_.get(), &count);
    ET_CHECK_OK_OR_RETURN_ERROR(answer(library_, status, Error::DelegateInvalidCompatibility, ""));
    for (size_t i = 0; i < count; ++i) {
      OvConstPort* port = nullptr;
      const OvStatus found = is_input ? library_.compiled_model_input_by_index(model_.get(), i, &port)
                                      : library_.compiled_model_output_by_index(model_.get(), i, &port);
      ET_CHECK_OK_OR_RETURN_ERROR(answer(library_, found, Error::DelegateInvalidCompatibility, ""));
      auto read = read_port(port, is_input ? "input" : "output", i);
      ET_CHECK_OK_OR_RETURN_ERROR(read.error());
      (is_input ? inputs_ : outputs_).push_back(std::move(*read));
    }
  }
  return Error::Ok;
}

Result<Port> Delegate::read_port(OvConstPort* port, const char* what, size_t index) const {
  const OwnedPort owner(port, {&library_});
  Port read{};
  ET_CHECK_OK_OR_RETURN_ERROR(
      answer(library_, library_.port_get_element_type(port, &read.type), Error::DelegateInvalidCompatibility, ""));
  const auto* const pair = std::find_if(std::begin(kTypes), std::end(kTypes),
                                        [&](const TypePair& known) { return known.theirs == read.type; });
  ET_CHECK_OR_RETURN_ERROR(pair != std::end(kTypes), DelegateInvalidCompatibility,
                           "OpenVINO: %s %zu of the payload has the element type %d, which no tensor has", what, index,
                           static_cast<int>(read.type));
  read.scalar_type = pair->ours;
  OvPartialShape shape{};
  ET_CHECK_OK_OR_RETURN_ERROR(
      answer(library_, library_.port_get_partial_shape(port, &shape), Error::DelegateInvalidCompatibility, ""));
  read.has_rank = shape.rank.min == shape.rank.max;
  const bool fits = !read.has_rank || (shape.rank.min >= 0 && shape.rank.min <= static_cast<int64_t>(kMaxRank));
  if (read.has_rank && fits && shape.dims != nullptr) {
    read.dims.assign(shape.dims, shape.dims + shape.rank.min);
  }
  library_.partial_shape_free(&shape);
  ET_CHECK_OR_RETURN_ERROR(fits, DelegateInvalidCompatibility,
                           "OpenVINO: %s %zu of the payload has more than %zu dimensions", what, index, kMaxRank);
  return read;
}

Result<std::unique_ptr<Delegate::Request>> Delegate::make_request() const {
  OvInferRequest* made = nullptr;
  ET_CHECK_OK_OR_RETURN_ERROR(answer(library_, library_.compiled_model_create_infer_request(model_.get(), &made),
                                     Error::DelegateMemoryAllocationFailed, " cannot create an infer request"));
  auto request = std::make_unique<Request>();
  request->request = OwnedRequest(made, {&library_});
  request->inputs.resize(inputs_.size());
  request->outputs.resize(outputs_.size());
  return request;
}

Result<std::unique_ptr<Delegate::Request>> Delegate::take_request() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!free_requests_.empty()) {
      auto request = std::move(free_requests_.back());
      free_requests_.pop_back();
      return request;
    }
  }
  return make_request();
}

Error Delegate::execute(Span<EValue*> args) {
  ET_CHECK_OK_OR_RETURN_ERROR(extension::delegate::check_count(kTitle, args, inputs_.size(), outputs_.size()));
  auto request = take_request();
  ET_CHECK_OK_OR_RETURN_ERROR(request.error());
  const Error error = run(**request, args);
  if (error == Error::Ok) {  // after a failure it is unknown which tensors are bound
    const std::lock_guard<std::mutex> lock(mutex_);
    free_requests_.push_back(std::move(*request));
  }
  return error;
}

Error Delegate::run(Request& request, Span<EValue*> args) {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    ET_CHECK_OK_OR_RETURN_ERROR(bind_input(request, i, *args[i]));
  }
  for (size_t i = 0; i < outputs_.size(); ++i) {
    ET_CHECK_OK_OR_RETURN_ERROR(bind_output(request, i, *args[inputs_.size() + i]));
  }
  ET_CHECK_OK_OR_RETURN_ERROR(
      answer(library_, library_.infer_request_infer(request.request.get()), Error::Internal, ""));
  for (size_t i = 0; i < outputs_.size(); ++i) {
    if (!outputs_[i].is_static()) {
      ET_CHECK_OK_OR_RETURN_ERROR(fetch_output(request, i, *args[inputs_.size() + i]));
    }
  }
  return Error::Ok;
}

Error Delegate::bind_input(Request& request, size_t index, const EValue& value) {
  const Port& port = inputs_[index];
  if (value.isInt()) {
    int64_t& number = request.inputs[index].number;
    number = value.toInt();
    ET_CHECK_OR_RETURN_ERROR(port.type == OvType::I64 && port.is_static() && port.dims.size() <= 1, InvalidArgument,
                             "OpenVINO: input %zu is an int, the payload expects %s %s", index,
                             runtime::toString(port.scalar_type), port.text().c_str());
    ET_CHECK_OR_RETURN_ERROR(fits_int32(&number, 1), InvalidArgument,
                             "OpenVINO: input %zu is %lld, and OpenVINO computes integers in 32 bits", index,
                             static_cast<long long>(number));
    return bind(request, true, index, &number, {{1}, port.dims.size()});
  }
  const Argument argument{kTitle, "input", index};
  ET_CHECK_OK_OR_RETURN_ERROR(check_is_tensor(argument, value));
  const Tensor& tensor = value.toTensor();
  ET_CHECK_OK_OR_RETURN_ERROR(check_dtype(argument, tensor, port.scalar_type));
  Shape shape{{}, tensor.dim_order().size()};
  bool fits = !port.has_rank || port.dims.size() == shape.rank;
  for (size_t i = 0; i < shape.rank; ++i) {
    shape.sizes[i] = tensor.size(tensor.dim_order()[i]);
    fits = fits && (!port.has_rank || (shape.sizes[i] >= port.dims[i].min &&
                                       (port.dims[i].max < 0 || shape.sizes[i] <= port.dims[i].max)));
  }
  ET_CHECK_OK_OR_RETURN_ERROR(check_shape(argument, tensor, fits, [&] { return port.text(); }));
  ET_CHECK_OR_RETURN_ERROR(
      tensor.numel() > 0, InvalidArgument,
      "OpenVINO: input %zu has no elements (the shape %s), on which OpenVINO's kernels crash: pass at least one", index,
      runtime::tensor_shape_to_c_string({tensor.sizes().data(), tensor.sizes().size()}).data());
  const bool is_int64 = port.type == OvType::I64;
  ET_CHECK_OR_RETURN_ERROR(
      !is_int64 || fits_int32(tensor.const_data_ptr<int64_t>(), static_cast<size_t>(tensor.numel())), InvalidArgument,
      "OpenVINO: input %zu has integers of more than 32 bits, and OpenVINO computes integers in 32 bits", index);
  return bind(request, true, index, tensor.const_data_ptr(), shape);
}

Error Delegate::bind_output(Request& request, size_t index, const EValue& value) {
  const Port& port = outputs_[index];
  const Argument argument{kTitle, "output", index};
  ET_CHECK_OK_OR_RETURN_ERROR(check_is_tensor(argument, value));
  const Tensor& tensor = value.toTensor();
  ET_CHECK_OK_OR_RETURN_ERROR(check_dtype(argument, tensor, port.scalar_type));
  if (!port.is_static()) {
    return Error::Ok;  // OpenVINO allocates it, and its shape is known after the call
  }
  Shape shape{{}, port.dims.size()};
  for (size_t i = 0; i < shape.rank; ++i) {
    shape.sizes[i] = port.dims[i].min;
  }
  ET_CHECK_OK_OR_RETURN_ERROR(resize_output(index, value, shape));
  return bind(request, false, index, tensor.const_data_ptr(), shape);
}

Error Delegate::bind(Request& request, bool is_input, size_t index, const void* data, Shape shape) {
  Binding& binding = is_input ? request.inputs[index] : request.outputs[index];
  const bool is_bound = binding.data == data && binding.shape.size() == shape.rank &&
                        std::equal(binding.shape.begin(), binding.shape.end(), shape.sizes.begin());
  if (is_bound && data != nullptr) {
    return Error::Ok;
  }
  const Port& port = is_input ? inputs_[index] : outputs_[index];
  OvTensor* made = nullptr;
  // A tensor without elements may have no memory.
  void* const memory = data != nullptr ? const_cast<void*>(data) : &binding.number;
  const OvStatus wrapped = library_.tensor_create_from_host_ptr(
      port.type, {static_cast<int64_t>(shape.rank), shape.sizes.data()}, memory, &made);
  ET_CHECK_OK_OR_RETURN_ERROR(answer(library_, wrapped, Error::Internal, ""));
  const OwnedTensor tensor(made, {&library_});
  const OvStatus status = is_input
                              ? library_.infer_request_set_input_tensor_by_index(request.request.get(), index, made)
                              : library_.infer_request_set_output_tensor_by_index(request.request.get(), index, made);
  if (status != 0) {
    const char* const what = is_input ? " refuses input " : " refuses output ";
    return answer(library_, status, Error::Internal, what + std::to_string(index));
  }
  binding.data = data;
  binding.shape.assign(shape.sizes.begin(), shape.sizes.begin() + static_cast<ptrdiff_t>(shape.rank));
  return Error::Ok;
}

Error Delegate::fetch_output(Request& request, size_t index, const EValue& value) {
  OvTensor* found = nullptr;
  const OvStatus got = library_.infer_request_get_output_tensor_by_index(request.request.get(), index, &found);
  ET_CHECK_OK_OR_RETURN_ERROR(answer(library_, got, Error::Internal, ""));
  const OwnedTensor owner(found, {&library_});
  OvShape theirs{};
  void* data = nullptr;
  ET_CHECK_OK_OR_RETURN_ERROR(answer(library_, library_.tensor_data(found, &data), Error::Internal, ""));
  ET_CHECK_OK_OR_RETURN_ERROR(answer(library_, library_.tensor_get_shape(found, &theirs), Error::Internal, ""));
  Shape shape{{}, 0};
  const bool fits = theirs.rank >= 0 && theirs.rank <= static_cast<int64_t>(kMaxRank);
  if (fits) {
    shape.rank = static_cast<size_t>(theirs.rank);
    std::copy_n(theirs.dims, shape.rank, shape.sizes.begin());
  }
  library_.shape_free(&theirs);
  ET_CHECK_OR_RETURN_ERROR(fits, InvalidArgument, "OpenVINO: output %zu has more than %zu dimensions", index, kMaxRank);
  ET_CHECK_OK_OR_RETURN_ERROR(resize_output(index, value, shape));
  const Tensor& tensor = value.toTensor();
  if (tensor.nbytes() > 0) {
    std::memcpy(tensor.mutable_data_ptr(), data, tensor.nbytes());
  }
  return Error::Ok;
}

Error Delegate::resize_output(size_t index, const EValue& value, const Shape& shape) const {
  const Tensor& tensor = value.toTensor();
  const auto order = tensor.dim_order();
  std::array<int64_t, kMaxRank> sizes = shape.sizes;
  for (size_t i = 0; order.size() == shape.rank && i < shape.rank; ++i) {
    sizes[order[i]] = shape.sizes[i];
  }
  return extension::delegate::resize_output({kTitle, "output", index}, tensor,
                                            aten::ArrayRef<int64_t>(sizes.data(), shape.rank));
}

}  // namespace openvino
}  // namespace backends
}  // namespace executorch
