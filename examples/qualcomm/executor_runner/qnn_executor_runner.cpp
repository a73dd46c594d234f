// SPDX-License-Identifier: BSD-3-Clause
// Runs a program with delegates for Qualcomm's NPUs. Reads the inputs of several runs from files, and writes the
// outputs to files.
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <executorch/extension/data_loader/mmap_data_loader.h>
#include <executorch/extension/file_cache/replace_file.h>
#include <executorch/extension/module/module.h>
#include <executorch/extension/runner_util/inputs.h>
#include <executorch/runtime/platform/clock.h>
#include <executorch/runtime/platform/log.h>
#include <executorch/runtime/platform/platform.h>
#include <executorch/runtime/platform/runtime.h>

#include "command_line.h"

using executorch::extension::BufferCleanup;
using executorch::extension::MmapDataLoader;
using executorch::extension::Module;
using executorch::runtime::DataLoader;
using executorch::runtime::Error;
using executorch::runtime::FreeableBuffer;
using executorch::runtime::Method;
using executorch::runtime::Result;

namespace {

constexpr char kHelp[] =
    "Usage: qnn_executor_runner [OPTION...]\n"
    "  --model_path FILE           the program; model.pte by default\n"
    "  --method_name NAME          the method; forward by default\n"
    "  --input_list_path FILE      a text file with a line for each run: the names of files with the bytes of the\n"
    "                              tensor inputs, separated by spaces. Without it, all inputs are ones\n"
    "  --output_folder_path DIR    an existing folder for the outputs, output_RUN_INDEX.raw; . by default\n"
    "  --iteration N               how often each line is run; 1 by default\n"
    "  --warm_up N                 how many runs are not timed; 0 by default\n";

struct Flags {
  std::string model_path = "model.pte";
  std::string method_name = "forward";
  std::string input_list_path;
  std::string output_folder_path = ".";
  uint32_t iteration = 1;
  uint32_t warm_up = 0;
  bool help = false;
};

/// Returns an empty text, or what is wrong with the command line.
std::string parse(int argc, const char* const* argv, Flags* flags) {
  std::string problem;
  const auto text = [](std::string* to) { return [to](const std::string& value) { *to = value; }; };
  const auto count = [&problem](const char* name, uint32_t* to) {
    return [&problem, name, to](const std::string& value) {
      std::istringstream stream(value);
      long long number = -1;
      if (!(stream >> number) || !stream.eof() || number < 0 || number > 1000000) {
        problem = std::string("--") + name + " is a number up to 1000000, found '" + value + "'";
      } else {
        *to = static_cast<uint32_t>(number);
      }
    };
  };
  const std::string wrong = parse_command_line(argc, argv, {{"help", &flags->help}},
                                               {{"model_path", text(&flags->model_path)},
                                                {"method_name", text(&flags->method_name)},
                                                {"input_list_path", text(&flags->input_list_path)},
                                                {"output_folder_path", text(&flags->output_folder_path)},
                                                {"iteration", count("iteration", &flags->iteration)},
                                                {"warm_up", count("warm_up", &flags->warm_up)}});
  return wrong.empty() ? problem : wrong;
}

/// The names of files in each line of a list. A list without lines, or with an empty one, is InvalidArgument.
Result<std::vector<std::vector<std::string>>> read_list(const std::string& path) {
  std::ifstream file(path);
  ET_CHECK_OR_RETURN_ERROR(file.is_open(), AccessFailed, "--input_list_path: %s cannot be opened.", path.c_str());
  std::vector<std::vector<std::string>> runs;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::vector<std::string> names;
    for (std::string name; words >> name;) {
      names.push_back(name);
    }
    ET_CHECK_OR_RETURN_ERROR(!names.empty(), InvalidArgument,
                             "--input_list_path: line %zu of %s names no files; expected one for each tensor input.",
                             runs.size() + 1, path.c_str());
    runs.push_back(std::move(names));
  }
  ET_CHECK_OR_RETURN_ERROR(!file.bad() && !runs.empty(), InvalidArgument,
                           "--input_list_path: %s has no lines; expected one for each run.", path.c_str());
  return runs;
}

/// Sets the inputs of a run to the contents of files, or to ones.
Result<BufferCleanup> prepare(Method& method, const std::vector<std::string>& names) {
  std::vector<FreeableBuffer> contents;
  std::vector<std::pair<char*, size_t>> buffers;
  for (const std::string& name : names) {
    auto loader = MmapDataLoader::from(name.c_str(), MmapDataLoader::MlockConfig::NoMlock);
    ET_CHECK_OR_RETURN_ERROR(loader.ok(), AccessFailed, "The input file %s cannot be opened.", name.c_str());
    auto content =
        loader->load(0, loader->size().get(), DataLoader::SegmentInfo(DataLoader::SegmentInfo::Type::External));
    ET_CHECK_OK_OR_RETURN_ERROR(content.error());
    contents.push_back(std::move(content.get()));
    buffers.emplace_back(static_cast<char*>(const_cast<void*>(contents.back().data())), contents.back().size());
  }
  return executorch::extension::prepare_input_tensors(method, {}, buffers);
}

Error write_outputs(const Method& method, const std::string& folder, size_t run) {
  for (size_t i = 0; i < method.outputs_size(); ++i) {
    if (!method.get_output(i).isTensor()) {
      continue;
    }
    const auto& tensor = method.get_output(i).toTensor();
    const std::string path = folder + "/output_" + std::to_string(run) + "_" + std::to_string(i) + ".raw";
    const std::error_code error = executorch::extension::replace_file(path, tensor.const_data_ptr(), tensor.nbytes());
    ET_CHECK_OR_RETURN_ERROR(!error, AccessFailed, "%s cannot be written: %s", path.c_str(), error.message().c_str());
  }
  return Error::Ok;
}

Error run(const Flags& flags) {
  std::vector<std::vector<std::string>> runs(1);
  if (!flags.input_list_path.empty()) {
    auto found = read_list(flags.input_list_path);
    ET_CHECK_OK_OR_RETURN_ERROR(found.error());
    runs = std::move(*found);
  }
  Module module(flags.model_path, Module::LoadMode::Mmap);
  ET_CHECK_OK_OR_RETURN_ERROR(module.load_method(flags.method_name));
  const Result<Method*> method = module.method(flags.method_name);
  ET_CHECK_OK_OR_RETURN_ERROR(method.error());
  ET_LOG(Info, "Method loaded.");
  et_timestamp_t elapsed = 0;
  for (size_t i = 0; i < runs.size(); ++i) {
    for (uint32_t n = 0; n < flags.warm_up + flags.iteration; ++n) {
      // Before each run: inputs may be in planned memory, which a run uses for other tensors, too.
      const Result<BufferCleanup> inputs = prepare(**method, runs[i]);
      ET_CHECK_OK_OR_RETURN_ERROR(inputs.error());
      const et_timestamp_t start = executorch::runtime::pal_current_ticks();
      ET_CHECK_OK_OR_RETURN_ERROR((*method)->execute());
      elapsed += n < flags.warm_up ? 0 : executorch::runtime::pal_current_ticks() - start;
    }
    if (flags.iteration > 0) {
      ET_CHECK_OK_OR_RETURN_ERROR(write_outputs(**method, flags.output_folder_path, i));
    }
  }
  ET_LOG(Info, "Model executed successfully %zu time(s) in %f ms.", runs.size() * flags.iteration,
         static_cast<double>(executorch::runtime::ticks_to_ns(elapsed)) / 1e6);
  return Error::Ok;
}

}  // namespace

int main(int argc, char** argv) {
  executorch::runtime::runtime_init();
  Flags flags;
  const std::string problem = parse(argc, argv, &flags);
  if (!problem.empty()) {
    std::fprintf(stderr, "qnn_executor_runner: %s\n%s", problem.c_str(), kHelp);
    return 2;
  }
  if (flags.help) {
    std::fputs(kHelp, stdout);
    return 0;
  }
  const Error error = run(flags);
  if (error != Error::Ok) {
    ET_LOG(Error, "%s cannot be run: %s", flags.model_path.c_str(), executorch::runtime::error_name(error));
  }
  return error == Error::Ok ? 0 : 1;
}
