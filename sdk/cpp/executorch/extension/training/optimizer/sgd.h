// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <map>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include <executorch/extension/tensor/tensor_ptr.h>
#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>

namespace executorch {
namespace extension {
namespace training {
namespace optimizer {

/// The optimizer's state of a parameter between steps: the velocity, a tensor like the parameter.
class SGDParamState {
 public:
  explicit SGDParamState(executorch::aten::Tensor& momentum_buffer) : momentum_buffer_(momentum_buffer) {}

  executorch::aten::Tensor& momentum_buffer() { return momentum_buffer_; }

 private:
  executorch::aten::Tensor momentum_buffer_;
};

/// The hyperparameters of `torch.optim.SGD`. `lr`, `momentum` and `weight_decay` may not be negative, none may be NaN,
/// and `nesterov` needs a momentum and no dampening; `SGD::step` refuses others.
class SGDOptions {
 public:
  explicit SGDOptions(double lr, double momentum = 0, double dampening = 0, double weight_decay = 0,
                      bool nesterov = false)
      : lr_(lr), momentum_(momentum), dampening_(dampening), weight_decay_(weight_decay), nesterov_(nesterov) {}

  std::unique_ptr<SGDOptions> clone() const { return std::make_unique<SGDOptions>(*this); }

  double lr() const { return lr_; }
  double momentum() const { return momentum_; }
  double dampening() const { return dampening_; }
  double weight_decay() const { return weight_decay_; }
  bool nesterov() const { return nesterov_; }

 private:
  double lr_;
  double momentum_;
  double dampening_;
  double weight_decay_;
  bool nesterov_;
};

/// Parameters that share options. The tensors, and the texts of the names, must outlive the group.
class SGDParamGroup {
 public:
  /// A group that uses the options of the optimizer that it is added to.
  SGDParamGroup(const std::map<std::string_view, executorch::aten::Tensor>& named_parameters)  // NOLINT: implicit
      : named_parameters_(named_parameters) {}
  SGDParamGroup(const std::map<std::string_view, executorch::aten::Tensor>& named_parameters,
                std::unique_ptr<SGDOptions> options)
      : named_parameters_(named_parameters), options_(std::move(options)) {}

  SGDParamGroup(const SGDParamGroup& param_group)
      : named_parameters_(param_group.named_parameters_),
        options_(param_group.has_options() ? param_group.options_->clone() : nullptr) {}
  SGDParamGroup& operator=(const SGDParamGroup& param_group) {
    named_parameters_ = param_group.named_parameters_;
    options_ = param_group.has_options() ? param_group.options_->clone() : nullptr;
    return *this;
  }
  SGDParamGroup(SGDParamGroup&&) = default;
  SGDParamGroup& operator=(SGDParamGroup&&) = default;
  ~SGDParamGroup() = default;

  /// Whether it has its own options.
  bool has_options() const { return options_ != nullptr; }
  /// Only if it has options.
  SGDOptions& options() { return *options_; }
  const SGDOptions& options() const { return *options_; }
  void set_options(std::unique_ptr<SGDOptions> options) { options_ = std::move(options); }

  const std::map<std::string_view, executorch::aten::Tensor>& named_parameters() const { return named_parameters_; }

 private:
  std::map<std::string_view, executorch::aten::Tensor> named_parameters_;
  std::unique_ptr<SGDOptions> options_;
};

/// Stochastic gradient descent with the rule of `torch.optim.SGD`. With d = gradient + weight_decay * parameter, the
/// first step of a parameter sets v = d, and each further one v = momentum * v + (1 - dampening) * d. Then it subtracts
/// lr * v from the parameter; with nesterov lr * (d + momentum * v), and without momentum lr * d.
class SGD {
 public:
  explicit SGD(const std::vector<SGDParamGroup>& param_groups, SGDOptions defaults);
  explicit SGD(const std::map<std::string_view, executorch::aten::Tensor>& named_parameters, SGDOptions defaults)
      : SGD(std::vector<SGDParamGroup>{SGDParamGroup(named_parameters)}, defaults) {}
  SGD(const SGD&) = delete;
  SGD& operator=(const SGD&) = delete;
  ~SGD();

  /// More parameters, for instance of a layer that was frozen before.
  void add_param_group(const SGDParamGroup& param_group);

  /// Changes the parameters in place. Those without a gradient are not changed. `named_gradients` has the gradients by
  /// the names of the parameters, with the same sizes, dim order and dtype, which is Float or Double.
  ///
  /// InvalidArgument, after a log line and without any change: for options that SGDOptions excludes, for a gradient
  /// without a parameter or unlike it, for a tensor without data in CPU memory, and for a name that is in two groups.
  /// MemoryAllocationFailed if there is no memory for a velocity.
  ET_NODISCARD runtime::Error step(const std::map<std::string_view, executorch::aten::Tensor>& named_gradients);

 private:
  /// A parameter with the options of its group; the velocity from its first step with momentum on.
  struct Parameter {
    executorch::aten::Tensor value;
    size_t group;
    TensorPtr velocity_memory;
    std::unique_ptr<SGDParamState> state;
  };

  runtime::Error check(const std::map<std::string_view, executorch::aten::Tensor>& named_gradients) const;

  SGDOptions defaults_;
  std::vector<SGDParamGroup> param_groups_;
  std::map<std::string_view, Parameter> parameters_;
  bool has_repeated_name_ = false;
};

}  // namespace optimizer
}  // namespace training
}  // namespace extension
}  // namespace executorch
