// SPDX-License-Identifier: BSD-3-Clause
//
// Runs a program with the runtime's own classes, step by step. It is also the example to start from where
// extension/module does not fit: every piece of memory that the runtime uses is provided here.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <executorch/devtools/bundled_program/bundled_program.h>
#include <executorch/devtools/etdump/etdump_flatcc.h>
#include <executorch/extension/data_loader/buffer_data_loader.h>
#include <executorch/extension/data_loader/mmap_data_loader.h>
#include <executorch/extension/evalue_util/print_evalue.h>
#include <executorch/extension/file_cache/replace_file.h>
#include <executorch/extension/flat_tensor/flat_tensor_data_map.h>
#include <executorch/extension/memory_allocator/malloc_memory_allocator.h>
#include <executorch/extension/named_data_map/merged_data_map.h>
#include <executorch/extension/runner_util/inputs.h>
#include <executorch/runtime/core/event_tracer.h>
#include <executorch/runtime/core/event_tracer_hooks.h>
#include <executorch/runtime/core/hierarchical_allocator.h>
#include <executorch/runtime/executor/memory_manager.h>
#include <executorch/runtime/executor/method.h>
#include <executorch/runtime/executor/program.h>
#include <executorch/runtime/platform/clock.h>
#include <executorch/runtime/platform/log.h>
#include <executorch/runtime/platform/platform.h>
#include <executorch/runtime/platform/runtime.h>

#include "command_line.h"
#include "flags.h"
#ifdef EXECUTORCH_HAS_INSTRUCTION_SETS
#include "kernels/instruction_sets.h"
#endif

using executorch::etdump::ETDumpGen;
using executorch::etdump::ETDumpResult;
using executorch::extension::BufferDataLoader;
using executorch::extension::FlatTensorDataMap;
using executorch::extension::MallocMemoryAllocator;
using executorch::extension::MmapDataLoader;
using executorch::extension::merged_data_map::MergedDataMap;
using executorch::runtime::DataLoader;
using executorch::runtime::Error;
using executorch::runtime::EValue;
using executorch::runtime::FreeableBuffer;
using executorch::runtime::HierarchicalAllocator;
using executorch::runtime::MemoryManager;
using executorch::runtime::Method;
using executorch::runtime::MethodMeta;
using executorch::runtime::NamedDataMap;
using executorch::runtime::Program;
using executorch::runtime::Result;
using executorch::runtime::Span;

namespace {

// Logs the purpose of the failed step, after the runtime's own messages, and returns the error.
Error failed(const char* what, const std::string& name, Error error) {
  ET_LOG(Error, "%s %s: %s", what, name.c_str(), error_name(error));
  return error;
}

// The file with the program, which may be a part of a bundled program.
class ModelFile {
 public:
  Error open(const std::string& path, bool is_bundled) {
    auto loader = MmapDataLoader::from(path.c_str(), MmapDataLoader::MlockConfig::NoMlock);
    if (!loader.ok()) {
      return failed("Cannot read the model file", path, loader.error());
    }
    file_.emplace(std::move(loader.get()));
    if (!is_bundled) {
      return Error::Ok;
    }
    const size_t size = file_->size().get();
    auto content = file_->load(0, size, DataLoader::SegmentInfo(DataLoader::SegmentInfo::Type::Program));
    if (!content.ok()) {
      return failed("Cannot read the model file", path, content.error());
    }
    content_.emplace(std::move(content.get()));
    const void* program = nullptr;
    size_t program_size = 0;
    const bool is_bundle = executorch::bundled_program::is_bundled_program(bundle(), size);
    ET_CHECK_OR_RETURN_ERROR(is_bundle, InvalidArgument, "%s is not a bundled program: leave out --bundled_program.",
                             path.c_str());
    const Error error = executorch::bundled_program::get_program_data(bundle(), size, &program, &program_size);
    if (error != Error::Ok) {
      return failed("Cannot use the bundled program", path, error);
    }
    program_.emplace(program, program_size);
    return Error::Ok;
  }

  DataLoader* program() { return program_ ? static_cast<DataLoader*>(&*program_) : &*file_; }
  /// The bundled program; null for a file of another kind. Nothing writes to it.
  void* bundle() { return content_ ? const_cast<void*>(content_->data()) : nullptr; }

 private:
  std::optional<MmapDataLoader> file_;
  std::optional<FreeableBuffer> content_;
  std::optional<BufferDataLoader> program_;
};

// The files of external data, as one map.
class ExternalData {
 public:
  Error load(const std::vector<std::string>& paths) {
    for (const std::string& path : paths) {
      auto loader = MmapDataLoader::from(path.c_str(), MmapDataLoader::MlockConfig::NoMlock);
      if (!loader.ok()) {
        return loader.error();
      }
      loaders_.push_back(std::make_unique<MmapDataLoader>(std::move(loader.get())));
      auto map = FlatTensorDataMap::load(loaders_.back().get());
      if (!map.ok()) {
        return failed("Cannot use the data file", path, map.error());
      }
      maps_.push_back(std::make_unique<FlatTensorDataMap>(std::move(map.get())));
      pointers_.push_back(maps_.back().get());
      ET_LOG(Info, "Data file %s is loaded.", path.c_str());
    }
    if (!pointers_.empty()) {
      auto merged = MergedDataMap::load(Span<const NamedDataMap*>(pointers_.data(), pointers_.size()));
      if (!merged.ok()) {
        return merged.error();
      }
      merged_ = std::make_unique<MergedDataMap>(std::move(merged.get()));
    }
    return Error::Ok;
  }

  const NamedDataMap* map() const { return merged_.get(); }

 private:
  std::vector<std::unique_ptr<MmapDataLoader>> loaders_;
  std::vector<std::unique_ptr<FlatTensorDataMap>> maps_;
  std::vector<const NamedDataMap*> pointers_;
  std::unique_ptr<MergedDataMap> merged_;
};

// Reads the files of --inputs. `sizes` gets the sizes that follow each file's name; a file without sizes has none.
Error read_files(const std::vector<std::string>& inputs, std::vector<FreeableBuffer>* contents,
                 std::vector<std::vector<executorch::aten::SizesType>>* sizes) {
  for (std::string path : inputs) {
    std::error_code missing;
    sizes->emplace_back();
    if (!std::filesystem::exists(path, missing)) {  // a name that ends like sizes is tried as it is first
      sizes->back() = take_sizes(&path);
    }
    // The loader accepts regular files only: reading a pipe or a device could take forever.
    auto loader = MmapDataLoader::from(path.c_str(), MmapDataLoader::MlockConfig::NoMlock);
    ET_CHECK_OR_RETURN_ERROR(loader.ok(), AccessFailed,
                             "The input file %s cannot be opened. Sizes after its name are like :2x8.", path.c_str());
    auto content =
        loader->load(0, loader->size().get(), DataLoader::SegmentInfo(DataLoader::SegmentInfo::Type::External));
    if (!content.ok()) {
      return failed("Cannot read the input file", path, content.error());
    }
    contents->push_back(std::move(content.get()));
  }
  return Error::Ok;
}

Error write_file(const std::string& path, const void* data, size_t size) {
  const std::error_code error = executorch::extension::replace_file(path, data, size);
  ET_CHECK_OR_RETURN_ERROR(!error, AccessFailed, "The file %s cannot be written: %s", path.c_str(),
                           error.message().c_str());
  return Error::Ok;
}

Error write_outputs(const std::vector<EValue>& outputs, const std::string& base_name) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].isTensor()) {
      continue;
    }
    const auto& tensor = outputs[i].toTensor();
    const std::string path = base_name + "-" + std::to_string(i) + ".bin";
    ET_CHECK_OK_OR_RETURN_ERROR(write_file(path, tensor.const_data_ptr(), tensor.nbytes()));
  }
  return Error::Ok;
}

void print_outputs(const std::vector<EValue>& outputs, bool all) {
  std::cout << executorch::extension::evalue_edge_items(all ? INT32_MAX : 10);
  for (size_t i = 0; i < outputs.size(); ++i) {
    std::cout << "OutputX " << i << ": " << outputs[i] << "\n";
  }
  std::cout << std::flush;
}

// The source of a method's inputs: the first test case of a bundled program, files, or ones if neither is given.
struct Inputs {
  void* bundle = nullptr;
  std::vector<FreeableBuffer> contents;
  executorch::extension::PrepareInputTensorsOptions options;
  std::optional<executorch::extension::BufferCleanup> memory;
};

Error prepare_inputs(Method& method, const Flags& flags, Inputs* inputs) {
  if (inputs->bundle != nullptr) {
    const Error error = executorch::bundled_program::load_bundled_input(method, inputs->bundle, 0);
    return error == Error::Ok ? error : failed("Cannot use the first test case of", flags.method_name, error);
  }
  std::vector<std::pair<char*, size_t>> buffers;
  for (const FreeableBuffer& content : inputs->contents) {  // only read, though the pairs are not const
    buffers.emplace_back(static_cast<char*>(const_cast<void*>(content.data())), content.size());
  }
  auto options = inputs->options;
  auto prepared = executorch::extension::prepare_input_tensors(method, std::move(options), buffers);
  if (!prepared.ok()) {
    return failed("Cannot prepare the inputs of", flags.method_name, prepared.error());
  }
  inputs->memory.emplace(std::move(prepared.get()));
  return Error::Ok;
}

// Prepares the inputs before each run: they may be in planned memory, which a run reuses for other tensors.
Error execute(Method& method, const Flags& flags, Inputs* inputs) {
  et_timestamp_t elapsed = 0;
  for (uint32_t i = 0; i < flags.num_executions; ++i) {
    if (i == 0 && inputs->bundle != nullptr) {
      ET_LOG(Info, "Loading bundled program...");
    }
    ET_CHECK_OK_OR_RETURN_ERROR(prepare_inputs(method, flags, inputs));
    if (i == 0) {
      ET_LOG(Info, "Inputs prepared.");
    }
    const et_timestamp_t start = executorch::runtime::pal_current_ticks();
    const Error error = method.execute();
    elapsed += executorch::runtime::pal_current_ticks() - start;
    if (error != Error::Ok) {
      return failed("Execution failed in run", std::to_string(i + 1), error);
    }
  }
  ET_LOG(Info, "Model executed successfully %u time(s) in %f ms.", flags.num_executions,
         static_cast<double>(executorch::runtime::ticks_to_ns(elapsed)) / 1e6);
  return Error::Ok;
}

Error verify(Method& method, const Flags& flags, void* bundle) {
  const Error error =
      executorch::bundled_program::verify_method_outputs(method, bundle, 0, flags.bundleio_rtol, flags.bundleio_atol);
  if (error != Error::Ok) {
    return failed("The outputs are not those of the first test case of", flags.method_name, error);
  }
  ET_LOG(Info, "Model verified successfully.");
  return Error::Ok;
}

Error write_etdump(ETDumpGen& etdump, const std::string& path) {
  const ETDumpResult trace = etdump.get_etdump_data();
  const std::unique_ptr<void, decltype(&std::free)> guard(trace.buf, &std::free);
  ET_CHECK_OR_RETURN_ERROR(trace.buf != nullptr, MemoryAllocationFailed, "There is no ETDump to write.");
  ET_CHECK_OK_OR_RETURN_ERROR(write_file(path, trace.buf, trace.size));
  ET_LOG(Info, "Write etdump to %s, Size = %zu", path.c_str(), trace.size);
  return Error::Ok;
}

Error run(const Flags& flags) {
  ET_CHECK_OR_RETURN_ERROR(flags.etdump_path.empty() || executorch::runtime::internal::event_tracer_enabled(),
                           NotSupported,
                           "This executor_runner cannot trace: build it with EXECUTORCH_ENABLE_EVENT_TRACER=ON.");
#ifdef EXECUTORCH_HAS_INSTRUCTION_SETS
  if (flags.verbose) {
    for (const auto& set : executorch::kernels::instruction_sets()) {
      ET_LOG(Info, "Kernels (%s): %s", set.kernels.c_str(), set.instructions.c_str());
    }
  }
#endif
  ModelFile model;
  ET_CHECK_OK_OR_RETURN_ERROR(model.open(flags.model_path, flags.bundled_program));
  const Result<Program> program = Program::load(model.program(), Program::Verification::InternalConsistency);
  if (!program.ok()) {
    return failed("Cannot use the model file", flags.model_path, program.error());
  }
  ET_LOG(Info, "Model file %s is loaded.", flags.model_path.c_str());
  ExternalData external_data;
  ET_CHECK_OK_OR_RETURN_ERROR(external_data.load(flags.data_paths));

  ET_LOG(Info, "Program methods: %zu", program->num_methods());
  ET_LOG(Info, "Running method %s", flags.method_name.c_str());
  const Result<MethodMeta> meta = program->method_meta(flags.method_name.c_str());
  if (!meta.ok()) {
    for (size_t i = 0; i < program->num_methods(); ++i) {
      ET_LOG(Error, "The program has the method '%s'.", program->get_method_name(i).get());
    }
    return meta.error();
  }

  // Memory whose layout was planned at export: one buffer for each memory id, handed out by id and offset.
  std::vector<std::unique_ptr<uint8_t[]>> planned_buffers;
  std::vector<Span<uint8_t>> planned_spans;
  for (size_t id = 0; id < meta->num_memory_planned_buffers(); ++id) {
    const auto size = static_cast<size_t>(meta->memory_planned_buffer_size(id).get());
    ET_LOG(Info, "Setting up non-const buffer %zu, size %zu.", id + 1, size);
    planned_buffers.push_back(std::make_unique<uint8_t[]>(size));
    planned_spans.emplace_back(planned_buffers.back().get(), size);
  }
  HierarchicalAllocator planned_memory(Span<Span<uint8_t>>(planned_spans.data(), planned_spans.size()));

  // Memory for the method's own structures, and for kernels that need some while they run.
  MallocMemoryAllocator method_allocator;
  MallocMemoryAllocator temp_allocator;
  ET_LOG(Info, "Setting up memory manager");
  MemoryManager memory_manager(&method_allocator, &planned_memory, &temp_allocator);

  ET_LOG(Info, "Loading method name from plan");
  ETDumpGen etdump;
  std::vector<uint8_t> debug_buffer;
  if (flags.dump_outputs) {
    debug_buffer.resize(flags.debug_buffer_size);
    ET_CHECK_OK_OR_RETURN_ERROR(etdump.set_debug_buffer({debug_buffer.data(), debug_buffer.size()}).error());
    etdump.set_event_tracer_debug_level(executorch::runtime::EventTracerDebugLogLevel::kProgramOutputs);
  }
  Result<Method> method = program->load_method(flags.method_name.c_str(), &memory_manager,
                                               flags.etdump_path.empty() ? nullptr : &etdump, external_data.map());
  if (!method.ok()) {
    return failed("Cannot load the method", flags.method_name, method.error());
  }
  ET_LOG(Info, "Method loaded.");

  // Outputs that were left out of the plan need memory from us.
  std::vector<std::unique_ptr<uint8_t[]>> output_buffers;
  for (size_t i = 0; i < method->outputs_size(); ++i) {
    const EValue& output = method->get_output(i);
    if (!output.isTensor() || output.toTensor().const_data_ptr() != nullptr) {
      continue;
    }
    const auto info = meta->output_tensor_meta(i);
    if (info.ok() && !info->is_memory_planned()) {
      output_buffers.push_back(std::make_unique<uint8_t[]>(info->nbytes()));
      ET_CHECK_OK_OR_RETURN_ERROR(method->set_output_data_ptr(output_buffers.back().get(), info->nbytes(), i));
    }
  }

  Inputs inputs;
  inputs.bundle = model.bundle();
  ET_CHECK_OK_OR_RETURN_ERROR(read_files(flags.inputs, &inputs.contents, &inputs.options.input_sizes));
  ET_CHECK_OK_OR_RETURN_ERROR(execute(*method, flags, &inputs));
  if (!flags.etdump_path.empty()) {
    ET_CHECK_OK_OR_RETURN_ERROR(write_etdump(etdump, flags.etdump_path));
  }
  if (flags.dump_outputs) {
    ET_CHECK_OK_OR_RETURN_ERROR(write_file(flags.debug_output_path, debug_buffer.data(), debug_buffer.size()));
  }

  if (model.bundle() != nullptr) {
    ET_CHECK_OK_OR_RETURN_ERROR(verify(*method, flags, model.bundle()));
  }

  std::vector<EValue> outputs(method->outputs_size());
  ET_CHECK_OK_OR_RETURN_ERROR(method->get_outputs(outputs.data(), outputs.size()));
  ET_LOG(Info, "%zu outputs:", outputs.size());
  if (flags.print_output) {
    print_outputs(outputs, flags.print_all_output);
  }
  return flags.output_file.empty() ? Error::Ok : write_outputs(outputs, flags.output_file);
}

}  // namespace

int main(int argc, char** argv) {
  executorch::runtime::runtime_init();
  Flags flags;
  const std::string problem = parse_flags(argc, argv, &flags);
  if (!problem.empty()) {
    std::fprintf(stderr, "executor_runner: %s. See executor_runner --help.\n", problem.c_str());
    return 2;
  }
  if (flags.help) {
    std::fputs(kHelpText, stdout);
    return 0;
  }
  const Error error = run(flags);
  if (error != Error::Ok) {
    std::fprintf(stderr, "executor_runner: %s could not be run (%s); the lines above say why.\n",
                 flags.model_path.c_str(), executorch::runtime::error_name(error));
    return 1;
  }
  return 0;
}
