// SPDX-License-Identifier: BSD-3-Clause
#include "vgf_file.h"

#include <algorithm>
#include <cinttypes>
#include <cstring>
#include <limits>
#include <set>

#include <executorch/extension/delegate/flat_table.h>
#include <executorch/runtime/platform/log.h>

namespace executorch {
namespace backends {
namespace vgf {

using extension::delegate::FlatBytes;
using extension::delegate::FlatTable;
using extension::delegate::FlatVector;
using runtime::Error;
using runtime::Result;
using runtime::etensor::ScalarType;

namespace {

constexpr size_t kHeaderBytes = 128;
constexpr size_t kMaxRank = 16;
constexpr uint32_t kMaxSets = 32;
constexpr uint32_t kSpirvMagic = 0x07230203;
constexpr size_t kSpirvHeaderWords = 5;
constexpr uint32_t kTensorDescriptor = 1000460000;  // VK_DESCRIPTOR_TYPE_TENSOR_ARM
constexpr uint8_t kGraph = 1, kSpirv = 1;           // the types of a module and of its code
constexpr char kConstantsMagic[] = "CONST00";       // its terminating zero is part of the magic
constexpr size_t kConstantsHeader = 16, kConstantRecord = 24;

struct Format {
  uint32_t number;  ///< VkFormat
  ScalarType type;
  uint8_t bytes;
};
constexpr Format kFormats[] = {
    {13, ScalarType::Byte, 1},
    {14, ScalarType::Char, 1},
    {74, ScalarType::UInt16, 2},
    {75, ScalarType::Short, 2},
    {76, ScalarType::Half, 2},
    {98, ScalarType::UInt32, 4},
    {99, ScalarType::Int, 4},
    {100, ScalarType::Float, 4},
    {111, ScalarType::Long, 8},
    {1000460000, ScalarType::Bool, 1},
    {1000460001, ScalarType::BFloat16, 2},
};

struct Section {
  const uint8_t* data;
  size_t size;
};

/// The fields of the tables, by their numbers in Arm's schema.
namespace field {
constexpr uint32_t kModules = 0, kModuleType = 0, kEntryPoint = 2, kCodeType = 3, kCode = 4, kWords = 0;
constexpr uint32_t kResources = 0, kDescriptor = 0, kFormat = 1, kCategory = 2, kDescription = 3, kShape = 0,
                   kStrides = 1;
constexpr uint32_t kBinding = 0, kResource = 1, kBindings = 0, kSetNumber = 1;
constexpr uint32_t kSegmentType = 0, kModule = 2, kSets = 3, kConstants = 6, kPushConstants = 8;
constexpr uint32_t kSegments = 0, kInputs = 1, kOutputs = 2;
constexpr uint32_t kOldConstants = 0, kOldResource = 0, kOldSparsity = 1, kOldBytes = 2;
}  // namespace field

class FileReader final {
 public:
  FileReader(const uint8_t* data, size_t size) : data_(data), size_(size) {}

  Error read(VgfFile& file) {
    Section modules, sequence, resources, constants;
    ET_CHECK_OR_RETURN_ERROR(size_ >= kHeaderBytes && std::memcmp(data_, "VGF1", 4) == 0, InvalidProgram,
                             "the payload is not a VGF file: expected VGF1 and a header of %zu bytes, found %zu bytes; "
                             "export the model again",
                             kHeaderBytes, size_);
    ET_CHECK_OR_RETURN_ERROR(data_[8] == 0, NotSupported, "the VGF file has version %u.%u, expected 0.x", data_[8],
                             data_[9]);
    ET_CHECK_OK_OR_RETURN_ERROR(section(0, "modules", modules));
    ET_CHECK_OK_OR_RETURN_ERROR(section(1, "sequence", sequence));
    ET_CHECK_OK_OR_RETURN_ERROR(section(2, "resources", resources));
    ET_CHECK_OK_OR_RETURN_ERROR(section(3, "constants", constants));
    ET_CHECK_OK_OR_RETURN_ERROR(read_modules(modules, file));
    ET_CHECK_OK_OR_RETURN_ERROR(read_resources(resources, file));
    ET_CHECK_OK_OR_RETURN_ERROR(read_constants(constants, file));
    return read_sequence(sequence, file);
  }

 private:
  Error section(size_t index, const char* name, Section& made) const {
    uint64_t offset = 0, bytes = 0;
    std::memcpy(&offset, data_ + 16 + 16 * index, sizeof(offset));
    std::memcpy(&bytes, data_ + 24 + 16 * index, sizeof(bytes));
    ET_CHECK_OR_RETURN_ERROR(offset >= kHeaderBytes && offset <= size_ && bytes <= size_ - offset, InvalidProgram,
                             "VGF: the section of %s is %" PRIu64 " bytes at %" PRIu64
                             " of a file of %zu bytes; the file is damaged",
                             name, bytes, offset, size_);
    made = {data_ + offset, static_cast<size_t>(bytes)};
    return Error::Ok;
  }

  /// Tables and vectors may be shared, so that a small file would make a large model: it may not have more elements
  /// than bytes.
  bool afford(uint64_t elements) {
    const bool affordable = elements <= size_ - spent_;
    spent_ += affordable ? elements : 0;
    return affordable;
  }
  static Error damaged(const char* name) {
    ET_LOG(Error, "VGF: the section of %s is damaged; export the model again", name);
    return Error::InvalidProgram;
  }

  Error read_modules(const Section& section, VgfFile& file) {
    FlatBytes bytes(section.data, section.size);
    const FlatTable root = FlatTable::root(bytes);
    const FlatVector all = root.tables(field::kModules);
    for (uint32_t i = 0; i < all.size() && !bytes.is_damaged(); ++i) {
      const FlatTable each = root.element(all, i);
      const auto type = each.number<uint8_t>(field::kModuleType);
      const bool is_spirv = each.number<uint8_t>(field::kCodeType) == kSpirv && each.has(field::kCode);
      const FlatVector words =
          is_spirv ? each.table(field::kCode).vector(field::kWords, sizeof(uint32_t)) : FlatVector();
      Module module;
      module.entry_point = std::string(each.text(field::kEntryPoint));
      if (bytes.is_damaged() || !afford(1 + words.size() + module.entry_point.size())) {
        break;
      }
      ET_CHECK_OR_RETURN_ERROR(type == kGraph, NotSupported, "VGF: module %u is a compute shader; graphs are supported",
                               i);
      ET_CHECK_OR_RETURN_ERROR(is_spirv, NotSupported, "VGF: module %u has no SPIR-V", i);
      module.code.resize(words.size());
      if (words.size() > 0) {
        std::memcpy(module.code.data(), words.data(), words.size() * sizeof(uint32_t));
      }
      ET_CHECK_OR_RETURN_ERROR(module.code.size() >= kSpirvHeaderWords && module.code[0] == kSpirvMagic, InvalidProgram,
                               "VGF: the code of module %u is not SPIR-V", i);
      ET_CHECK_OR_RETURN_ERROR(!module.entry_point.empty() && module.entry_point.find('\0') == std::string::npos,
                               InvalidProgram, "VGF: module %u has no entry point", i);
      file.modules.push_back(std::move(module));
    }
    return bytes.is_damaged() || file.modules.size() != all.size() ? damaged("modules") : Error::Ok;
  }

  Error read_resources(const Section& section, VgfFile& file) {
    FlatBytes bytes(section.data, section.size);
    const FlatTable root = FlatTable::root(bytes);
    const FlatVector all = root.tables(field::kResources);
    for (uint32_t i = 0; i < all.size() && !bytes.is_damaged(); ++i) {
      const FlatTable each = root.element(all, i);
      const uint8_t category = each.number<uint8_t>(field::kCategory);
      Resource made{static_cast<Category>(category), each.number<uint32_t>(field::kFormat), {}, ScalarType::Byte, 0};
      ET_CHECK_OR_RETURN_ERROR(category <= static_cast<uint8_t>(Category::Constant), InvalidProgram,
                               "VGF: resource %u has the category %u, expected 0 to 3", i, category);
      ET_CHECK_OR_RETURN_ERROR(
          made.category == Category::Constant || each.number<uint32_t>(field::kDescriptor) == kTensorDescriptor,
          NotSupported, "VGF: resource %u has the descriptor type %u; tensors are supported", i,
          each.number<uint32_t>(field::kDescriptor));
      const auto* format = std::find_if(std::begin(kFormats), std::end(kFormats),
                                        [&](const Format& known) { return known.number == made.format; });
      ET_CHECK_OR_RETURN_ERROR(format != std::end(kFormats), NotSupported,
                               "VGF: resource %u has the VkFormat %u, which no tensor has", i, made.format);
      ET_CHECK_OR_RETURN_ERROR(each.has(field::kDescription), InvalidProgram, "VGF: resource %u has no shape", i);
      const FlatTable description = each.table(field::kDescription);
      const FlatVector shape = description.vector(field::kShape, sizeof(int64_t));
      const FlatVector strides = description.vector(field::kStrides, sizeof(int64_t));
      if (bytes.is_damaged() || !afford(1)) {
        break;
      }
      ET_CHECK_OR_RETURN_ERROR(shape.size() <= kMaxRank, InvalidProgram,
                               "VGF: resource %u has %u dimensions, expected at most %zu", i, shape.size(), kMaxRank);
      uint64_t count = 1;
      for (uint32_t d = 0; d < shape.size(); ++d) {
        const auto size = shape.number<int64_t>(d);
        ET_CHECK_OR_RETURN_ERROR(
            size >= 1 && static_cast<uint64_t>(size) <= std::numeric_limits<int64_t>::max() / 8 / count, InvalidProgram,
            "VGF: resource %u has the size %" PRId64 " in dimension %u", i, size, d);
        count *= static_cast<uint64_t>(size);
        made.shape.push_back(size);
      }
      if (made.shape.empty()) {
        made.shape.push_back(1);  // as the module has it
      }
      made.scalar_type = format->type;
      made.bytes = static_cast<size_t>(count * format->bytes);
      int64_t packed = format->bytes;
      for (uint32_t d = strides.size(); d-- > 0;) {
        ET_CHECK_OR_RETURN_ERROR(strides.size() == made.shape.size() && strides.number<int64_t>(d) == packed,
                                 NotSupported, "VGF: resource %u is not packed", i);
        packed *= made.shape[d];
      }
      file.resources.push_back(std::move(made));
    }
    return bytes.is_damaged() || file.resources.size() != all.size() ? damaged("resources") : Error::Ok;
  }

  Error add_constant(uint32_t resource, int64_t sparsity, const uint8_t* data, uint64_t bytes, VgfFile& file) {
    const size_t number = file.constants.size();
    ET_CHECK_OR_RETURN_ERROR(sparsity == -1, NotSupported, "VGF: constant %zu is sparse", number);
    ET_CHECK_OR_RETURN_ERROR(
        resource < file.resources.size() && file.resources[resource].category == Category::Constant, InvalidProgram,
        "VGF: constant %zu has the resource %u, whose category is not constant", number, resource);
    ET_CHECK_OR_RETURN_ERROR(bytes == file.resources[resource].bytes, InvalidProgram,
                             "VGF: constant %zu has %" PRIu64 " bytes, its resource %zu", number, bytes,
                             file.resources[resource].bytes);
    file.constants.push_back({resource, data});
    return Error::Ok;
  }

  Error read_constants(const Section& section, VgfFile& file) {
    if (section.size == 0) {
      return Error::Ok;
    }
    FlatBytes bytes(section.data, section.size);
    if (section.size >= kConstantsHeader && std::memcmp(section.data, kConstantsMagic, sizeof(kConstantsMagic)) == 0) {
      const auto count = bytes.number<uint64_t>(8);
      if (!bytes.has(kConstantsHeader, count, kConstantRecord)) {
        return damaged("constants");
      }
      const uint64_t base = kConstantsHeader + count * kConstantRecord;
      for (uint64_t at = kConstantsHeader; at < base; at += kConstantRecord) {
        const auto size = bytes.number<uint64_t>(at + 8), offset = bytes.number<uint64_t>(at + 16);
        if (offset > section.size || !bytes.has(base + offset, size, 1)) {
          return damaged("constants");
        }
        ET_CHECK_OK_OR_RETURN_ERROR(add_constant(bytes.number<uint32_t>(at), bytes.number<int32_t>(at + 4),
                                                 section.data + base + offset, size, file));
      }
      return Error::Ok;
    }
    // Files before 0.4.
    const FlatTable root = FlatTable::root(bytes);
    const FlatVector all = root.tables(field::kOldConstants);
    for (uint32_t i = 0; i < all.size() && !bytes.is_damaged(); ++i) {
      const FlatTable each = root.element(all, i);
      const FlatVector raw = each.vector(field::kOldBytes, 1);
      const auto sparsity = each.number<int64_t>(field::kOldSparsity);
      if (!bytes.is_damaged()) {
        ET_CHECK_OK_OR_RETURN_ERROR(
            add_constant(each.number<uint32_t>(field::kOldResource), sparsity, raw.data(), raw.size(), file));
      }
    }
    return bytes.is_damaged() ? damaged("constants") : Error::Ok;
  }

  /// The resource of a slot, which must be a tensor, not a constant.
  Error read_slot(const FlatTable& table, const VgfFile& file, Slot& slot) {
    slot = {table.number<uint32_t>(field::kBinding), table.number<uint32_t>(field::kResource)};
    ET_CHECK_OR_RETURN_ERROR(slot.resource < file.resources.size(), InvalidProgram,
                             "VGF: a slot has the resource %u, there are %zu", slot.resource, file.resources.size());
    ET_CHECK_OR_RETURN_ERROR(file.resources[slot.resource].category != Category::Constant, NotSupported,
                             "VGF: a slot has the constant %u", slot.resource);
    return Error::Ok;
  }

  Error read_sets(const FlatTable& segment, const VgfFile& file, Segment& made) {
    const FlatVector sets = segment.tables(field::kSets);
    for (uint32_t i = 0; i < sets.size(); ++i) {
      const FlatTable set = segment.element(sets, i);
      const auto given = set.number<uint32_t>(field::kSetNumber, std::numeric_limits<uint32_t>::max());
      const uint32_t number = given == std::numeric_limits<uint32_t>::max() ? i : given;
      ET_CHECK_OR_RETURN_ERROR(number < kMaxSets, InvalidProgram, "VGF: a descriptor set has the number %u", number);
      made.sets.resize(std::max<size_t>(made.sets.size(), number + 1));
      const FlatVector slots = set.tables(field::kBindings);
      if (!afford(1 + slots.size())) {
        return damaged("the sequence");
      }
      std::set<uint32_t> bindings;
      for (uint32_t j = 0; j < slots.size(); ++j) {
        Slot slot{};
        ET_CHECK_OK_OR_RETURN_ERROR(read_slot(set.element(slots, j), file, slot));
        made.sets[number].push_back(slot);
      }
      for (const Slot& slot : made.sets[number]) {
        ET_CHECK_OR_RETURN_ERROR(bindings.insert(slot.binding).second, InvalidProgram,
                                 "VGF: the binding %u of set %u is there twice", slot.binding, number);
      }
    }
    return Error::Ok;
  }

  Error read_sequence(const Section& section, VgfFile& file) {
    FlatBytes bytes(section.data, section.size);
    const FlatTable root = FlatTable::root(bytes);
    const FlatVector all = root.tables(field::kSegments);
    for (uint32_t i = 0; i < all.size(); ++i) {
      const FlatTable each = root.element(all, i);
      Segment made{each.number<uint32_t>(field::kModule), {}, {}};
      ET_CHECK_OR_RETURN_ERROR(each.number<uint8_t>(field::kSegmentType) == kGraph, NotSupported,
                               "VGF: segment %u runs a compute shader; graphs are supported", i);
      ET_CHECK_OR_RETURN_ERROR(made.module < file.modules.size(), InvalidProgram,
                               "VGF: segment %u has the module %u, there are %zu", i, made.module, file.modules.size());
      ET_CHECK_OR_RETURN_ERROR(each.tables(field::kPushConstants).size() == 0, NotSupported,
                               "VGF: segment %u has push constants", i);
      ET_CHECK_OK_OR_RETURN_ERROR(read_sets(each, file, made));
      const FlatVector constants = each.vector(field::kConstants, sizeof(uint32_t));
      if (bytes.is_damaged() || !afford(1 + constants.size())) {
        return damaged("the sequence");
      }
      for (uint32_t j = 0; j < constants.size(); ++j) {
        made.constants.push_back(constants.number<uint32_t>(j));
        ET_CHECK_OR_RETURN_ERROR(made.constants.back() < file.constants.size(), InvalidProgram,
                                 "VGF: segment %u has the constant %u, there are %zu", i, made.constants.back(),
                                 file.constants.size());
      }
      file.segments.push_back(std::move(made));
    }
    ET_CHECK_OK_OR_RETURN_ERROR(read_ends(root, field::kInputs, Category::Input, file, file.inputs));
    ET_CHECK_OK_OR_RETURN_ERROR(read_ends(root, field::kOutputs, Category::Output, file, file.outputs));
    return bytes.is_damaged() || file.segments.empty() ? damaged("the sequence") : Error::Ok;
  }

  Error read_ends(const FlatTable& root, uint32_t where, Category category, const VgfFile& file,
                  std::vector<uint32_t>& made) {
    const FlatVector slots = root.tables(where);
    if (!afford(slots.size())) {
      return damaged("the sequence");
    }
    for (uint32_t i = 0; i < slots.size(); ++i) {
      Slot slot{};
      ET_CHECK_OK_OR_RETURN_ERROR(read_slot(root.element(slots, i), file, slot));
      ET_CHECK_OR_RETURN_ERROR(file.resources[slot.resource].category == category, InvalidProgram,
                               "VGF: %s %u is the resource %u, which has another category",
                               category == Category::Input ? "input" : "output", i, slot.resource);
      made.push_back(slot.resource);
    }
    return Error::Ok;
  }

  const uint8_t* data_;
  size_t size_;
  uint64_t spent_ = 0;
};

}  // namespace

Result<VgfFile> read_vgf(const void* data, size_t size) {
  VgfFile file;
  ET_CHECK_OK_OR_RETURN_ERROR(FileReader(static_cast<const uint8_t*>(data), size).read(file));
  return file;
}

}  // namespace vgf
}  // namespace backends
}  // namespace executorch
