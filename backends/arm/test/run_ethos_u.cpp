// SPDX-License-Identifier: BSD-3-Clause
// Runs command streams of an Ethos-U with its model; test_ethos_u_model.py compiles it with sanitizers.
//
//   run_ethos_u COMMANDS WEIGHTS SCRATCH_SIZE < SCRATCH > SCRATCH'
//
// reads the scratch memory with the inputs in it, and writes it as the commands leave it. The commands that ran are
// written to stderr, a line each. Ends with 1 after an error, whose message is the last line.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <executorch/runtime/platform/platform.h>

#include "npu.h"
#include "weights.h"

using executorch::backends::ethosu::decode_weights;
using executorch::backends::ethosu::kMostWork;
using executorch::backends::ethosu::Regions;
using executorch::backends::ethosu::run_command_stream;
using executorch::runtime::Error;

static bool is_silent = false;

extern "C" void et_pal_emit_log_message(et_timestamp_t, et_pal_log_level_t, const char*, const char*, size_t,
                                        const char* text, size_t length) {
  if (is_silent) {
    return;
  }
  std::fprintf(stderr, "%.*s\n", static_cast<int>(length), text);
}

namespace {

/// Copies to an allocation of exactly this size, so that AddressSanitizer reports every access beyond the end.
std::unique_ptr<uint8_t[]> exact(const std::vector<char>& bytes) {
  std::unique_ptr<uint8_t[]> copy(new uint8_t[bytes.size()]);
  std::copy(bytes.begin(), bytes.end(), copy.get());
  return copy;
}

std::vector<char> bytes_of(const char* path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Counts and prints the commands that ran.
struct Counter {
  bool is_quiet = false;
  uint64_t most_work = kMostWork;
  size_t count = 0;
  void operator()(const char* name) {
    ++count;
    if (!is_quiet) {
      std::fprintf(stderr, "%s\n", name);
    }
  }
};

/// The memories of a program.
struct Memories {
  Memories(const std::vector<char>& stream, const std::vector<char>& constants, size_t scratch_bytes, size_t fast_bytes)
      : commands(exact(stream)),
        weights(exact(constants)),
        scratch(new uint8_t[scratch_bytes]()),
        fast(new uint8_t[fast_bytes]()),
        commands_size(stream.size()) {
    regions[0] = {weights.get(), constants.size(), true};
    regions[1] = {scratch.get(), scratch_bytes, false};
    if (fast_bytes > 0) {
      regions[2] = {fast.get(), fast_bytes, false};
    }
  }
  Error run(Counter& counter) const {
    return run_command_stream({commands.get(), commands_size}, regions, counter.most_work,
                              [&](const char* name) { counter(name); });
  }
  std::unique_ptr<uint8_t[]> commands, weights, scratch, fast;
  size_t commands_size;
  Regions regions;
};

int run_once(const Memories& memories) {
  const auto& scratch = memories.regions[1];
  if (std::fread(scratch.data, 1, scratch.size, stdin) != scratch.size) {
    std::fprintf(stderr, "expected %zu bytes of scratch memory\n", scratch.size);
    return 2;
  }
  Counter counter;
  const Error error = memories.run(counter);
  if (error == Error::Ok) {
    std::fwrite(scratch.data, 1, scratch.size, stdout);
  }
  return error == Error::Ok ? 0 : 1;
}

constexpr uint64_t kMostWorkOfDamaged = uint64_t{1} << 24;  // sizes of feature maps may become large

int run_damaged(std::vector<char> commands, std::vector<char> weights, size_t scratch, size_t fast, int times) {
  is_silent = true;
  int without_error = 0;
  for (int i = 0; i < times; ++i) {
    std::mt19937 random(static_cast<unsigned>(i));
    std::vector<char> stream = commands, constants = weights;
    const unsigned damages = 1 + random() % 3;
    for (unsigned k = 0; k < damages; ++k) {
      std::vector<char>& bytes = random() % 4 == 0 && !constants.empty() ? constants : stream;
      char& byte = bytes[random() % bytes.size()];
      byte = random() % 2 == 0 ? static_cast<char>(random()) : static_cast<char>(byte ^ 1 << random() % 8);
    }
    if (random() % 8 == 0) {
      stream.resize(random() % stream.size());
    }
    Counter counter{true, kMostWorkOfDamaged};
    without_error += Memories(stream, constants, scratch, fast).run(counter) == Error::Ok ? 1 : 0;
  }
  std::printf("%d\n", without_error);
  return 0;
}

int print_weights(const std::vector<char>& stream, size_t count) {
  const auto data = exact(stream);
  const auto weights = decode_weights(data.get(), stream.size(), count);
  if (!weights.ok()) {
    return 1;
  }
  for (const int16_t weight : *weights) {
    std::printf("%d ", weight);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const auto number = [&](int i) { return std::strtoul(argv[i], nullptr, 10); };
  if (argc == 4 && argv[1] == std::string("--weights")) {
    return print_weights(bytes_of(argv[2]), number(3));
  }
  if (argc == 5) {
    return run_once(Memories(bytes_of(argv[1]), bytes_of(argv[2]), number(3), number(4)));
  }
  if (argc == 7 && argv[5] == std::string("--damage")) {
    return run_damaged(bytes_of(argv[1]), bytes_of(argv[2]), number(3), number(4), static_cast<int>(number(6)));
  }
  std::fprintf(stderr,
               "usage: run_ethos_u COMMANDS WEIGHTS SCRATCH_SIZE FAST_SIZE [--damage N] | --weights STREAM COUNT\n");
  return 2;
}
