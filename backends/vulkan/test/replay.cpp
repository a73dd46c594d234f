// SPDX-License-Identifier: BSD-3-Clause
//
// Repeats recorded calls of programs on the GPU of this machine, and compares their results with the recorded ones. See
// device_program.py, which records, and docs/backends-vulkan.md.
#include <algorithm>
#include <array>
#include <chrono>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <executorch/backends/vulkan/runtime/VulkanBackend.h>
#include <executorch/devtools/bundled_program/bundled_program.h>
#include <executorch/devtools/etdump/etdump_flatcc.h>
#include <executorch/extension/module/bundled_module.h>
#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/platform/runtime.h>

namespace {

namespace fs = std::filesystem;
namespace bundled = executorch::bundled_program;
namespace vulkan = executorch::backends::vulkan;
using executorch::extension::bundled_module::BundledModule;
using executorch::runtime::BackendOption;
using executorch::runtime::Error;
using executorch::runtime::Method;
using executorch::runtime::Span;
using Clock = std::chrono::steady_clock;
using Text = std::array<char, executorch::runtime::kMaxOptionValueLength>;

constexpr char kHelp[] =
    "usage: vulkan_replay [OPTION...] FOLDER|FILE.bpte...\n"
    "Runs recorded programs on the GPU and compares their results with the recorded ones.\n"
    "  --info             prints the devices\n"
    "  --device N         takes device N\n"
    "  --cache-folder F   keeps compiled kernels in the folder F\n"
    "  --unmapped         copies inputs and results also where the processor reaches the GPU's memory\n"
    "  --option KEY=N     sets an option of the backend to a number\n"
    "  --repeat N         runs each program's last call N times more and prints times\n"
    "  --dispatches       prints the times of dispatches of each program's last call\n";

struct Options {
  bool info = false, dispatches = false, help = false, unmapped = false;
  int device = -1, repeat = 0;
  std::string cache_folder;
  std::vector<std::pair<std::string, int>> numbers;
  std::vector<fs::path> paths;
};

bool parse(int argc, char** argv, Options* options) {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const bool takes_value = word == "--device" || word == "--repeat" || word == "--cache-folder" || word == "--option";
    if (takes_value && ++i == argc) {
      std::fprintf(stderr, "vulkan_replay: %s needs a value\n", word.c_str());
      return false;
    }
    if (word == "--device" || word == "--repeat") {
      char* end = nullptr;
      const long number = std::strtol(argv[i], &end, 10);
      if (*argv[i] == '\0' || *end != '\0' || number < 0 || number > 1000000) {
        std::fprintf(stderr, "vulkan_replay: %s needs a number, found %s\n", word.c_str(), argv[i]);
        return false;
      }
      (word == "--device" ? options->device : options->repeat) = static_cast<int>(number);
    } else if (word == "--cache-folder") {
      options->cache_folder = argv[i];
    } else if (word == "--option") {
      const std::string text = argv[i];
      const size_t at = text.find('=');
      char* end = nullptr;
      const long number = at == std::string::npos ? 0 : std::strtol(argv[i] + at + 1, &end, 10);
      if (end == nullptr || end == argv[i] + at + 1 || *end != '\0' || number < INT32_MIN || number > INT32_MAX) {
        std::fprintf(stderr, "vulkan_replay: --option needs KEY=NUMBER, found %s\n", argv[i]);
        return false;
      }
      options->numbers.emplace_back(text.substr(0, at), static_cast<int>(number));
    } else if (word == "--info") {
      options->info = true;
    } else if (word == "--unmapped") {
      options->unmapped = true;
    } else if (word == "--dispatches") {
      options->dispatches = true;
    } else if (word == "--help") {
      options->help = true;
    } else if (word[0] == '-') {
      std::fprintf(stderr, "vulkan_replay: there is no option %s; see --help\n", word.c_str());
      return false;
    } else {
      options->paths.emplace_back(word);
    }
  }
  return true;
}

Error set_options(const Options& options) {
  std::vector<BackendOption> list;
  const auto add = [&](const char* key, auto value) {
    BackendOption option{};
    std::strncpy(option.key, key, sizeof(option.key) - 1);
    option.value = value;
    list.push_back(option);
  };
  if (options.device >= 0) {
    add(vulkan::device_option_key, options.device);
  }
  if (!options.cache_folder.empty()) {
    Text text{};
    options.cache_folder.copy(text.data(), text.size() - 1);
    add(vulkan::cache_folder_option_key, text);
  }
  for (const auto& [key, number] : options.numbers) {
    add(key.c_str(), number);
  }
  if (options.unmapped) {
    add(vulkan::mapped_memory_option_key, false);
  }
  return list.empty() ? Error::Ok
                      : executorch::runtime::set_option(vulkan::vulkan_backend_key,
                                                        Span<BackendOption>(list.data(), list.size()));
}

template <typename Value>
Value get_option(const std::string& key, Value otherwise) {
  BackendOption option{};
  std::strncpy(option.key, key.c_str(), sizeof(option.key) - 1);
  const Error error = executorch::runtime::get_option(vulkan::vulkan_backend_key, Span<BackendOption>(&option, 1));
  const auto* value = std::get_if<Value>(&option.value);
  return error == Error::Ok && value != nullptr ? *value : otherwise;
}

void print_devices() {
  const int count = get_option(vulkan::device_count_option_key, 0);
  std::printf("%d devices\n", count);
  for (int i = 0; i < std::max(count, 1); ++i) {
    std::printf("%s\n",
                get_option(std::string(vulkan::device_info_option_key) + "_" + std::to_string(i), Text{}).data());
  }
}

/// A call of a recording.
struct Call {
  std::string method;
  size_t test_case = 0;
  double rtol = 0, atol = 0, mean = 0;
};

bool read_calls(const fs::path& file, std::vector<Call>* calls) {
  std::ifstream lines(file);
  std::string line;
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    Call call;
    std::string rtol, atol, mean;  // operator>> reads no "inf"
    if (!(words >> call.method >> call.test_case >> rtol >> atol >> mean)) {
      return false;
    }
    call.rtol = std::strtod(rtol.c_str(), nullptr);
    call.atol = std::strtod(atol.c_str(), nullptr);
    call.mean = std::strtod(mean.c_str(), nullptr);
    calls->push_back(std::move(call));
  }
  return !calls->empty();
}

/// The bytes of a file, aligned as bundled programs must be.
struct Bytes {
  struct alignas(64) Line {
    char bytes[64];
  };
  std::vector<Line> lines;
  size_t size = 0;

  bool read(const fs::path& file) {
    std::error_code problem;
    size = static_cast<size_t>(fs::file_size(file, problem));
    if (problem) {
      return false;
    }
    lines.resize(size / sizeof(Line) + 1);
    std::ifstream stream(file, std::ios::binary);
    return static_cast<bool>(stream.read(lines[0].bytes, static_cast<std::streamsize>(size)));
  }
};

/// Adds up the dispatches of an execution.
class Dispatches final : public executorch::etdump::ETDumpGen {
 public:
  void log_profiling_delegate(const char*, executorch::runtime::DelegateDebugIntId, et_timestamp_t start,
                              et_timestamp_t end, const void* metadata, size_t size) override {
    times.push_back({std::string(static_cast<const char*>(metadata), size == 0 ? 0 : size - 1), start, end});
  }

  struct Time {
    std::string name;
    uint64_t start, end;
  };
  std::vector<Time> times;
};

double milliseconds(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

class Replay {
 public:
  explicit Replay(const Options& options) : options_(options) {}

  /// Replays all calls of a program. Prints a line with the result; false if it failed.
  bool program(const fs::path& file) {
    const std::string name = file.parent_path().filename().string() + "/" + file.stem().string();
    std::string problem;
    largest_ = 0;
    times_.clear();
    const auto start = Clock::now();
    const size_t calls = run(file, &problem);
    std::printf("%s %s: %zu calls, largest difference %.3g, %.0f ms%s%s\n", problem.empty() ? "ok" : "FAILED",
                name.c_str(), calls, largest_, milliseconds(start), problem.empty() ? "" : ": ", problem.c_str());
    if (!times_.empty()) {
      std::printf("%s", times_.c_str());
    }
    std::fflush(stdout);
    return problem.empty();
  }

 private:
  /// Returns the number of calls with the expected results, which is all calls if there is no problem.
  size_t run(const fs::path& file, std::string* problem) {
    std::vector<Call> calls;
    Bytes bytes;
    const void* program = nullptr;
    size_t program_size = 0;
    if (!read_calls(fs::path(file).replace_extension(".calls"), &calls) || !bytes.read(file)) {
      *problem = "the file or its list of calls cannot be read";
      return 0;
    }
    if (bundled::get_program_data(bytes.lines.data(), bytes.size, &program, &program_size) != Error::Ok) {
      *problem = "it is not a bundled program";
      return 0;
    }
    BundledModule module(bytes.lines.data());
    const auto start = Clock::now();
    double loaded = 0, first = 0;
    size_t good = 0;
    for (const Call& call : calls) {
      const auto found = module.method(call.method);
      if (!found.ok()) {
        *problem = "loading fails with the error " + std::to_string(static_cast<int>(found.error()));
        return good;
      }
      Method& method = **found;
      loaded = good == 0 ? milliseconds(start) : loaded;
      const std::string place = "call " + std::to_string(good) + " (" + call.method + ")";
      Error error = bundled::load_bundled_input(method, bytes.lines.data(), call.test_case);
      error = error == Error::Ok ? method.execute() : error;
      first = good == 0 ? milliseconds(start) - loaded : first;
      if (error != Error::Ok) {
        *problem = place + " fails with the error " + std::to_string(static_cast<int>(error));
        return good;
      }
      if (!compare(method, bytes.lines.data(), call)) {
        *problem = place + " differs from what is expected";
        return good;
      }
      ++good;
    }
    Method& last = *module.method(calls.back().method).get();
    if (options_.repeat > 0) {
      repeat(last, loaded, first);
    }
    if (options_.dispatches) {
      list_dispatches(bytes, calls.back());
    }
    return good;
  }

  bool compare(Method& method, const void* bundle, const Call& call) {
    const bundled::ErrorStats differences = bundled::compute_method_output_error_stats(method, bundle, call.test_case);
    if (differences.status == Error::Ok) {
      largest_ = std::max(largest_, differences.max_abs_error);
      // Integers, too, may differ by the absolute tolerance.
      if (differences.max_abs_error <= call.atol) {
        return differences.mean_abs_error <= call.mean;
      }
    }
    return bundled::verify_method_outputs(method, bundle, call.test_case, call.rtol, call.atol) == Error::Ok &&
           differences.mean_abs_error <= call.mean;
  }

  void repeat(Method& method, double loaded, double first) {
    std::vector<double> samples;
    for (int i = 0; i < options_.repeat; ++i) {
      const auto start = Clock::now();
      if (method.execute() != Error::Ok) {
        return;
      }
      samples.push_back(milliseconds(start));
    }
    std::sort(samples.begin(), samples.end());
    char line[256];
    std::snprintf(
        line, sizeof(line),
        "   load %.2f ms, first call %.2f ms, later calls: median %.3f ms, fastest %.3f ms; at most %d KiB of "
        "GPU memory\n",
        loaded, first, samples[samples.size() / 2], samples[0], get_option(vulkan::peak_memory_option_key, -1));
    times_ += line;
  }

  /// Loads the program again with a tracer.
  void list_dispatches(const Bytes& bytes, const Call& call) {
    auto owned = std::make_unique<Dispatches>();
    Dispatches& tracer = *owned;
    BundledModule module(bytes.lines.data(), nullptr, nullptr, std::move(owned));
    const auto found = module.method(call.method);
    double wall = 0;
    for (int i = 0; found.ok() && i < 3; ++i) {  // the last one is listed
      tracer.times.clear();
      if (bundled::load_bundled_input(**found, bytes.lines.data(), call.test_case) != Error::Ok) {
        return;
      }
      const auto start = Clock::now();
      if ((*found)->execute() != Error::Ok) {
        return;
      }
      wall = milliseconds(start);
    }
    if (tracer.times.empty()) {
      times_ += "   no times of dispatches: this program was built without the event tracer, or the device has none\n";
      return;
    }
    double sum = 0;
    uint64_t begin = UINT64_MAX, end = 0;
    for (const Dispatches::Time& time : tracer.times) {
      sum += static_cast<double>(time.end - time.start) / 1e6;
      begin = std::min(begin, time.start);
      end = std::max(end, time.end);
    }
    char line[512];
    std::snprintf(line, sizeof(line),
                  "   %zu dispatches: sum %.3f ms, from the first to the last %.3f ms, the call with them %.3f ms\n",
                  tracer.times.size(), sum, static_cast<double>(end - begin) / 1e6, wall);
    times_ += line;
    for (const Dispatches::Time& time : tracer.times) {
      std::snprintf(line, sizeof(line), "   %10.4f ms %s\n", static_cast<double>(time.end - time.start) / 1e6,
                    time.name.c_str());
      times_ += line;
    }
  }

  const Options& options_;
  double largest_ = 0;
  std::string times_;
};

/// All bundled programs at and below the paths, in the order of their names.
bool find_programs(const std::vector<fs::path>& paths, std::vector<fs::path>* files) {
  for (const fs::path& path : paths) {
    std::error_code problem;
    if (!fs::is_directory(path, problem)) {
      files->push_back(path);
      continue;
    }
    for (auto entry = fs::recursive_directory_iterator(path, problem); !problem && entry != fs::end(entry);
         entry.increment(problem)) {
      if (entry->path().extension() == ".bpte") {
        files->push_back(entry->path());
      }
    }
    if (problem) {
      std::fprintf(stderr, "vulkan_replay: %s: %s\n", path.string().c_str(), problem.message().c_str());
      return false;
    }
  }
  std::sort(files->begin(), files->end());
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  executorch::runtime::runtime_init();
  Options options;
  std::vector<fs::path> files;
  if (!parse(argc, argv, &options) || !find_programs(options.paths, &files)) {
    return 2;
  }
  if (options.help || (!options.info && files.empty())) {
    std::fputs(kHelp, options.help ? stdout : stderr);
    return options.help ? 0 : 2;
  }
  if (set_options(options) != Error::Ok) {
    return 2;
  }
  if (options.info) {
    print_devices();
  }
  Replay replay(options);
  size_t failed = 0;
  for (const fs::path& file : files) {
    failed += replay.program(file) ? 0 : 1;
  }
  if (!files.empty()) {
    std::printf("%zu programs, %zu failed\n", files.size(), failed);
  }
  return failed == 0 ? 0 : 1;
}
