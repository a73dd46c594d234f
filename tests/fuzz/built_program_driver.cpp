// SPDX-License-Identifier: BSD-3-Clause
#include "built_program_driver.h"

#include <vector>

#include <executorch/runtime/executor/test/program_builder.h>

#include "choices.h"

namespace executorch {
namespace fuzz {

namespace {

using executorch::runtime::testing::ProgramBuilder;
using executorch::runtime::testing::TensorSpec;
namespace fb = executorch_flatbuffer;

constexpr size_t kPlannedBytes = 4096;
constexpr size_t kConstants = 4;
constexpr size_t kConstantBytes = 256;

/// What an operator takes: t tensor, i int, l list of ints, T list of tensors, O list of optional tensors, b bool.
struct Op {
  const char* name;
  const char* overload;
  const char* arguments;
};

constexpr Op kOps[] = {
    {"aten::add", "out", "ttitt"},
    {"aten::mul", "out", "tttt"},
    {"aten::cat", "out", "Titt"},
    {"aten::index", "Tensor_out", "tOtt"},
    {"aten::view_copy", "out", "tltt"},
    {"aten::sum", "IntList_out", "tlbitt"},
    {"aten::index_put", "out", "tOtbtt"},
    {"aten::slice_copy", "Tensor_out", "tiiiitt"},
    {"aten::where", "self_out", "ttttt"},
    {"executorch_prim::et_view", "default", "tlt"},
    {"executorch_prim::et_copy_index", "tensor", "tti"},
    {"executorch_prim::add", "Scalar", "iii"},
    {"executorch_prim::floordiv", "Scalar", "iii"},
    {"aten::sym_size", "int", "tii"},
};

class Writer {
 public:
  explicit Writer(Choices choices) : choices_(choices) {}

  Outcome run() {
    constexpr size_t kRates[] = {0, 0, 255, 64};
    rate_ = kRates[choices_.below(4)];
    const bool in_segment = choices_.below(2) == 1;
    add_data(in_segment);
    add_tensor();
    add_tensor();
    note('i', builder_.integer(number(1)));
    note('b', builder_.boolean(true));
    for (size_t i = 2 + choices_.below(12); i > 0; --i) {
      add_value();
    }
    for (size_t i = choices_.below(3); i > 0; --i) {
      builder_.inputs.push_back(index('o'));
    }
    for (size_t i = 1 + choices_.below(8); i > 0; --i) {
      add_instruction();
    }
    for (size_t i = choices_.below(4); i > 0; --i) {
      builder_.outputs.push_back(index('t'));
    }
    if (odd()) {
      builder_.names.push_back(choices_.below(2) == 0 ? "forward" : "other");
    }
    const auto file = builder_.finish();
    return run_program(file.data(), file.size());
  }

 private:
  /// Decides whether the next value is hostile.
  bool odd() { return rate_ > 0 && choices_.once_in(rate_); }

  /// Returns `usual` most of the time.
  int64_t number(int64_t usual) {
    if (!odd()) {
      return usual;
    }
    switch (choices_.below(4)) {
      case 0:
        return usual + static_cast<int64_t>(choices_.below(9)) - 4;
      case 1:
        return int64_t{1} << choices_.below(63);
      case 2:
        return -1 - static_cast<int64_t>(choices_.below(4));
      default:
        return static_cast<int64_t>(choices_.word());
    }
  }

  void add_data(bool in_segment) {
    builder_.planned_sizes = {number(0), number(kPlannedBytes), number(64)};
    const std::vector<uint8_t> constant(kConstantBytes, 1);
    if (in_segment) {
      builder_.segments = {std::vector<uint8_t>(kConstants * kConstantBytes, 1),
                           std::vector<uint8_t>(kConstantBytes, 2)};
      for (size_t i = 0; i < kConstants; ++i) {
        builder_.constant_offsets.push_back(static_cast<uint64_t>(number(static_cast<int64_t>(i * kConstantBytes))));
      }
      builder_.constant_segment = static_cast<uint32_t>(number(0));
      builder_.mutable_offsets = {0, static_cast<uint64_t>(number(0)), static_cast<uint64_t>(number(64))};
      builder_.mutable_segment = static_cast<uint32_t>(number(1));
      builder_.named_data = {{"weight", static_cast<uint32_t>(number(1))}};
    } else {
      builder_.constants.assign(kConstants - 1, constant);
    }
  }

  void add_value() {
    switch (choices_.below(12)) {
      case 0:
        return note('i', builder_.integer(number(static_cast<int64_t>(choices_.below(4)))));
      case 1:
        return note('b', builder_.boolean(choices_.below(2) == 1));
      case 2:
        return note('n', builder_.null());
      case 3:
        return note('l', builder_.int_list(indices('i')));
      case 4: {
        const std::vector<int32_t> items = indices_of_tensors();
        return note('T', builder_.tensor_list(items));
      }
      case 5: {
        std::vector<int32_t> items = indices_of_tensors();
        if (choices_.below(2) == 0) {
          items.push_back(-1);
        }
        return note('O', builder_.optional_tensor_list(items));
      }
      case 6:
        return note('s', builder_.string("text"));
      default:
        return add_tensor();
    }
  }

  void add_tensor() {
    TensorSpec spec;
    size_t elements = 1;
    for (size_t i = choices_.below(4); i > 0; --i) {
      const size_t size = choices_.below(4);
      elements *= size;
      spec.sizes.push_back(static_cast<int32_t>(number(static_cast<int64_t>(size))));
      spec.dim_order.push_back(static_cast<uint8_t>(number(static_cast<int64_t>(spec.dim_order.size()))));
    }
    if (choices_.once_in(4)) {
      spec.type = static_cast<fb::ScalarType>(choices_.below(odd() ? 64 : 8));
    }
    spec.dynamism = static_cast<fb::TensorShapeDynamism>(number(choices_.once_in(4) ? 1 : 0));
    spec.planned = choices_.below(4) != 0;
    if (!spec.planned) {
      spec.data_buffer_idx = static_cast<uint32_t>(number(static_cast<int64_t>(1 + choices_.below(kConstants - 1))));
    } else {
      spec.memory_id = static_cast<uint32_t>(number(1));
      spec.offset = static_cast<uint32_t>(number(static_cast<int64_t>(used_)));
      spec.offset_high = static_cast<uint32_t>(number(0));
      spec.data_buffer_idx = choices_.once_in(8) ? static_cast<uint32_t>(number(1)) : 0;
      used_ = (used_ + elements * 8 + 15) / 16 * 16 % kPlannedBytes;
    }
    if (odd()) {
      spec.name = "weight";
      spec.location = static_cast<fb::TensorDataLocation>(number(choices_.below(2) == 0 ? 0 : 1));
    }
    note(spec.planned ? 't' : 'c', builder_.tensor(spec));
  }

  void add_instruction() {
    switch (choices_.below(8)) {
      case 0:
        return builder_.move(index('i'), index('i'));
      case 1:
        return builder_.jump_false(index('b'), static_cast<int32_t>(number(static_cast<int64_t>(choices_.below(8)))));
      case 2:
        return builder_.free_value(index('t'));
      default: {
        const Op& op = kOps[choices_.below(sizeof(kOps) / sizeof(kOps[0]))];
        std::vector<int32_t> arguments;
        for (const char* kind = op.arguments; *kind != '\0'; ++kind) {
          // The last two arguments are the output, given twice; it has planned memory.
          const bool is_output = *kind == 't' && (kind[1] == '\0' || (kind[1] == 't' && kind[2] == '\0'));
          const bool again = is_output && kind[1] == '\0' && arguments.size() > 1;
          arguments.push_back(again && !odd() ? arguments.back() : index(is_output ? 'o' : *kind));
        }
        if (odd()) {
          arguments.pop_back();
        }
        const int32_t number_of_op = builder_.op(op.name, op.overload);
        builder_.call(static_cast<int32_t>(number(number_of_op)), arguments);
      }
    }
  }

  void note(char kind, int32_t index) {
    (void)index;  // values are numbered in the order in which they are made
    kinds_.push_back(kind);
  }

  /// The index of a random value; rarely (as `rate_` says) a random number instead.
  int32_t index() { return static_cast<int32_t>(number(static_cast<int64_t>(choices_.below(kinds_.size())))); }

  /// Usually the index of a value of that kind, if the program has one.
  int32_t index(char kind) {
    if (odd()) {
      return index();
    }
    const size_t first = choices_.below(kinds_.size());
    for (size_t i = 0; i < kinds_.size(); ++i) {
      const size_t at = (first + i) % kinds_.size();
      const char found = kinds_[at];
      if (found == kind || (kind == 't' && found == 'c') || (kind == 'o' && found == 't')) {
        return static_cast<int32_t>(at);
      }
    }
    return static_cast<int32_t>(first);
  }

  std::vector<int64_t> indices(char kind) {
    std::vector<int64_t> items;
    for (size_t i = choices_.below(4); i > 0 && !kinds_.empty(); --i) {
      items.push_back(index(kind));
    }
    return items;
  }

  std::vector<int32_t> indices_of_tensors() {
    const std::vector<int64_t> items = indices('t');
    return std::vector<int32_t>(items.begin(), items.end());
  }

  Choices choices_;
  ProgramBuilder builder_;
  /// The kind of each value.
  std::vector<char> kinds_;
  size_t used_ = 0;
  /// One of `rate_` numbers is hostile; if it is 0, none.
  size_t rate_ = 0;
};

}  // namespace

Outcome run_built_program(const uint8_t* data, size_t size) {
  return Writer(Choices(data, size)).run();
}

}  // namespace fuzz
}  // namespace executorch
