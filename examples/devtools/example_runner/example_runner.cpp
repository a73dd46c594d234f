// SPDX-License-Identifier: BSD-3-Clause
//
// Runs a case of a bundled program (.bpte) on the device, checks its outputs, and writes what the Inspector reads.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <executorch/devtools/etdump/etdump_flatcc.h>
#include <executorch/extension/evalue_util/print_evalue.h>
#include <executorch/extension/file_cache/replace_file.h>
#include <executorch/extension/module/bundled_module.h>
#include <executorch/runtime/core/event_tracer_hooks.h>
#include <executorch/runtime/platform/log.h>
#include <executorch/runtime/platform/runtime.h>

#include "options.h"

using executorch::etdump::ETDumpGen;
using executorch::etdump::ETDumpResult;
using executorch::extension::bundled_module::BundledModule;
using executorch::runtime::Error;
using executorch::runtime::EValue;
using executorch::runtime::EventTracerDebugLogLevel;
using executorch::runtime::Result;
using executorch::runtime::Span;

namespace {

Error write_file(const std::string& path, const void* data, size_t size) {
  const std::error_code error = executorch::extension::replace_file(path, data, size);
  ET_CHECK_OR_RETURN_ERROR(!error, AccessFailed, "%s could not be written: %s", path.c_str(), error.message().c_str());
  return Error::Ok;
}

Error write_etdump(ETDumpGen& etdump, const std::string& path) {
  const ETDumpResult trace = etdump.get_etdump_data();
  const std::unique_ptr<void, decltype(&std::free)> owner(trace.buf, &std::free);
  ET_CHECK_OR_RETURN_ERROR(trace.buf != nullptr, MemoryAllocationFailed, "There is no ETDump to write");
  return write_file(path, trace.buf, trace.size);
}

void print_outputs(const std::vector<EValue>& outputs) {
  std::cout << executorch::extension::evalue_edge_items(10);
  for (size_t i = 0; i < outputs.size(); ++i) {
    std::cout << "Output " << i << ": " << outputs[i] << "\n";
  }
  std::cout << std::flush;
}

Error run(const Options& options) {
  const bool traces = executorch::runtime::internal::event_tracer_enabled();
  ET_CHECK_OR_RETURN_ERROR(traces || (!options.etdump_asked && !options.logs_values()), NotSupported,
                           "This " ET_RUNNER_NAME " cannot trace: build it with EXECUTORCH_ENABLE_EVENT_TRACER=ON");
  std::vector<uint8_t> debug_buffer;
  auto owned_etdump = std::make_unique<ETDumpGen>();
  ETDumpGen& etdump = *owned_etdump;
  if (options.logs_values()) {
    debug_buffer.resize(options.debug_buffer_size);
    const Result<bool> set = etdump.set_debug_buffer(Span<uint8_t>(debug_buffer.data(), debug_buffer.size()));
    ET_CHECK_OK_OR_RETURN_ERROR(set.error());
    etdump.set_event_tracer_debug_level(options.dump_intermediate_outputs
                                            ? EventTracerDebugLogLevel::kIntermediateOutputs
                                            : EventTracerDebugLogLevel::kProgramOutputs);
  }
  auto module = BundledModule::from_file(options.bundled_program_path, nullptr, nullptr, std::move(owned_etdump));
  ET_CHECK_OK_OR_RETURN_ERROR(module.error());
  BundledModule& bundle = **module;

  std::string method = options.method_name;
  if (method.empty()) {
    ET_CHECK_OK_OR_RETURN_ERROR(bundle.load());
    const auto first = bundle.program()->get_method_name(0);
    ET_CHECK_OK_OR_RETURN_ERROR(first.error());
    method = *first;
  }
  const auto outputs = bundle.execute(method, options.testset_idx);
  ET_CHECK_OK_OR_RETURN_ERROR(outputs.error(), "Method '%s' could not run case %zu", method.c_str(),
                              options.testset_idx);
  if (options.print_output) {
    print_outputs(*outputs);
  }
  if (traces) {
    ET_CHECK_OK_OR_RETURN_ERROR(write_etdump(etdump, options.etdump_path));
  }
  if (options.logs_values()) {
    ET_CHECK_OK_OR_RETURN_ERROR(write_file(options.debug_output_path, debug_buffer.data(), debug_buffer.size()));
  }
  if (!options.output_verification) {
    return Error::Ok;
  }
  return bundle.verify_method_outputs(method, options.testset_idx, options.rtol, options.atol);
}

}  // namespace

int main(int argc, char** argv) {
  executorch::runtime::runtime_init();
  Options options;
  const std::string problem = parse_options(argc, argv, &options);
  if (!problem.empty()) {
    std::fprintf(stderr, ET_RUNNER_NAME ": %s; see " ET_RUNNER_NAME " --help\n", problem.c_str());
    return 2;
  }
  if (options.help) {
    std::fputs(kHelpText, stdout);
    return 0;
  }
  return run(options) == Error::Ok ? 0 : 1;
}
