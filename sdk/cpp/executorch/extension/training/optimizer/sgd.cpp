// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/training/optimizer/sgd.h>

#include <cmath>

#include <executorch/extension/tensor/tensor_ptr_maker.h>
#include <executorch/runtime/core/exec_aten/util/tensor_util.h>
#include <executorch/runtime/platform/log.h>

namespace executorch {
namespace extension {
namespace training {
namespace optimizer {

using executorch::aten::ScalarType;
using executorch::aten::Tensor;
using runtime::Error;

namespace {

/// Steps the elements of one parameter. `velocity` is null without momentum; `is_first`: it has no value yet.
template <typename T>
void step_elements(const SGDOptions& options, bool is_first, const Tensor& gradient, T* velocity, Tensor& parameter) {
  const T lr = static_cast<T>(options.lr());
  const T momentum = static_cast<T>(options.momentum());
  const T fresh = static_cast<T>(1 - options.dampening());
  const T decay = static_cast<T>(options.weight_decay());
  const T* const from = gradient.const_data_ptr<T>();
  T* const to = parameter.mutable_data_ptr<T>();
  const auto count = static_cast<size_t>(parameter.numel());
  for (size_t i = 0; i < count; ++i) {
    T d = from[i] + decay * to[i];
    if (velocity != nullptr) {
      velocity[i] = is_first ? d : momentum * velocity[i] + fresh * d;
      d = options.nesterov() ? d + momentum * velocity[i] : velocity[i];
    }
    to[i] -= lr * d;
  }
}

bool has_data(const Tensor& tensor) {
  return tensor.numel() == 0 || tensor.const_data_ptr() != nullptr;
}

bool is_like(const Tensor& a, const Tensor& b) {
  const auto order_of_a = a.dim_order();
  const auto order_of_b = b.dim_order();
  return a.scalar_type() == b.scalar_type() && a.sizes() == b.sizes() && order_of_a == order_of_b;
}

Error check_options(const SGDOptions& options) {
  // NaN fails each of these comparisons.
  const bool is_valid = options.lr() >= 0 && options.momentum() >= 0 && options.weight_decay() >= 0;
  ET_CHECK_OR_RETURN_ERROR(is_valid, InvalidArgument,
                           "expected lr, momentum and weight_decay from 0 on, found %g, %g and %g", options.lr(),
                           options.momentum(), options.weight_decay());
  ET_CHECK_OR_RETURN_ERROR(!std::isnan(options.dampening()), InvalidArgument,
                           "expected a number as dampening, found NaN");
  ET_CHECK_OR_RETURN_ERROR(!options.nesterov() || (options.momentum() > 0 && options.dampening() == 0), InvalidArgument,
                           "nesterov needs a momentum above 0 and no dampening, found %g and %g", options.momentum(),
                           options.dampening());
  return Error::Ok;
}

}  // namespace

SGD::SGD(const std::vector<SGDParamGroup>& param_groups, SGDOptions defaults) : defaults_(defaults) {
  for (const SGDParamGroup& group : param_groups) {
    add_param_group(group);
  }
}

SGD::~SGD() = default;

void SGD::add_param_group(const SGDParamGroup& param_group) {
  param_groups_.push_back(param_group);
  SGDParamGroup& added = param_groups_.back();
  if (!added.has_options()) {
    added.set_options(defaults_.clone());
  }
  for (const auto& [name, value] : added.named_parameters()) {
    const bool is_new = parameters_.emplace(name, Parameter{value, param_groups_.size() - 1, nullptr, nullptr}).second;
    has_repeated_name_ = has_repeated_name_ || !is_new;
  }
}

Error SGD::check(const std::map<std::string_view, Tensor>& named_gradients) const {
  ET_CHECK_OR_RETURN_ERROR(!has_repeated_name_, InvalidArgument, "two groups have a parameter of the same name");
  for (const SGDParamGroup& group : param_groups_) {
    ET_CHECK_OK_OR_RETURN_ERROR(check_options(group.options()));
  }
  for (const auto& [name, gradient] : named_gradients) {
    const auto found = parameters_.find(name);
    const int length = static_cast<int>(name.size());
    ET_CHECK_OR_RETURN_ERROR(found != parameters_.end(), InvalidArgument, "there is no parameter %.*s", length,
                             name.data());
    const Tensor& value = found->second.value;
    for (const Tensor* const tensor : {&value, &gradient}) {
      const char* const what = tensor == &value ? "parameter" : "gradient";
      // A null TensorPtr becomes such a tensor.
      ET_CHECK_OR_RETURN_ERROR(tensor->unsafeGetTensorImpl() != nullptr, InvalidArgument,
                               "the %s %.*s is a null pointer: expected a tensor", what, length, name.data());
      ET_CHECK_OR_RETURN_ERROR(tensor->device().is_cpu() && has_data(*tensor), InvalidArgument,
                               "the %s %.*s has no data in CPU memory", what, length, name.data());
    }
    ET_CHECK_OR_RETURN_ERROR(value.scalar_type() == ScalarType::Float || value.scalar_type() == ScalarType::Double,
                             InvalidArgument, "expected a parameter of dtype Float or Double, found %.*s with %s",
                             length, name.data(), runtime::toString(value.scalar_type()));
    ET_CHECK_OR_RETURN_ERROR(
        is_like(gradient, value), InvalidArgument,
        "expected a gradient of %.*s with the sizes, dim order and dtype of the parameter, %s with "
        "%zd elements; found %s with %zd",
        length, name.data(), runtime::toString(value.scalar_type()), static_cast<ssize_t>(value.numel()),
        runtime::toString(gradient.scalar_type()), static_cast<ssize_t>(gradient.numel()));
  }
  return Error::Ok;
}

Error SGD::step(const std::map<std::string_view, Tensor>& named_gradients) {
  ET_CHECK_OK_OR_RETURN_ERROR(check(named_gradients));
  std::map<std::string_view, TensorPtr> first;
  for (const auto& [name, gradient] : named_gradients) {
    const Parameter& parameter = parameters_.at(name);
    if (param_groups_[parameter.group].options().momentum() != 0 && parameter.state == nullptr) {
      first[name] = clone_tensor_ptr(parameter.value);
      ET_CHECK_OR_RETURN_ERROR(first[name] != nullptr, MemoryAllocationFailed, "no memory for a velocity");
    }
  }
  for (const auto& [name, gradient] : named_gradients) {
    Parameter& parameter = parameters_.at(name);
    const SGDOptions& options = param_groups_[parameter.group].options();
    const auto fresh = first.find(name);
    if (fresh != first.end()) {
      parameter.velocity_memory = std::move(fresh->second);
      parameter.state = std::make_unique<SGDParamState>(*parameter.velocity_memory);
    }
    Tensor* const velocity = options.momentum() != 0 ? &parameter.state->momentum_buffer() : nullptr;
    if (parameter.value.scalar_type() == ScalarType::Double) {
      step_elements(options, fresh != first.end(), gradient,
                    velocity != nullptr ? velocity->mutable_data_ptr<double>() : nullptr, parameter.value);
    } else {
      step_elements(options, fresh != first.end(), gradient,
                    velocity != nullptr ? velocity->mutable_data_ptr<float>() : nullptr, parameter.value);
    }
  }
  return Error::Ok;
}

}  // namespace optimizer
}  // namespace training
}  // namespace extension
}  // namespace executorch
