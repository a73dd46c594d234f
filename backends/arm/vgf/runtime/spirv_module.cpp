// SPDX-License-Identifier: BSD-3-Clause
#include "spirv_module.h"

#include <cstring>
#include <string>
#include <unordered_map>

#include <executorch/runtime/platform/log.h>

namespace executorch {
namespace backends {
namespace vgf {

using runtime::Error;

namespace {

constexpr size_t kHeaderWords = 5;
constexpr uint32_t kBinding = 33, kSet = 34;  // decorations

/// The instructions that are read, by their opcodes; those from 4163 on are of SPV_ARM_tensors and SPV_ARM_graph.
enum Opcode : uint32_t {
  kTypeBool = 20,
  kTypeInt = 21,
  kTypeFloat = 22,
  kTypePointer = 32,
  kConstant = 43,
  kConstantComposite = 44,
  kVariable = 59,
  kDecorate = 71,
  kTypeTensor = 4163,
  kGraphConstant = 4181,
  kGraphEntryPoint = 4182,
};

/// One instruction: its opcode and operands.
struct Instruction {
  uint32_t opcode = 0;
  const uint32_t* operands = nullptr;
  uint32_t count = 0;

  /// Missing operands are 0, which is never an id.
  uint32_t operator[](uint32_t index) const { return index < count ? operands[index] : 0; }
};

class ModuleReader final {
 public:
  ModuleReader(const VgfFile& file, const Segment& segment)
      : file_(file), segment_(segment), module_(file.modules[segment.module]) {}

  Error check() {
    ET_CHECK_OK_OR_RETURN_ERROR(read());
    ET_CHECK_OR_RETURN_ERROR(has_entry_point_, InvalidProgram, "VGF: the module %u has no graph %s", segment_.module,
                             module_.entry_point.c_str());
    for (const Instruction& constant : constants_) {
      const uint32_t id = constant[2];
      ET_CHECK_OR_RETURN_ERROR(id < segment_.constants.size(), InvalidProgram,
                               "VGF: the module %u has the constant %u, its segment has %zu", segment_.module, id,
                               segment_.constants.size());
      ET_CHECK_OK_OR_RETURN_ERROR(
          check_tensor(constant[0], file_.constants[segment_.constants[id]].resource, "constant", id));
    }
    for (const Instruction& variable : variables_) {
      ET_CHECK_OK_OR_RETURN_ERROR(check_variable(variable));
    }
    return Error::Ok;
  }

 private:
  Error read() {
    const std::vector<uint32_t>& code = module_.code;
    for (size_t at = kHeaderWords; at < code.size();) {
      const uint32_t words = code[at] >> 16;
      ET_CHECK_OR_RETURN_ERROR(words >= 1 && words <= code.size() - at, InvalidProgram,
                               "VGF: an instruction of the module %u has %u words, %zu are left", segment_.module,
                               words, code.size() - at);
      add({code[at] & 0xffff, code.data() + at + 1, words - 1});
      at += words;
    }
    return Error::Ok;
  }

  void add(const Instruction& instruction) {
    switch (instruction.opcode) {
      case kTypeBool:
      case kTypeInt:
      case kTypeFloat:
      case kTypePointer:
      case kTypeTensor:
        defined_[instruction[0]] = instruction;
        break;
      case kConstant:
      case kConstantComposite:
        defined_[instruction[1]] = instruction;
        break;
      case kVariable:
        variables_.push_back(instruction);
        break;
      case kGraphConstant:
        constants_.push_back(instruction);
        break;
      case kDecorate:
        if (instruction[1] == kBinding || instruction[1] == kSet) {
          auto& place = places_[instruction[0]];
          (instruction[1] == kBinding ? place.binding : place.set) = instruction[2];
        }
        break;
      case kGraphEntryPoint:
        has_entry_point_ = has_entry_point_ || is_entry_point(instruction);
        break;
      default:
        break;
    }
  }

  /// Its operands are the graph and the name, which ends with a zero, and then the variables.
  bool is_entry_point(const Instruction& instruction) const {
    const size_t bytes = module_.entry_point.size() + 1;
    return instruction.count >= 1 && bytes <= (instruction.count - 1) * sizeof(uint32_t) &&
           std::memcmp(instruction.operands + 1, module_.entry_point.c_str(), bytes) == 0;
  }

  /// The instruction that defines an id; one with the opcode 0 if no instruction with this opcode defines it.
  Instruction find(uint32_t id, uint32_t opcode) const {
    const auto found = defined_.find(id);
    return found != defined_.end() && found->second.opcode == opcode ? found->second : Instruction();
  }

  /// The bytes of an element; 0 if the type is neither a number nor bool.
  size_t bytes_of(uint32_t type) const {
    const auto found = defined_.find(type);
    if (found == defined_.end()) {
      return 0;
    }
    const bool is_number = found->second.opcode == kTypeInt || found->second.opcode == kTypeFloat;
    return is_number ? found->second[1] / 8 : found->second.opcode == kTypeBool ? 1 : 0;
  }

  /// InvalidProgram (logged) unless a type is that of a tensor with the shape and the size of a resource.
  Error check_tensor(uint32_t type, uint32_t resource, const char* what, uint32_t number) const {
    const Resource& expected = file_.resources[resource];
    const Instruction tensor = find(type, kTypeTensor);
    const Instruction shape = find(tensor[3], kConstantComposite);
    size_t count = 1;
    bool fits = tensor.opcode != 0 && shape.count == expected.shape.size() + 2;
    for (uint32_t i = 0; fits && i < expected.shape.size(); ++i) {
      const Instruction size = find(shape[i + 2], kConstant);
      fits = size.opcode != 0 && static_cast<int64_t>(size[2]) == expected.shape[i];
      count *= static_cast<size_t>(expected.shape[i]);
    }
    ET_CHECK_OR_RETURN_ERROR(fits && bytes_of(tensor[1]) * count == expected.bytes, InvalidProgram,
                             "VGF: %s %u of the module %u has another type than the resource %u", what, number,
                             segment_.module, resource);
    return Error::Ok;
  }

  Error check_variable(const Instruction& variable) const {
    const auto place = places_.find(variable[1]);
    if (place == places_.end()) {
      return Error::Ok;  // it is bound to nothing
    }
    const auto [set, binding] = place->second;
    if (set < segment_.sets.size()) {
      for (const Slot& slot : segment_.sets[set]) {
        if (slot.binding == binding) {
          return check_tensor(find(variable[0], kTypePointer)[2], slot.resource, "binding", binding);
        }
      }
    }
    ET_LOG(Error, "VGF: the module %u has the binding %u of the set %u, its segment has none", segment_.module, binding,
           set);
    return Error::InvalidProgram;
  }

  struct Place {
    uint32_t set = 0, binding = 0;
  };

  const VgfFile& file_;
  const Segment& segment_;
  const Module& module_;
  bool has_entry_point_ = false;
  std::unordered_map<uint32_t, Instruction> defined_;
  std::unordered_map<uint32_t, Place> places_;
  std::vector<Instruction> variables_, constants_;
};

}  // namespace

Error check_module(const VgfFile& file, const Segment& segment) {
  return ModuleReader(file, segment).check();
}

}  // namespace vgf
}  // namespace backends
}  // namespace executorch
