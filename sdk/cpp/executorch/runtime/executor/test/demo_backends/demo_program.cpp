// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/executor/test/demo_backends/demo_program.h>

#include <cstdlib>
#include <limits>
#include <utility>

#include <executorch/runtime/platform/log.h>

namespace executorch {
namespace runtime {
namespace testing {

namespace {

using Kind = DemoOperand::Kind;

/// The text that is left to read.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  bool take(std::string_view word) {
    if (text_.substr(position_, word.size()) != word) {
      return false;
    }
    position_ += word.size();
    return true;
  }

  /// The text up to one of `ends`, which is not consumed.
  std::string_view until(std::string_view ends) {
    const size_t end = std::min(text_.find_first_of(ends, position_), text_.size());
    const std::string_view word = text_.substr(position_, end - position_);
    position_ = end;
    return word;
  }

  bool at_end() const { return position_ == text_.size(); }
  size_t position() const { return position_; }

 private:
  std::string_view text_;
  size_t position_ = 0;
};

bool read_integer(std::string_view word, uint64_t limit, uint64_t* value) {
  *value = 0;
  for (const char digit : word) {
    if (digit < '0' || digit > '9' || *value > limit / 10) {
      return false;
    }
    *value = *value * 10 + static_cast<uint64_t>(digit - '0');
  }
  return !word.empty() && *value <= limit;
}

bool read_index(std::string_view word, size_t* value) {
  uint64_t read = 0;
  const bool ok = read_integer(word, std::numeric_limits<uint32_t>::max(), &read);
  *value = static_cast<size_t>(read);
  return ok;
}

bool read_number(std::string_view word, double* value) {
  const std::string text(word);
  char* end = nullptr;
  *value = std::strtod(text.c_str(), &end);
  return !text.empty() && end == text.c_str() + text.size();
}

/// Calls `item` with the words between `separator`s; false if one of the calls returns false.
template <typename Item>
bool for_each_word(std::string_view text, char separator, const Item& item) {
  while (true) {
    const size_t end = text.find(separator);
    if (!item(text.substr(0, end))) {
      return false;
    }
    if (end == std::string_view::npos) {
      return true;
    }
    text.remove_prefix(end + 1);
  }
}

bool read_op(std::string_view name, DemoOp* op) {
  constexpr std::pair<std::string_view, DemoOp> kOps[] = {
      {"aten.add.Tensor", DemoOp::kAdd},
      {"aten.linear.default", DemoOp::kLinear},
      {"aten.mm.default", DemoOp::kMm},
      {"aten.mul.Tensor", DemoOp::kMul},
      {"aten.scaled_dot_product_attention.default", DemoOp::kAttention},
      {"aten.sin.default", DemoOp::kSin},
      {"aten.upsample_nearest2d.vec", DemoOp::kUpsampleNearest},
  };
  for (const auto& [known, value] : kOps) {
    if (name == known) {
      *op = value;
      return true;
    }
  }
  ET_LOG(Error, "BackendWithCompilerDemo has no operator %.*s", static_cast<int>(name.size()), name.data());
  return false;
}

bool read_dtype(std::string_view name, aten::ScalarType* dtype) {
  constexpr std::pair<std::string_view, aten::ScalarType> kTypes[] = {
      {"torch.float32", aten::ScalarType::Float},
      {"torch.float64", aten::ScalarType::Double},
      {"torch.int32", aten::ScalarType::Int},
      {"torch.int64", aten::ScalarType::Long},
  };
  for (const auto& [known, value] : kTypes) {
    if (name == known) {
      *dtype = value;
      return true;
    }
  }
  return false;
}

bool read_weight(std::string_view text, DemoOperand* operand) {
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos) {
    return false;
  }
  operand->kind = Kind::kWeight;
  operand->key = std::string(text.substr(0, colon));
  text.remove_prefix(colon + 1);
  return text.empty() || for_each_word(text, 'x', [operand](std::string_view word) {
           uint64_t size = 0;
           const bool ok = read_integer(word, std::numeric_limits<int32_t>::max(), &size);
           operand->sizes.push_back(static_cast<int32_t>(size));
           return ok && operand->sizes.size() <= kTensorDimensionLimit;
         });
}

/// `earlier`: the number of instructions whose results exist.
bool read_operand(std::string_view text, size_t earlier, DemoOperand* operand) {
  if (text.empty()) {
    return false;
  }
  const char kind = text.front();
  text.remove_prefix(1);
  switch (kind) {
    case '-':
      return text.empty();
    case 'i':
      operand->kind = Kind::kInput;
      return read_index(text, &operand->index);
    case 'v':
      operand->kind = Kind::kResult;
      return read_index(text, &operand->index) && operand->index < earlier;
    case 'n':
      operand->kind = Kind::kNumber;
      return read_number(text, &operand->number);
    case 'l':
      operand->kind = Kind::kList;
      return for_each_word(text, '/', [operand](std::string_view word) {
        operand->list.push_back(0);
        return read_number(word, &operand->list.back());
      });
    case 'w':
      return read_weight(text, operand);
    default:
      return false;
  }
}

bool read_instruction(Reader& reader, size_t earlier, DemoInstruction* instruction) {
  uint64_t numel = 0;
  uint64_t handle = 0;
  if (!reader.take("op:demo::") || !read_op(reader.until(","), &instruction->op) || !reader.take(", numel:") ||
      !read_integer(reader.until(","), std::numeric_limits<int32_t>::max(), &numel) || !reader.take(", dtype:") ||
      !read_dtype(reader.until(",<"), &instruction->dtype)) {
    return false;
  }
  instruction->numel = static_cast<size_t>(numel);
  if (reader.take(", args:")) {
    const bool ok = for_each_word(reader.until("<"), ';', [&](std::string_view word) {
      instruction->operands.emplace_back();
      return read_operand(word, earlier, &instruction->operands.back());
    });
    if (!ok) {
      return false;
    }
  } else {
    instruction->operands.emplace_back();
    instruction->operands[0].kind = earlier == 0 ? Kind::kInput : Kind::kResult;
    instruction->operands[0].index = earlier == 0 ? 0 : earlier - 1;
  }
  const bool ok = reader.take("<debug_handle>") &&
                  read_integer(reader.until("#"), std::numeric_limits<uint32_t>::max(), &handle) && reader.take("#");
  instruction->debug_handle = static_cast<uint32_t>(handle);
  return ok;
}

bool read_program(Reader& reader, DemoProgram* program) {
  uint64_t count = 0;
  if (!read_integer(reader.until("v"), std::numeric_limits<uint32_t>::max(), &count) || !reader.take("version:0#")) {
    return false;
  }
  // Each instruction takes some text, so a count that is too large fails here and causes no large allocation.
  for (uint64_t i = 0; i < count; ++i) {
    program->instructions.emplace_back();
    if (!read_instruction(reader, static_cast<size_t>(i), &program->instructions.back())) {
      return false;
    }
  }
  if (reader.take("out:")) {
    const bool ok = for_each_word(reader.until("#"), ';', [program](std::string_view word) {
      DemoOperand operand;
      const bool is_result =
          read_operand(word, program->instructions.size(), &operand) && operand.kind == Kind::kResult;
      program->outputs.push_back(operand.index);
      return is_result;
    });
    return ok && reader.take("#") && reader.at_end();
  }
  if (!program->instructions.empty()) {
    program->outputs.push_back(program->instructions.size() - 1);
  }
  return !program->instructions.empty() && reader.at_end();
}

}  // namespace

Result<DemoProgram> parse_demo_program(std::string_view payload) {
  Reader reader(payload);
  DemoProgram program;
  ET_CHECK_OR_RETURN_ERROR(read_program(reader, &program), DelegateInvalidCompatibility,
                           "The payload of %zu bytes is not a program of BackendWithCompilerDemo, version 0, from byte "
                           "%zu on: export it again with this SDK's demo",
                           payload.size(), reader.position());
  return program;
}

}  // namespace testing
}  // namespace runtime
}  // namespace executorch
