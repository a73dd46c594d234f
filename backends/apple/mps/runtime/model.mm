// SPDX-License-Identifier: BSD-3-Clause
#include "model.h"

#import <Metal/Metal.h>

#include <cstring>
#include <mutex>
#include <utility>

#include <executorch/extension/delegate/arguments.h>
#include <executorch/runtime/platform/log.h>

#import "build.h"
#import "exceptions.h"
#import "owned.h"

namespace executorch {
namespace backends {
namespace mps {

using apple::in_pool;
using apple::Owned;
using apple::text_of;
using apple::without_exceptions;
using extension::delegate::check_count;
using extension::delegate::check_tensor;
using runtime::Error;
using runtime::EValue;
using runtime::Result;
using runtime::Span;
using runtime::etensor::ScalarType;
using runtime::etensor::Tensor;

namespace {

constexpr char kTitle[] = "MPSGraph";

/// An input or output with memory that the CPU and the GPU share.
struct EXECUTORCH_MPS_AVAILABLE Port {
  Type type;
  size_t size = 0;  ///< bytes
  Owned<id<MTLBuffer>> buffer;
  MPSGraphTensor* tensor = nil;  ///< the graph keeps it
  Owned<MPSGraphTensorData*> data;
};

class EXECUTORCH_MPS_AVAILABLE MPSModel final : public Model {
 public:
  Error open(const Graph& graph);
  Error execute(Span<EValue*> args) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    return without_exceptions(kTitle, [&] { return run(args); });
  }

 private:
  Error add_inputs(const Graph& graph);
  Error add_nodes(const Graph& graph);
  Error add_node(const Graph& graph, size_t number);
  Error add_outputs(const Graph& graph);
  Error add_port(const Type& declared, MPSGraphTensor* tensor, std::vector<Port>& ports);
  Error compile();
  Error run(Span<EValue*> args);

  std::mutex mutex_;
  Owned<id<MTLDevice>> device_;
  Owned<id<MTLCommandQueue>> queue_;
  Owned<MPSGraph*> graph_;
  Owned<MPSGraphExecutable*> executable_;
  std::vector<Port> inputs_, outputs_;
  Owned<NSArray*> feeds_, results_;  ///< the data of inputs and outputs, in the order of the executable

  // While the graph is built, by id:
  Tensors tensors_;
  std::vector<Type> types_;
};

Error MPSModel::open(const Graph& graph) {
  device_ = Owned<id<MTLDevice>>::adopt(MTLCreateSystemDefaultDevice());
  ET_CHECK_OR_RETURN_ERROR(device_.get() != nil, NotSupported, "MPS: there is no GPU");
  queue_ = Owned<id<MTLCommandQueue>>::adopt([device_.get() newCommandQueue]);
  graph_ = Owned<MPSGraph*>::adopt([[MPSGraph alloc] init]);
  ET_CHECK_OR_RETURN_ERROR(queue_.get() != nil && graph_.get() != nil, MemoryAllocationFailed,
                           "MPS: the GPU gives no command queue");
  tensors_.assign(graph.values.size(), nil);
  types_.assign(graph.values.begin(), graph.values.end());
  ET_CHECK_OK_OR_RETURN_ERROR(add_inputs(graph));
  ET_CHECK_OK_OR_RETURN_ERROR(add_nodes(graph));
  ET_CHECK_OK_OR_RETURN_ERROR(add_outputs(graph));
  tensors_ = {};
  types_ = {};
  return compile();
}

Error MPSModel::add_port(const Type& declared, MPSGraphTensor* tensor, std::vector<Port>& ports) {
  Port port;
  port.type = declared;
  port.size = static_cast<size_t>(count_of(declared.sizes)) * element_size(declared.type);
  port.tensor = tensor;
  ET_CHECK_OR_RETURN_ERROR(port.size > 0, NotSupported, "MPS: inputs and outputs cannot be %s", name_of(declared.type));
  port.buffer = Owned<id<MTLBuffer>>::adopt([device_.get() newBufferWithLength:port.size
                                                                       options:MTLResourceStorageModeShared]);
  ET_CHECK_OR_RETURN_ERROR(port.buffer.get() != nil, MemoryAllocationFailed, "MPS: the GPU has no %zu bytes", port.size);
  port.data = Owned<MPSGraphTensorData*>::adopt(
      [[MPSGraphTensorData alloc] initWithMTLBuffer:port.buffer.get()
                                              shape:numbers_of(declared.sizes)
                                           dataType:data_type_of(declared.type)]);
  ports.push_back(std::move(port));
  return Error::Ok;
}

Error MPSModel::add_inputs(const Graph& graph) {
  for (const int32_t each : graph.inputs) {
    tensors_[each] = [graph_.get() placeholderWithShape:numbers_of(types_[each].sizes)
                                             dataType:data_type_of(types_[each].type)
                                                 name:nil];
    ET_CHECK_OK_OR_RETURN_ERROR(add_port(types_[each], tensors_[each], inputs_));
  }
  for (const int32_t each : graph.constants) {
    const Value& value = graph.values[each];
    NSData* const data = [NSData dataWithBytes:value.data length:value.data_size];
    tensors_[each] = [graph_.get() constantWithData:data
                                            shape:numbers_of(value.sizes)
                                         dataType:data_type_of(value.type)];
  }
  return Error::Ok;
}

Error MPSModel::add_nodes(const Graph& graph) {
  for (size_t number = 0; number < graph.nodes.size(); ++number) {
    // The graph keeps its tensors.
    ET_CHECK_OK_OR_RETURN_ERROR(in_pool([&] { return add_node(graph, number); }));
  }
  return Error::Ok;
}

Error MPSModel::add_node(const Graph& graph, size_t number) {
  const Node& node = graph.nodes[number];
  OperandTypes types;
  Tensors operands;
  for (const int32_t each : node.operands) {
    types.push_back(each == kAbsent ? nullptr : &types_[each]);
    operands.push_back(each == kAbsent ? nil : tensors_[each]);
  }
  std::vector<Type> results;
  const std::string wrong = infer(node, types, results);
  ET_CHECK_OR_RETURN_ERROR(wrong.empty(), InvalidProgram, "MPS: node %zu (%s): %s. Export the program again", number,
                           name_of(node.type), wrong.c_str());
  ET_CHECK_OR_RETURN_ERROR(results.size() == node.results.size(), InvalidProgram,
                           "MPS: node %zu (%s) has %zu results; the payload says %zu", number, name_of(node.type),
                           results.size(), node.results.size());
  for (size_t i = 0; i < results.size(); ++i) {
    const Sizes& declared = graph.values[node.results[i]].sizes;
    ET_CHECK_OR_RETURN_ERROR(results[i].sizes == declared, InvalidProgram,
                             "MPS: node %zu (%s) computes the shape %s; the payload says %s", number,
                             name_of(node.type), text_of(results[i].sizes).c_str(), text_of(declared).c_str());
  }
  const Tensors made = build({graph_.get(), node, operands, types, results});
  ET_CHECK_OR_RETURN_ERROR(made.size() == results.size(), NotSupported, "MPS: node %zu (%s) cannot be built", number,
                           name_of(node.type));
  for (size_t i = 0; i < results.size(); ++i) {
    tensors_[node.results[i]] = made[i];
    types_[node.results[i]] = results[i];
  }
  return Error::Ok;
}

Error MPSModel::add_outputs(const Graph& graph) {
  std::vector<MPSGraphTensor*> taken;
  for (const int32_t each : graph.inputs) {
    taken.push_back(tensors_[each]);
  }
  for (const int32_t each : graph.constants) {
    taken.push_back(tensors_[each]);
  }
  for (const int32_t each : graph.outputs) {
    const Value& declared = graph.values[each];
    ET_CHECK_OR_RETURN_ERROR(types_[each].type == declared.type, InvalidProgram,
                             "MPS: an output is %s; the payload says %s", name_of(types_[each].type),
                             name_of(declared.type));
    MPSGraphTensor* tensor = tensors_[each];
    for (const auto& other : taken) {
      if (tensor == other) {  // MPSGraph returns neither inputs nor a tensor twice
        tensor = [graph_.get() identityWithTensor:tensor name:nil];
        break;
      }
    }
    taken.push_back(tensor);
    ET_CHECK_OK_OR_RETURN_ERROR(add_port(declared, tensor, outputs_));
  }
  return Error::Ok;
}

Error MPSModel::compile() {
  NSMutableDictionary* const feeds = [NSMutableDictionary dictionary];
  NSMutableArray<MPSGraphTensor*>* const targets = [NSMutableArray array];
  for (const Port& port : inputs_) {
    const auto shaped = Owned<MPSGraphShapedType*>::adopt(
        [[MPSGraphShapedType alloc] initWithShape:numbers_of(port.type.sizes) dataType:data_type_of(port.type.type)]);
    [feeds setObject:shaped.get() forKey:port.tensor];
  }
  for (const Port& port : outputs_) {
    [targets addObject:port.tensor];
  }
  executable_ = Owned<MPSGraphExecutable*>([graph_.get() compileWithDevice:[MPSGraphDevice deviceWithMTLDevice:device_.get()]
                                                                     feeds:feeds
                                                             targetTensors:targets
                                                          targetOperations:nil
                                                     compilationDescriptor:nil]);
  ET_CHECK_OR_RETURN_ERROR(executable_.get() != nil, DelegateInvalidCompatibility, "MPSGraph cannot compile the graph");
  // The dictionary is unordered; the executable defines an order.
  const auto in_order = [](NSArray<MPSGraphTensor*>* order, const std::vector<Port>& ports) {
    NSMutableArray<MPSGraphTensorData*>* const data = [NSMutableArray arrayWithCapacity:ports.size()];
    for (MPSGraphTensor* tensor in order) {
      for (const Port& port : ports) {
        if (port.tensor == tensor) {
          [data addObject:port.data.get()];
        }
      }
    }
    return data;
  };
  NSArray<MPSGraphTensor*>* const compiled = [executable_.get() targetTensors];
  NSArray<MPSGraphTensorData*>* const given = in_order([executable_.get() feedTensors], inputs_);
  NSArray<MPSGraphTensorData*>* const returned = in_order(compiled == nil ? targets : compiled, outputs_);
  ET_CHECK_OR_RETURN_ERROR([given count] == inputs_.size() && [returned count] == outputs_.size(),
                           DelegateInvalidCompatibility,
                           "MPSGraph compiled %zu inputs and %zu outputs; the payload has %zu and %zu",
                           static_cast<size_t>([given count]), static_cast<size_t>([returned count]), inputs_.size(),
                           outputs_.size());
  feeds_ = Owned<NSArray*>(given);
  results_ = Owned<NSArray*>(returned);
  return Error::Ok;
}

Error MPSModel::run(Span<EValue*> args) {
  ET_CHECK_OK_OR_RETURN_ERROR(check_count("MPS", args, inputs_.size(), outputs_.size()));
  const auto check = [](const Port& port, const EValue& value, const char* kind, size_t index) {
    const Sizes& sizes = port.type.sizes;
    return check_tensor({"MPS", kind, index}, value, scalar_type_of(port.type.type),
                        aten::ArrayRef<int64_t>(sizes.data(), sizes.size()));
  };
  for (size_t i = 0; i < outputs_.size(); ++i) {
    ET_CHECK_OK_OR_RETURN_ERROR(check(outputs_[i], *args[inputs_.size() + i], "output", i));
  }
  for (size_t i = 0; i < inputs_.size(); ++i) {
    ET_CHECK_OK_OR_RETURN_ERROR(check(inputs_[i], *args[i], "input", i));
    std::memcpy([inputs_[i].buffer.get() contents], args[i]->toTensor().const_data_ptr(), inputs_[i].size);
  }
  [executable_.get() runWithMTLCommandQueue:queue_.get()
                                inputsArray:feeds_.get()
                               resultsArray:results_.get()
                        executionDescriptor:nil];
  for (size_t i = 0; i < outputs_.size(); ++i) {
    std::memcpy(args[inputs_.size() + i]->toTensor().mutable_data_ptr(), [outputs_[i].buffer.get() contents],
                outputs_[i].size);
  }
  return Error::Ok;
}

}  // namespace

bool is_mps_available() {
  if (@available(macOS 12.4, iOS 15.4, tvOS 15.4, *)) {
    return true;
  }
  return false;
}

Result<std::unique_ptr<Model>> open_model(const Graph& graph) {
  return without_exceptions(kTitle, [&]() -> Result<std::unique_ptr<Model>> {
    if (@available(macOS 12.4, iOS 15.4, tvOS 15.4, *)) {
      auto model = std::make_unique<MPSModel>();
      ET_CHECK_OK_OR_RETURN_ERROR(model->open(graph));
      return std::unique_ptr<Model>(std::move(model));
    }
    return Error::NotSupported;
  });
}

}  // namespace mps
}  // namespace backends
}  // namespace executorch
