// SPDX-License-Identifier: BSD-3-Clause
// What the programs replay_* share: they find files, and run a driver on the files and on mutations of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "program_driver.h"

namespace executorch {
namespace fuzz {

/// Runs one of the drivers.
using Run = Outcome (*)(const uint8_t* data, size_t size);

struct Counts {
  size_t refused = 0;
  size_t loaded = 0;
  size_t executed = 0;

  void add(Outcome outcome) {
    refused += outcome == Outcome::Refused;
    loaded += outcome == Outcome::Loaded;
    executed += outcome == Outcome::Executed;
  }
};

std::vector<uint8_t> read_file(const std::filesystem::path& path);

/// The arguments that are files, and the files with one of the extensions ("" for none) in arguments that are folders.
std::vector<std::filesystem::path> find_files(const std::vector<std::string>& arguments,
                                              const std::vector<std::string>& extensions);

/// Runs every truncation, every flipped bit and some values of every byte of the first kilobytes, which have a
/// program's header and flatbuffer; the rest is weights, which have no structure to break. With a sanitizer, runs only
/// today's share of the lengths and of the bytes (share.h); run_random() does the same.
void run_mutations(const std::vector<uint8_t>& original, Run run, Counts& counts);

/// Runs `count` inputs of random bytes, the same ones every time. Returns 1 unless some inputs execute to their end and
/// some are refused, because otherwise the run would test only one of these paths.
int run_random(size_t count, size_t size, Run run);

/// The payloads of delegates in a file: those with a header of this magic number, or, if its name ends in `.payload` or
/// one of the extensions, the whole file.
std::vector<std::vector<uint8_t>> payloads_of(const std::filesystem::path& file, const char* magic,
                                              const std::vector<std::string>& extensions = {});

/**
 * The program of a driver that reads payloads of delegates. Files named *.payload are payloads, others contain
 * payloads:
 *
 *     FILE_OR_FOLDER...             every payload once (folders are searched)
 *     --mutate FILE_OR_FOLDER...    also every truncation and every flipped bit of the first kilobytes
 *     --expect-executed ...         fails unless every payload executes to its end
 *     --extract FOLDER FILE...      writes the payloads of the files into the folder
 *     --verbose ...                 with the messages of the backend
 *
 * @param magic Bytes 4 to 7 of a payload.
 * @param extensions Of files with other inputs.
 * @param run_of Gives the driver of a file.
 * @return The exit status.
 */
int replay_payloads(std::vector<std::string> arguments, const char* magic, const std::vector<std::string>& extensions,
                    const std::function<Run(const std::filesystem::path&)>& run_of);

/// Whether the flag is among the arguments, from which it is removed.
bool take_flag(std::vector<std::string>& arguments, const char* flag);

}  // namespace fuzz
}  // namespace executorch
