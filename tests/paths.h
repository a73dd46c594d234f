// SPDX-License-Identifier: BSD-3-Clause
// Folders and files that tests use. executorch_test(PATHS) defines these in a small source of each test: they differ
// from clone to clone, and ccache finds the object files of the other sources.
#pragma once

namespace executorch {
namespace tests {

extern const char* const kCorpusFolder;      // tests/data/corpus
extern const char* const kDataFolder;        // tests/data
extern const char* const kEagerCasesFolder;  // kernels/portable/test, which has eager_cases.txt
extern const char* const kFoundFolder;       // inputs that once crashed a backend
extern const char* const kSeedsFolder;       // the first inputs of a backend's fuzzers
extern const char* const kLibrary;           // a shared library that the test opens

}  // namespace tests
}  // namespace executorch
