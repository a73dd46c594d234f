// SPDX-License-Identifier: BSD-3-Clause
// llama_main: any program of a language model for text, from the command line.
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>

#include <executorch/devtools/etdump/etdump_flatcc.h>
#include <executorch/extension/file_cache/replace_file.h>
#include <executorch/extension/llm/runner/llm_runner_helper.h>
#include <executorch/runtime/core/event_tracer_hooks.h>
#include <executorch/runtime/platform/platform.h>
#include <executorch/runtime/platform/runtime.h>
#ifdef ET_USE_THREADPOOL
#include <executorch/extension/threadpool/threadpool.h>
#endif

#include "flags.h"

using executorch::etdump::ETDumpGen;
using executorch::extension::Module;
using executorch::runtime::Error;
namespace llm = executorch::extension::llm;

namespace {

et_pal_log_level_t least_severe = kError;

int severity(et_pal_log_level_t level) {
  return level == kFatal ? 3 : level == kError ? 2 : level == kInfo ? 1 : 0;
}

void log_to_stderr(et_timestamp_t, et_pal_log_level_t level, const char* filename, const char*, size_t line,
                   const char* message, size_t length) {
  if (severity(level) >= severity(least_severe)) {
    std::fprintf(stderr, "%c [%s:%zu] %.*s\n", static_cast<char>(level), filename, line, static_cast<int>(length),
                 message);
  }
}

void set_log_level(bool verbose) {
  const char* const variable = std::getenv("ET_LOG_LEVEL");
  std::string name = variable != nullptr ? variable : verbose ? "info" : "error";
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  least_severe = name == "debug" ? kDebug : name == "info" ? kInfo : name == "fatal" ? kFatal : kError;
  executorch::runtime::register_pal(executorch::runtime::PalImpl::create(log_to_stderr, __FILE__));
}

int failed(const std::string& what) {
  std::fprintf(stderr, "llama_main: %s\n", what.c_str());
  return 1;
}

bool set_threads(int32_t count) {
#ifdef ET_USE_THREADPOOL
  auto* const pool = executorch::extension::threadpool::get_threadpool();
  return pool != nullptr && pool->_unsafe_reset_threadpool(static_cast<uint32_t>(count));
#else
  return count == 1;
#endif
}

bool write_etdump(ETDumpGen& etdump, const std::string& path) {
  const auto trace = etdump.get_etdump_data();
  const std::unique_ptr<void, decltype(&std::free)> guard(trace.buf, &std::free);
  return trace.buf != nullptr && !executorch::extension::replace_file(path, trace.buf, trace.size);
}

/// The tokenizer of a file; without a path, the one inside the program, or else tokenizer.bin. Null after an error,
/// which `problem` describes; last_error_message() has the reason.
std::unique_ptr<tokenizers::Tokenizer> tokenizer_of(Module& module, const std::string& path, std::string* problem) {
  auto found = llm::load_tokenizer_for(module, path);
  if (found.ok()) {
    return std::move(*found);
  }
  if (found.error() != Error::NotFound) {
    *problem = "the tokenizer cannot be loaded: ";
    return nullptr;
  }
  *problem = "the program has no tokenizer inside, and --tokenizer_path names none: ";
  return llm::load_tokenizer("tokenizer.bin");
}

int run(const Flags& flags) {
  std::string prompt = flags.prompt;
  if (!flags.prompt_file.empty()) {
    std::ifstream file(flags.prompt_file, std::ios::binary);
    prompt.clear();
    char part[4096];
    while (file.read(part, sizeof(part)), file.gcount() > 0) {
      prompt.append(part, static_cast<size_t>(file.gcount()));
    }
    if (!file.is_open() || file.bad()) {  // a folder can be opened, but not read
      return failed("the prompt file " + flags.prompt_file + " cannot be read");
    }
  }
  if (flags.cpu_threads > 0 && !set_threads(flags.cpu_threads)) {
    return failed("no pool of " + std::to_string(flags.cpu_threads) + " threads; this build may have none");
  }
  std::unique_ptr<ETDumpGen> tracer;
  if (!flags.etdump_path.empty()) {
    if (!executorch::runtime::internal::event_tracer_enabled()) {
      return failed("--etdump_path: this llama_main cannot trace; build it with EXECUTORCH_ENABLE_EVENT_TRACER=ON");
    }
    tracer = std::make_unique<ETDumpGen>();
  }
  ETDumpGen* const etdump = tracer.get();  // the runner owns it
  auto module = std::make_unique<Module>(flags.model_path, flags.data_paths, Module::LoadMode::MmapUseMlockIgnoreErrors,
                                         std::move(tracer));
  if (module->load() != Error::Ok) {
    return failed("the model " + flags.model_path + " cannot be loaded");
  }
  std::string problem;
  auto tokenizer = tokenizer_of(*module, flags.tokenizer_path, &problem);
  if (!tokenizer) {
    return failed(problem + tokenizers::last_error_message());
  }
  const auto runner = llm::create_text_llm_runner(std::move(module), std::move(tokenizer), -1.0f, flags.method_name);
  if (!runner) {
    return failed("the model " + flags.model_path + " cannot be loaded");
  }
  if (flags.warmup && runner->warmup(prompt, flags.config.max_new_tokens) != Error::Ok) {
    return failed("the warmup failed");
  }
  const auto print = [](const std::string& piece) {
    llm::safe_printf(piece.c_str());
    std::fflush(stdout);
  };
  const auto report = [](const llm::Stats& stats) {
    std::putchar('\n');
    llm::print_report(stats);
  };
  const Error error = runner->generate(prompt, flags.config, print, report);
  if (error != Error::Ok) {
    return failed(std::string("the generation failed: ") + executorch::runtime::to_string(error));
  }
  if (etdump != nullptr && !write_etdump(*etdump, flags.etdump_path)) {
    return failed("the ETDump file " + flags.etdump_path + " cannot be written");
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  executorch::runtime::runtime_init();
  Flags flags;
  const std::string problem = parse_flags(argc, argv, &flags);
  if (!problem.empty()) {
    std::fprintf(stderr, "llama_main: %s. See llama_main --help.\n", problem.c_str());
    return 2;
  }
  if (flags.help) {
    std::fputs(kHelpText, stdout);
    return 0;
  }
  set_log_level(flags.verbose);
  return run(flags);
}
