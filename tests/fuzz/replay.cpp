// SPDX-License-Identifier: BSD-3-Clause
#include "replay.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>

#include "share.h"

namespace executorch {
namespace fuzz {

std::vector<uint8_t> read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return std::vector<uint8_t>(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
}

std::vector<std::filesystem::path> find_files(const std::vector<std::string>& arguments,
                                              const std::vector<std::string>& extensions) {
  std::vector<std::filesystem::path> files;
  for (const auto& argument : arguments) {
    if (!std::filesystem::is_directory(argument)) {
      files.emplace_back(argument);
      continue;
    }
    for (const auto& entry : std::filesystem::recursive_directory_iterator(argument)) {
      const auto extension = entry.path().extension().string();
      if (entry.is_regular_file() && std::find(extensions.begin(), extensions.end(), extension) != extensions.end()) {
        files.push_back(entry.path());
      }
    }
  }
  return files;
}

void run_mutations(const std::vector<uint8_t>& original, Run run, Counts& counts) {
  constexpr size_t kMaxMutatedBytes = 8192;
  const size_t limit = std::min(original.size(), kMaxMutatedBytes);
  for (size_t length = 0; length < limit; ++length) {
    if (tests::in_share(length)) {
      counts.add(run(original.data(), length));
    }
  }
  std::vector<uint8_t> bytes = original;
  for (size_t i = 0; i < limit; ++i) {
    if (!tests::in_share(i)) {
      continue;
    }
    for (int bit = 0; bit < 8; ++bit) {
      bytes[i] = static_cast<uint8_t>(original[i] ^ (1 << bit));
      counts.add(run(bytes.data(), bytes.size()));
    }
    for (const uint8_t value : {uint8_t{0x00}, uint8_t{0xff}, uint8_t{0x7f}}) {
      bytes[i] = value;
      counts.add(run(bytes.data(), bytes.size()));
    }
    bytes[i] = original[i];
  }
}

int run_random(size_t count, size_t size, Run run) {
  std::mt19937 random(20240229);
  Counts counts;
  for (size_t i = 0; i < count; ++i) {
    std::vector<uint8_t> bytes(size);
    for (uint8_t& byte : bytes) {
      byte = static_cast<uint8_t>(random());
    }
    if (tests::in_share(i)) {
      counts.add(run(bytes.data(), bytes.size()));
    }
  }
  std::printf("%zu executed, %zu loaded only, %zu refused\n", counts.executed, counts.loaded, counts.refused);
  return counts.executed > 0 && counts.refused > 0 ? 0 : 1;
}

bool take_flag(std::vector<std::string>& arguments, const char* flag) {
  const auto found = std::find(arguments.begin(), arguments.end(), flag);
  if (found == arguments.end()) {
    return false;
  }
  arguments.erase(found);
  return true;
}

std::vector<std::vector<uint8_t>> payloads_of(const std::filesystem::path& path, const char* magic,
                                              const std::vector<std::string>& extensions) {
  std::vector<uint8_t> file = read_file(path);
  const std::string extension = path.extension().string();
  if (extension == ".payload" || std::find(extensions.begin(), extensions.end(), extension) != extensions.end()) {
    return {std::move(file)};
  }
  std::vector<std::vector<uint8_t>> payloads;
  for (size_t at = 4; at + 26 <= file.size(); ++at) {
    if (std::memcmp(file.data() + at, magic, 4) != 0) {
      continue;
    }
    const uint8_t* header = file.data() + at - 4;
    const auto number = [&](size_t offset) {
      uint32_t value = 0;
      std::memcpy(&value, header + offset, sizeof(value));
      return uint64_t{value};
    };
    // The header, which says where the graph and the constants are, up to the end of these.
    const uint64_t size = std::max(number(10) + number(14), number(18) + number(22));
    if (size <= file.size() - (at - 4)) {
      payloads.emplace_back(header, header + size);
    }
  }
  return payloads;
}

int replay_payloads(std::vector<std::string> arguments, const char* magic, const std::vector<std::string>& extensions,
                    const std::function<Run(const std::filesystem::path&)>& run_of) {
  const bool with_mutations = take_flag(arguments, "--mutate");
  const bool expect_executed = take_flag(arguments, "--expect-executed");
  if (!take_flag(arguments, "--verbose")) {
    silence_logs();
  }
  std::filesystem::path folder;
  if (arguments.size() > 2 && arguments[0] == "--extract") {
    folder = arguments[1];
    arguments.erase(arguments.begin(), arguments.begin() + 2);
    std::filesystem::create_directories(folder);
  }
  std::vector<std::string> searched = extensions;
  searched.insert(searched.end(), {".bpte", ".pte", ".payload"});
  size_t inputs = 0, not_executed = 0;
  for (const auto& file : find_files(arguments, searched)) {
    const Run run = run_of(file);
    Counts counts;
    size_t number = 0;
    for (const auto& bytes : payloads_of(file, magic, extensions)) {
      ++inputs;
      if (!folder.empty()) {
        const auto name =
            file.parent_path().filename().string() + "_" + file.stem().string() + "_" + std::to_string(number++);
        std::ofstream(folder / (name + ".payload"), std::ios::binary)
            .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
        continue;
      }
      const Outcome outcome = run(bytes.data(), bytes.size());
      counts.add(outcome);
      not_executed += outcome != Outcome::Executed;
      if (with_mutations) {
        run_mutations(bytes, run, counts);
      }
    }
    if (folder.empty()) {
      std::printf("%s: %zu executed, %zu loaded only, %zu refused\n", file.c_str(), counts.executed, counts.loaded,
                  counts.refused);
      std::fflush(stdout);
    }
  }
  if (inputs == 0) {
    std::fprintf(stderr, "no payloads named or found; usage: [--mutate] [--expect-executed] PATH...\n");
    return 2;
  }
  if (expect_executed && not_executed > 0) {
    std::fprintf(stderr, "%zu of %zu payloads did not execute\n", not_executed, inputs);
    return 1;
  }
  return 0;
}

}  // namespace fuzz
}  // namespace executorch
