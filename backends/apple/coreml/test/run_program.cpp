// SPDX-License-Identifier: BSD-3-Clause
// Runs a program of Core ML as a script says, for tests: run_program PROGRAM SCRIPT. A line of the script is one of
//
//   set KEY TEXT                     an option of the backend
//   option KEY TEXT                  an option of later loads
//   load METHOD
//   call METHOD PREFIX INPUT ...     writes the outputs to PREFIX.0 and so on
//   time METHOD COUNT INPUT ...      calls it COUNT times
//
// INPUT is the number of a ScalarType, sizes, dim order and file, such as 6:2x3:0x1:FILE. Each line prints the name of
// its error. A call prints TYPE:SIZES@ADDRESS of its inputs before that, and TYPE:SIZES of its outputs; `time` the
// median of the nanoseconds, and the allocations of all calls after the first two.
#include <dlfcn.h>
#include <sanitizer/allocator_interface.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <coreml_backend/coreml_backend_options.h>
#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor.h>
#include <executorch/runtime/backend/interface.h>

using executorch::backends::coreml::LoadOptionsBuilder;
using executorch::extension::Module;
using executorch::extension::TensorPtr;
using executorch::runtime::Error;
using executorch::runtime::EValue;

namespace {

std::atomic<uint64_t> allocations{0};

/// An input and its memory.
struct Input {
  std::vector<char> data;
  TensorPtr tensor;
};

/// Parses sizes such as "2x3".
std::vector<executorch::aten::SizesType> numbers_of(const std::string& text) {
  std::vector<executorch::aten::SizesType> numbers;
  std::istringstream stream(text);
  for (std::string number; std::getline(stream, number, 'x');) {
    numbers.push_back(std::stoi(number));
  }
  return numbers;
}

std::vector<std::unique_ptr<Input>> read_inputs(std::istringstream& words) {
  std::vector<std::unique_ptr<Input>> inputs;
  for (std::string word; words >> word;) {
    auto input = std::make_unique<Input>();
    std::istringstream parts(word);
    std::string type, sizes, order, path;
    std::getline(parts, type, ':');
    std::getline(parts, sizes, ':');
    std::getline(parts, order, ':');
    std::getline(parts, path);
    std::ifstream file(path, std::ios::binary);
    input->data.assign(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    const auto axes = numbers_of(order);
    std::vector<executorch::aten::DimOrderType> dim_order(axes.begin(), axes.end());
    input->tensor = executorch::extension::make_tensor_ptr(numbers_of(sizes), static_cast<void*>(input->data.data()),
                                                           std::move(dim_order), {},
                                                           static_cast<executorch::aten::ScalarType>(std::stoi(type)));
    inputs.push_back(std::move(input));
  }
  return inputs;
}

void print_tensor(const executorch::aten::Tensor& tensor) {
  std::printf(" %d:", static_cast<int>(tensor.scalar_type()));
  for (ssize_t axis = 0; axis < tensor.dim(); ++axis) {
    std::printf("%s%d", axis > 0 ? "x" : "", static_cast<int>(tensor.size(axis)));
  }
}

class Script {
 public:
  explicit Script(const std::string& program) : module_(program) {}

  Error run(const std::string& line) {
    std::istringstream words(line);
    std::string command, method;
    words >> command >> method;
    if (command == "set" || command == "option") {
      return set(command == "set", method, words);
    }
    if (command == "load") {
      ET_CHECK_OK_OR_RETURN_ERROR(options_.set_options(load_options_));
      return module_.load_method(method, nullptr, nullptr, &options_);
    }
    return command == "call" ? call(method, words) : time(method, words);
  }

 private:
  Error set(bool of_backend, const std::string& key, std::istringstream& words) {
    std::string value;
    words >> value;
    if (of_backend) {
      executorch::runtime::BackendOptions<1> options;
      ET_CHECK_OK_OR_RETURN_ERROR(key == "cache_limit_mib" ? options.set_option("cache_limit_mib", std::stoi(value))
                                  : key == "cache_dir"     ? options.set_option("cache_dir", value.c_str())
                                                           : options.set_option("compute_unit", value.c_str()));
      return executorch::runtime::set_option(LoadOptionsBuilder::backend_id(), options.view());
    }
    if (key == "cache_dir") {
      load_options_.setCacheDirectory(value.c_str());
      return Error::Ok;
    }
    using Unit = LoadOptionsBuilder::ComputeUnit;
    load_options_.setComputeUnit(value == "cpu_only"      ? Unit::CPU_ONLY
                                 : value == "cpu_and_gpu" ? Unit::CPU_AND_GPU
                                 : value == "cpu_and_ne"  ? Unit::CPU_AND_NE
                                                          : Unit::ALL);
    return Error::Ok;
  }

  Error call(const std::string& method, std::istringstream& words) {
    std::string prefix;
    words >> prefix;
    const auto inputs = read_inputs(words);
    std::vector<EValue> values;
    for (const auto& input : inputs) {
      values.emplace_back(input->tensor);
    }
    const auto outputs = module_.execute(method, values);
    ET_CHECK_OK_OR_RETURN_ERROR(outputs.error());
    for (const auto& input : inputs) {
      print_tensor(*input->tensor);
      std::printf("@%p", static_cast<const void*>(input->data.data()));
    }
    std::printf(" ->");
    for (size_t i = 0; i < outputs->size(); ++i) {
      const auto& tensor = outputs->at(i).toTensor();
      print_tensor(tensor);
      std::ofstream(prefix + "." + std::to_string(i), std::ios::binary)
          .write(static_cast<const char*>(tensor.const_data_ptr()), static_cast<std::streamsize>(tensor.nbytes()));
    }
    return Error::Ok;
  }

  Error time(const std::string& method, std::istringstream& words) {
    size_t count = 0;
    words >> count;
    const auto inputs = read_inputs(words);
    ET_CHECK_OK_OR_RETURN_ERROR(module_.load_method(method));
    const auto loaded = module_.method(method);
    ET_CHECK_OK_OR_RETURN_ERROR(loaded.error());
    for (size_t i = 0; i < inputs.size(); ++i) {
      ET_CHECK_OK_OR_RETURN_ERROR((*loaded)->set_input(EValue(*inputs[i]->tensor), i));
    }
    ET_CHECK_OK_OR_RETURN_ERROR((*loaded)->execute());
    ET_CHECK_OK_OR_RETURN_ERROR((*loaded)->execute());
    std::vector<int64_t> times(count);
    const uint64_t before = allocations;
    for (int64_t& time : times) {
      const auto start = std::chrono::steady_clock::now();
      ET_CHECK_OK_OR_RETURN_ERROR((*loaded)->execute());
      time = std::chrono::nanoseconds(std::chrono::steady_clock::now() - start).count();
    }
    const uint64_t made = allocations - before;
    std::nth_element(times.begin(), times.begin() + count / 2, times.end());
    std::printf(" %" PRId64 " %" PRIu64, times[count / 2], made);
    return Error::Ok;
  }

  Module module_;
  LoadOptionsBuilder load_options_;
  executorch::runtime::LoadBackendOptionsMap options_;
};

}  // namespace

// Counts the allocations of the delegate, the runtime and Objective-C.
#if __has_feature(address_sanitizer)
[[maybe_unused]] const int kHooks = __sanitizer_install_malloc_and_free_hooks(
    [](const volatile void*, size_t) { ++allocations; }, [](const volatile void*) {});
#else
extern "C" void* malloc(size_t size) {
  static auto* const next = reinterpret_cast<void* (*)(size_t)>(dlsym(RTLD_NEXT, "malloc"));
  ++allocations;
  return next(size);
}
#endif

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: run_program PROGRAM SCRIPT\n");
    return 2;
  }
  Script script(argv[1]);
  std::ifstream lines(argv[2]);
  for (std::string line; std::getline(lines, line);) {
    const Error error = script.run(line);
    std::printf(" %s\n", executorch::runtime::error_name(error));
    std::fflush(stdout);
  }
  return 0;
}
