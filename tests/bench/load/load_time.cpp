// SPDX-License-Identifier: BSD-3-Clause
// Measures how long loading a program takes, with and without verification, alternately:
//
//     load_time ROUNDS model.pte
//
// A sample is the CPU time of the thread (user and system) from the path of a file to a method that can be executed:
// the file is opened and read or mapped, its pages are touched, the method is made. The release of the method does not
// count. The fastest sample of each kind in a round counts, because other work of the machine only adds time. The
// first mapped load after those that read the file is not counted. It is faster than the others, because the heap has
// just got its largest block back, and it would always be a load without verification.
// Prints a line for each round with three times in microseconds: the file is read, it is mapped, and it is mapped and
// verified.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <limits>

#include <executorch/extension/module/module.h>

namespace {

using executorch::extension::Module;
using executorch::runtime::Error;
using executorch::runtime::Program;
using Verification = Program::Verification;

constexpr int kReadSamples = 2;
constexpr int kMappedSamples = 20;

double microseconds() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) * 1e-3;
}

double load(const char* path, Module::LoadMode mode, Verification verification) {
  const double start = microseconds();
  Module module(path, mode);
  if (module.load(verification) != Error::Ok || module.load_method("forward") != Error::Ok) {
    std::fprintf(stderr, "load_time: %s cannot be loaded\n", path);
    std::exit(1);
  }
  return microseconds() - start;
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc == 3 ? std::atoi(argv[1]) : 0;
  if (rounds <= 0) {
    std::fprintf(stderr, "usage: load_time ROUNDS model.pte\n");
    return 1;
  }
  const char* path = argv[2];
  const Verification levels[] = {Verification::Minimal, Verification::InternalConsistency};
  for (int round = 0; round < rounds; ++round) {
    double read = std::numeric_limits<double>::infinity();
    double mapped[] = {read, read};
    for (int sample = 0; sample < kReadSamples; ++sample) {
      read = std::min(read, load(path, Module::LoadMode::File, Verification::Minimal));
    }
    load(path, Module::LoadMode::Mmap, Verification::Minimal);
    for (int sample = 0; sample < kMappedSamples; ++sample) {
      for (int turn = 0; turn < 2; ++turn) {
        const int level = (sample + turn) % 2;  // each is the first equally often
        mapped[level] = std::min(mapped[level], load(path, Module::LoadMode::Mmap, levels[level]));
      }
    }
    std::printf("%.2f %.2f %.2f\n", read, mapped[0], mapped[1]);
  }
  return 0;
}
