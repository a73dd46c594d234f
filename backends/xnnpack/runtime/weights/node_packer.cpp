// SPDX-License-Identifier: BSD-3-Clause
#include "weights/node_packer.h"

#include "private/callbacks.h"
#include "private/xnnpack_runtime.h"

#include <algorithm>
#include <cinttypes>
#include <utility>

#include <executorch/runtime/platform/log.h>

namespace executorch {
namespace backends {
namespace xnnpack {

using runtime::Error;

void NodePacker::begin_runtime(Payload& payload, xnn_subgraph_t subgraph, std::vector<PackedNode> nodes) {
  payload_ = &payload;
  for (PackedNode& packed : nodes) {
    const uint32_t number = packed.node;
    nodes_.emplace(number, Node{std::move(packed), replace_create(subgraph, number, create_operator)});
  }
}

Error NodePacker::finish() {
  nodes_.clear();
  payload_ = nullptr;
  if (error_ == Error::Ok && store() != nullptr) {
    store()->commit();
  }
  return error_ == Error::Ok && lacks_weights() ? Error::MemoryAllocationFailed : error_;
}

OriginalWeights NodePacker::describe(const PackedConstant& constant) {
  OriginalWeights weights;
  weights.size = constant.size;
  weights.shape = constant.shape;
  weights.scales = constant.scales;
  weights.is_shareable = constant.is_shareable && store() != nullptr;
  if (!weights.is_shareable || !store()->trusts_digests() || !reads_parts_) {
    return weights;
  }
  // Weights in a data file are named "<digest>.<file>".
  const std::string_view name = payload_->name(constant.index);
  weights.digest = read_sha256(name.substr(0, name.find('.')));
  if (weights.digest) {
    weights.start.resize(std::min(constant.size, OriginalWeights::kStart));
    const Error error = payload_->read_start(constant.index, weights.start.data(), weights.start.size());
    if (error != Error::Ok) {
      weights.digest.reset();  // read() reports the error
      reads_parts_ = error != Error::NotImplemented;
    }
  }
  return weights;
}

bool NodePacker::may_be_packed(const OriginalWeights& filter, const OriginalWeights* bias) const {
  return filter.digest && (bias == nullptr || bias->digest) && names() &&
         store()->may_have(names()->filter, names()->bias);
}

bool NodePacker::read(const PackedConstant& constant, OriginalWeights& weights, xnn_value* values) {
  const auto bytes = payload_->constant(constant.index, constant.size, /*by_kernels=*/true);
  if (!bytes.ok()) {
    error_ = bytes.error();
    return false;
  }
  weights.data = bytes->data();
  if (weights.digest) {
    weights.size = bytes->size();  // the digest is that of the whole constant
  }
  values[constant.value].data = const_cast<uint8_t*>(bytes->data());
  return true;
}

void NodePacker::release(const PackedConstant& constant, xnn_value* values) {
  payload_->release(constant.index);
  if (!payload_->is_held(constant.index)) {  // other nodes read held constants at run time
    values[constant.value].data = const_cast<void*>(payload_->placeholder());
  }
}

bool NodePacker::has_right_size(xnn_operator_data* data) {
  const size_t linear = packed_linear_size(data), needed = linear == 0 ? needed_size() : linear;
  if (found_size() == 0 || found_size() == needed) {
    return true;
  }
  ET_LOG(Error,
         "XNNPACK: the file of packed weights holds %zu bytes for a layer that needs %zu bytes; its weights are packed "
         "again",
         found_size(), needed);
  delete_operators(data);
  ignore_found();
  return false;
}

xnn_status NodePacker::create_operator(const xnn_node* node, const xnn_value* values, size_t num_values,
                                       xnn_operator_data* data, xnn_code_cache* code, xnn_weights_cache_t cache) {
  auto& self = *static_cast<NodePacker*>(static_cast<DelegateWeights*>(cache->context));
  const xnn_status status = without_exceptions(
      xnn_status_out_of_memory, [&] { return self.create(node, values, num_values, data, code, cache); });
  self.end();
  return status;
}

xnn_status NodePacker::create(const xnn_node* node, const xnn_value* values, size_t num_values, xnn_operator_data* data,
                              xnn_code_cache* code, xnn_weights_cache_t cache) {
  const Node& found = nodes_.at(node->id);
  const PackedNode& packed = found.packed;
  auto* changed = const_cast<xnn_value*>(values);  // they belong to the runtime that is being created
  OriginalWeights filter = describe(packed.filter);
  OriginalWeights bias_if_any = packed.bias ? describe(*packed.bias) : OriginalWeights{};
  OriginalWeights* const bias = packed.bias ? &bias_if_any : nullptr;
  xnn_status status = xnn_status_invalid_parameter;
  // Returns false if the operator has to be created again, because packed weights of the wrong size were found.
  const auto attempt = [&] {
    status = found.create(node, values, num_values, data, code, cache);
    return status != xnn_status_success || has_right_size(data);
  };
  begin(&filter, bias);
  bool has_to_read = !may_be_packed(filter, bias);
  if (!has_to_read) {
    has_to_read = !attempt() || are_missing();
  }
  if (has_to_read) {
    const bool is_read =
        read(packed.filter, filter, changed) && (bias == nullptr || read(*packed.bias, *bias, changed));
    if (!names()) {
      begin(&filter, bias);  // weights without a digest can be named now that they are in memory
    }
    status = xnn_status_invalid_parameter;
    if (is_read && !attempt()) {
      (void)attempt();
    }
    release(packed.filter, changed);
    if (bias != nullptr) {
      release(*packed.bias, changed);
    }
  }
  return status;
}

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
