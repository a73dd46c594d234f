// SPDX-License-Identifier: BSD-3-Clause
#include "kernel_driver.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/memory_allocator.h>
#include <executorch/runtime/kernel/operator_registry.h>
#include <executorch/runtime/platform/platform.h>
#include <kernels/testing/kernel_call.h>

#include "kernel_arguments.h"
#include "paths.h"

namespace executorch {
namespace fuzz {
using executorch::tests::kEagerCasesFolder;

namespace {

using runtime::Error;
using runtime::EValue;
using runtime::Kernel;
using runtime::KernelRuntimeContext;
using runtime::Span;
using runtime::Tag;

constexpr size_t kMaxArguments = 24;

struct Argument {
  Tag tag;
  bool optional;
};

struct Signature {
  const Kernel* kernel;
  std::vector<Argument> arguments;
  /// How many values the program lists after the arguments as results: the last arguments, or kReturnsList.
  size_t outputs = 0;
};

std::string last_message;

void keep_message(et_timestamp_t, et_pal_log_level_t, const char*, const char*, size_t, const char* message,
                  size_t length) {
  last_message.assign(message, length);
}

bool tag_of(const char* name, Tag* tag) {
  for (int candidate = 0; candidate < 16; ++candidate) {
    *tag = static_cast<Tag>(candidate);
    if (std::strcmp(runtime::tag_to_string(*tag), name) == 0) {
      return true;
    }
  }
  return false;
}

/// Reads the arguments of a kernel from its error messages, which name one argument after the other.
bool learn(const Kernel& kernel, Signature* signature) {
  signature->kernel = &kernel;
  const uint8_t nothing = 0;
  for (size_t attempt = 0; attempt <= 2 * kMaxArguments; ++attempt) {
    Choices choices(&nothing, 0);
    Arguments arguments(choices);
    std::vector<EValue*> stack;
    for (const Argument& argument : signature->arguments) {
      stack.push_back(arguments.make(argument.tag));
    }
    EValue wrong;
    wrong.tag = static_cast<Tag>(127);  // a type that no argument has
    size_t count = 0, position = 0;
    char tag[32] = {};
    last_message.clear();
    KernelRuntimeContext context;
    if (signature->arguments.empty()) {
      kernel.op_(context, Span<EValue*>());
      if (std::sscanf(last_message.c_str(), "The operator takes %zu arguments", &count) != 1 || count > kMaxArguments) {
        return false;
      }
      signature->arguments.assign(count, {Tag::None, false});
      continue;
    }
    for (EValue*& value : stack) {
      value = value->isNone() ? &wrong : value;
    }
    arguments.return_outputs(stack, signature->outputs);
    kernel.op_(context, {stack.data(), stack.size()});
    if (last_message.find("does not name what the operator returns") != std::string::npos) {
      const bool has_more = signature->outputs < std::min<size_t>(8, signature->arguments.size());
      signature->outputs = has_more ? signature->outputs + 1 : kReturnsList;
      continue;
    }
    if (std::sscanf(last_message.c_str(), "Argument %zu of the operator must be %31[A-Za-z]", &position, tag) != 2) {
      return true;
    }
    Argument& argument = signature->arguments[position];
    argument.optional = last_message.find(" or None") != std::string::npos;
    if (!tag_of(tag, &argument.tag)) {
      return false;
    }
  }
  return true;
}

// The runtime's own operators take any values, so they are left to fuzz_built_program.
bool is_prim_operator(const char* name) {
  return std::strncmp(name, "executorch_prim::", 17) == 0 || std::strncmp(name, "aten::sym_", 10) == 0 ||
         std::strcmp(name, "aten::_local_scalar_dense") == 0;
}

std::vector<const char*> unreachable;

const std::vector<Signature>& signatures() {
  static const auto* const kSignatures = [] {
    (void)runtime::register_pal(runtime::PalImpl::create(keep_message, __FILE__));
    auto* const result = new std::vector<Signature>;
    for (const Kernel& kernel : runtime::get_registered_kernels()) {
      Signature signature;
      if (learn(kernel, &signature)) {
        result->push_back(std::move(signature));
      } else if (!is_prim_operator(kernel.name_)) {
        unreachable.push_back(kernel.name_);
      }
    }
    return result;
  }();
  return *kSignatures;
}

using Cases = std::map<std::string, std::vector<kernel_testing::Case>>;

// Calls that succeed, of most operators of the portable library.
const Cases& cases() {
  static const auto* const kCases = [] {
    auto* const result = new Cases;
    for (const char* name : {"eager_cases.txt", "eager_nn_cases.txt"}) {
      if (!kernel_testing::read_cases(std::string(kEagerCasesFolder) + "/" + name, result)) {
        std::fprintf(stderr, "%s: %s cannot be read\n", kEagerCasesFolder, name);
        std::abort();
      }
    }
    return result;
  }();
  return *kCases;
}

// Overwrites an element of a tensor with a number that is not an index.
void damage(const EValue& value, Choices& choices) {
  if (!value.isTensor() || value.toTensor().nbytes() == 0) {
    return;
  }
  const auto tensor = value.toTensor();
  const uint8_t bytes[] = {0x00, 0x7f, 0x80, 0xff};
  const size_t size = tensor.element_size();
  uint8_t* const element =
      static_cast<uint8_t*>(tensor.mutable_data_ptr()) + choices.below(static_cast<size_t>(tensor.numel())) * size;
  std::memset(element, bytes[choices.below(4)], size);
  element[size - 1] = bytes[choices.below(4)];
}

// A call that succeeds, with some arguments of another kind of number or tensor.
std::vector<EValue*> changed_call(const Signature& signature, const kernel_testing::Call& call, Arguments& arguments,
                                  Choices& choices) {
  std::vector<EValue*> stack = call.arguments();
  stack.resize(std::min(stack.size(), signature.arguments.size()));
  const size_t often = 2 + choices.below(16);
  for (size_t i = 0; i < stack.size(); ++i) {
    const Argument& argument = signature.arguments[i];
    if (choices.once_in(often)) {
      stack[i] = arguments.make(argument.optional && choices.once_in(3) ? Tag::None : argument.tag);
    } else if (choices.once_in(often)) {
      damage(*stack[i], choices);
    }
  }
  return stack;
}

bool names = false;

}  // namespace

bool call_kernel(const uint8_t* data, size_t size) {
  if (signatures().empty()) {
    return false;
  }
  Choices choices(data, size);
  const size_t number = choices.byte() * size_t(256);
  const Signature& signature = signatures()[(number + choices.byte()) % signatures().size()];
  if (names) {
    std::fprintf(stderr, "%s\n", signature.kernel->name_);
  }
  Arguments arguments(choices);
  std::vector<EValue*> stack;
  std::unique_ptr<kernel_testing::Call> call;
  const auto known = cases().find(signature.kernel->name_);
  if (known != cases().end() && choices.once_in(2)) {
    call = std::make_unique<kernel_testing::Call>(known->second[choices.below(known->second.size())]);
    stack = changed_call(signature, *call, arguments, choices);
  } else {
    for (const Argument& argument : signature.arguments) {
      const bool is_missing = argument.optional && choices.once_in(2);
      stack.push_back(arguments.make(is_missing ? Tag::None : argument.tag));
    }
  }
  ExactBuffer temporary(1 << 14);
  runtime::MemoryAllocator allocator(static_cast<uint32_t>(temporary.bytes), temporary.data.get());
  KernelRuntimeContext context(nullptr, &allocator);
  arguments.return_outputs(stack, signature.outputs);
  signature.kernel->op_(context, {stack.data(), stack.size()});
  return context.failure_state() == Error::Ok;
}

size_t known_kernels() {
  return signatures().size();
}

const std::vector<const char*>& unreachable_kernels() {
  (void)signatures();
  return unreachable;
}

const char* kernel_name(size_t number) {
  return signatures()[number].kernel->name_;
}

void name_kernels() {
  names = true;
}

}  // namespace fuzz
}  // namespace executorch
