// SPDX-License-Identifier: BSD-3-Clause
// Prints what the reader finds in VGF files; test_vgf_file.py compiles it with sanitizers.
//
//   print_vgf FILE...            a line of JSON for each: the contents, or the error and its message
//   print_vgf --damage N FILE    reads the file N times, each time damaged differently, and every byte of the result;
//                                prints how often there was no error
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <executorch/runtime/platform/platform.h>

#include "spirv_module.h"
#include "vgf_file.h"

using executorch::backends::vgf::check_module;
using executorch::backends::vgf::Constant;
using executorch::backends::vgf::Module;
using executorch::backends::vgf::read_vgf;
using executorch::backends::vgf::Resource;
using executorch::backends::vgf::Segment;
using executorch::backends::vgf::Slot;
using executorch::backends::vgf::VgfFile;
using executorch::runtime::Error;
using executorch::runtime::Result;

static std::string message;

extern "C" void et_pal_emit_log_message(et_timestamp_t, et_pal_log_level_t, const char*, const char*, size_t,
                                        const char* text, size_t length) {
  message.assign(text, length);
}

namespace {

template <typename Items, typename Print>
void print_list(const char* name, const Items& items, const Print& print) {
  std::printf("\"%s\": [", name);
  const char* separator = "";
  for (const auto& item : items) {
    std::printf("%s", separator);
    print(item);
    separator = ", ";
  }
  std::printf("]");
}

/// Copies to an allocation of exactly this size, so that AddressSanitizer reports every read beyond the end.
std::unique_ptr<uint8_t[]> exact(const std::vector<uint8_t>& bytes) {
  std::unique_ptr<uint8_t[]> copy(new uint8_t[bytes.size()]);
  std::copy(bytes.begin(), bytes.end(), copy.get());
  return copy;
}

/// The file with its modules, checked as the delegate does.
Result<VgfFile> read_checked(const uint8_t* data, size_t size) {
  auto file = read_vgf(data, size);
  for (size_t i = 0; file.ok() && i < file->segments.size(); ++i) {
    const Error error = check_module(*file, file->segments[i]);
    if (error != Error::Ok) {
      return error;
    }
  }
  return file;
}

void print(const std::vector<uint8_t>& bytes) {
  const auto data = exact(bytes);
  const auto file = read_checked(data.get(), bytes.size());
  if (!file.ok()) {
    std::printf("{\"error\": %u, \"message\": \"%s\"}\n", static_cast<unsigned>(file.error()), message.c_str());
    return;
  }
  const auto number = [](auto value) { std::printf("%lld", static_cast<long long>(value)); };
  const auto slot = [](const Slot& each) { std::printf("[%u, %u]", each.binding, each.resource); };
  std::printf("{");
  print_list("modules", file->modules,
             [](const Module& each) { std::printf("[\"%s\", %zu]", each.entry_point.c_str(), each.code.size()); });
  std::printf(", ");
  print_list("resources", file->resources, [&](const Resource& each) {
    std::printf("{\"category\": %d, \"format\": %u, \"bytes\": %zu, ", static_cast<int>(each.category), each.format,
                each.bytes);
    print_list("shape", each.shape, number);
    std::printf("}");
  });
  std::printf(", ");
  print_list("constants", file->constants, [&](const Constant& each) {
    unsigned sum = 0;
    for (size_t i = 0; i < file->resources[each.resource].bytes; ++i) {
      sum += each.data[i];
    }
    std::printf("[%u, %u]", each.resource, sum);
  });
  std::printf(", ");
  print_list("segments", file->segments, [&](const Segment& each) {
    std::printf("{\"module\": %u, ", each.module);
    print_list("sets", each.sets, [&](const std::vector<Slot>& slots) {
      std::printf("{");
      print_list("slots", slots, slot);
      std::printf("}");
    });
    std::printf(", ");
    print_list("constants", each.constants, number);
    std::printf("}");
  });
  std::printf(", ");
  print_list("inputs", file->inputs, number);
  std::printf(", ");
  print_list("outputs", file->outputs, number);
  std::printf("}\n");
}

/// Changes some bytes or numbers, or cuts the file.
std::vector<uint8_t> damaged(std::vector<uint8_t> bytes, std::minstd_rand& random) {
  constexpr uint32_t kNumbers[] = {0, 1, 4, 0x7f, 0xff, 0xffff, 0x7fffffff, 0x80000000, 0xfffffffc, 0xffffffff};
  for (int i = static_cast<int>(1 + random() % 4); i > 0; --i) {
    const size_t at = random() % (bytes.size() - 8);
    switch (random() % 4) {
      case 0:
        bytes[at] = static_cast<uint8_t>(random());
        break;
      case 1: {
        const uint32_t number = kNumbers[random() % std::size(kNumbers)];
        std::memcpy(&bytes[at / 4 * 4], &number, sizeof(number));
        break;
      }
      case 2:
        std::memcpy(&bytes[at], &bytes[random() % (bytes.size() - 8)], 4);
        break;
      default:
        if (random() % 8 == 0 && at > 16) {
          bytes.resize(at);
        }
    }
  }
  return bytes;
}

}  // namespace

int main(int count, char** arguments) {
  const bool is_damage = count == 4 && std::strcmp(arguments[1], "--damage") == 0;
  std::minstd_rand random(1);
  for (int i = is_damage ? 3 : 1; i < count; ++i) {
    std::ifstream stream(arguments[i], std::ios::binary);
    const std::vector<uint8_t> bytes{std::istreambuf_iterator<char>(stream), {}};
    if (!is_damage) {
      print(bytes);
      continue;
    }
    long read = 0;
    unsigned sum = 0;
    for (long round = std::atol(arguments[2]); round > 0; --round) {
      const std::vector<uint8_t> changed = damaged(bytes, random);
      const auto data = exact(changed);
      const auto file = read_checked(data.get(), changed.size());
      if (!file.ok()) {
        continue;
      }
      ++read;
      for (const Constant& constant : file->constants) {
        for (size_t k = 0; k < file->resources.at(constant.resource).bytes; ++k) {
          sum += constant.data[k];
        }
      }
      for (const Segment& segment : file->segments) {
        sum += file->modules.at(segment.module).code.at(0);
        for (const auto& set : segment.sets) {
          for (const Slot& slot : set) {
            sum += static_cast<unsigned>(file->resources.at(slot.resource).shape.at(0));
          }
        }
      }
    }
    std::printf("%ld\n", read + static_cast<long>(sum & 0));
  }
}
