// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * The interface of operators. Payloads are untrusted: the accessors below check ids, kinds and ranges of
 * arguments. After the first failure the context does nothing more, so that operators need no checks between calls;
 * whatever they read is a valid default.
 */
#pragma once

#include <cstdarg>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include <executorch/runtime/platform/compiler.h>

#include "graph/graph.h"
#include "graph/tensor.h"

namespace executorch {
namespace backends {
namespace vulkan {

/// Parameters of a dispatch, in the order of the shader's declaration.
class Parameters final {
 public:
  Parameters& i(int64_t value) {
    values_.push_back(static_cast<int32_t>(value));
    return *this;
  }
  Parameters& f(double value);
  /// The first `length` of `items`, filled with `rest`.
  Parameters& array(const std::vector<int64_t>& items, size_t length, int64_t rest = 0);
  const std::vector<int32_t>& values() const { return values_; }

 private:
  std::vector<int32_t> values_;
};

/// The number of threads in x, y and z.
struct Threads {
  int64_t x = 1, y = 1, z = 1;
};

class OpContext final {
 public:
  OpContext(Graph& graph, const Graph::Call& call) : graph_(graph), call_(call) {}

  runtime::Error error() const { return error_; }
  bool failed() const { return error_ != runtime::Error::Ok; }
  /// Logs the operator's name with the message and fails with InvalidProgram.
  void fail(const char* format, ...) ET_PRINTFLIKE(2, 3);
  /// Fails unless `condition`.
  bool check(bool condition, const char* format, ...) ET_PRINTFLIKE(3, 4);
  /// Fails if the loops of a thread have more iterations in total than the driver allows.
  bool check_iterations(int64_t iterations);
  void fail(runtime::Error error) { error_ = failed() ? error_ : error; }
  void fail_unless_ok(runtime::Error error) { fail(error); }

  std::string_view name() const { return call_.name; }
  int num_args() const { return static_cast<int>(call_.args.size()); }
  const gpu::Features& features() const { return graph_.device_->features(); }

  bool is_null(int arg) { return value(arg).type == Value::Type::Null; }
  bool is_tensor(int arg) { return value(arg).type == Value::Type::Tensor; }
  Tensor& tensor(int arg);
  /// The last argument.
  Tensor& result() { return tensor(num_args() - 1); }
  /// Null if the argument is Null.
  Tensor* optional_tensor(int arg) { return is_null(arg) ? nullptr : &tensor(arg); }
  /// An Int, Bool, SymInt or whole Double of at most 32 bits, so that products with sizes fit 64.
  int64_t integer(int arg);
  /// Like integer(), for any size.
  int64_t long_integer(int arg);
  int64_t integer(int arg, int64_t if_null) { return is_null(arg) ? if_null : integer(arg); }
  /// A number of any kind.
  double real(int arg);
  double real(int arg, double if_null) { return is_null(arg) ? if_null : real(arg); }
  bool boolean(int arg) { return integer(arg) != 0; }
  std::string_view text(int arg);
  /// At most 64 integers of at most 32 bits, symbolic ones too. Null becomes an empty list, an integer a list of one.
  std::vector<int64_t> integers(int arg);
  std::vector<double> reals(int arg);
  /// The tensors of a list of values; null ones are null pointers.
  std::vector<Tensor*> tensors(int arg);
  /// A dimension of a tensor of this rank, counted from the start.
  int dim(int arg, int rank) { return wrap(integer(arg), rank); }
  int wrap(int64_t dim, int rank);
  /// Sets the result of symbolic arithmetic.
  void set_integer(int arg, int64_t value);
  /// An element of an input of the delegate; 0 while the program is loaded.
  int64_t host_element(int arg, int64_t index);

  /// The sizes of `result` that the list `arg` has. While the program is loaded for the largest shapes, symbolic inputs
  /// may be unknown (0, as the original writes them). If one is, these are the result's largest sizes.
  Sizes sizes_of(const Tensor& result, int arg);

  /// Sets the sizes of a result; fails if they are larger than planned, or if they change and it is an argument, too.
  void resize(Tensor& tensor, const Sizes& sizes);

  /// Memory until the operator's last dispatch. `number` distinguishes several of an operator; `capacity` is the number
  /// of elements at the largest shapes.
  Tensor& scratch(int number, Kind kind, const Sizes& sizes, int64_t capacity);

  /// Whether the tensor is a constant whose bytes can be packed.
  static bool is_constant(const Tensor& tensor) { return tensor.constant >= 0 && !tensor.is_state; }
  /**
   * A constant in a layout specific to the operator, made when the program is loaded and shared between methods.
   *
   * @param tag Names the form with all numbers on which it depends.
   * @param pack Makes the bytes on the GPU from those of the program.
   */
  template <typename Pack>
  gpu::Buffer* packed(const Tensor& tensor, const std::string& tag, Pack&& pack) {
    if (failed() || !check(is_constant(tensor), "%s must be constant", tag.c_str())) {
      return nullptr;
    }
    auto& found = graph_.packed_[{call_.number, tag}];
    if (found == nullptr) {
      const uint64_t bytes = static_cast<uint64_t>(count_of(tensor.max_sizes)) * stored_bytes(tensor.dtype);
      auto made = graph_.packed(tensor.constant, bytes, tag + "/" + name_of(tensor.dtype), pack);
      if (!made.ok()) {
        fail(made.error());
        return nullptr;
      }
      found = made.get();
    }
    return found.get();
  }

  /// A tensor's memory, as an argument of run().
  gpu::Buffer* memory(Tensor& tensor);
  gpu::Buffer* memory(Tensor* tensor) { return memory(*tensor); }

  /**
   * Records a dispatch.
   *
   * @param shader Name of a family and of its variant, such as binary_float.
   * @param buffers In the order of the shader; null ones (an operator without bias) are not used.
   * @param constants The specialisation constants after the size of the workgroup.
   */
  void run(const std::string& shader, std::initializer_list<gpu::Buffer*> buffers, const Parameters& parameters,
           Threads threads, const std::vector<int32_t>& constants = {}, std::array<uint32_t, 3> local = {64, 1, 1});
  /// Like run() above, for a number of threads without a shape: workgroups beyond 32768 in x go to y.
  void run(const std::string& shader, std::initializer_list<gpu::Buffer*> buffers, const Parameters& parameters,
           int64_t threads, const std::vector<int32_t>& constants = {}, std::array<uint32_t, 3> local = {64, 1, 1}) {
    linear_ = true;
    run(shader, buffers, parameters, Threads{threads, 1, local[2]}, constants, local);
    linear_ = false;
  }

 private:
  Value& value(int arg);
  int64_t in_32_bits(int64_t number);
  bool is_loading() const;
  /// How often a tensor is among the arguments and their items, the result included.
  int num_uses(const Tensor& tensor) const;

  Graph& graph_;
  const Graph::Call& call_;
  runtime::Error error_ = runtime::Error::Ok;
  bool linear_ = false;
  Tensor nothing_;
  std::vector<std::unique_ptr<Tensor>> temporaries_;
  Value null_;
};

/// An operator of the payload.
struct Operator {
  const char* name;
  void (*run)(OpContext& context);
};

/// The operator of this name, or null.
const Operator* find_operator(std::string_view name);

/// The shader of this name, or null.
const gpu::Shader* find_shader(std::string_view name);

}  // namespace vulkan
}  // namespace backends
}  // namespace executorch
