// SPDX-License-Identifier: BSD-3-Clause
#include "flags.h"

#include <charconv>
#include <cstdlib>
#include <functional>
#include <system_error>
#include <type_traits>

#include "examples/portable/executor_runner/command_line.h"

const char* const kHelpText = R"(llama_main: continue a prompt with a language model.

Usage: llama_main --model_path model.pte --tokenizer_path tokenizer.json --prompt TEXT [options]

The model
  --model_path FILE            The program. Default: llama2.pte
  --data_paths FILE,...        Files with the program's weights (.ptd).
  --tokenizer_path FILE        tokenizer.json, tokenizer.model or tokenizer.bin. Default: the one inside the program,
                               or tokenizer.bin
  --method_name NAME           The method to run. Default: forward

The prompt
  --prompt TEXT                Default: The answer to the ultimate question is
  --prompt_file FILE           The text of a file instead.
  --num_bos N, --num_eos N     Tokens that begin and end a sequence, around the prompt. Default: 0

The answer
  --seq_len N                  Tokens of prompt and answer together, at most. Default: what the context holds
  --max_new_tokens N           Tokens of the answer, at most. Default: what the context holds
  --temperature T              0 takes the likeliest token. Default: 0.8
  --top_k N, --top_p P, --min_p P
                               Tokens to choose from; 0, 1 and 0 are all. Default: 0, 0.9, 0
  --repetition_penalty X, --presence_penalty X, --frequency_penalty X
  --seed N                     The same text again. Default: random
  --stop TEXT                  End before this text. May be given more than once.
  --ignore_eos                 Go on after the token that ends a sequence.
  --noecho                     Print the answer without the prompt.

How
  --cpu_threads N              Threads; -1 is one for each core. Default: -1
  --warmup                     Generate once before, so that times are those of later calls.
  --etdump_path FILE           Write an ETDump for the Inspector. Needs a build with EXECUTORCH_ENABLE_EVENT_TRACER=ON.
  --verbose                    Log what happens, to stderr; ET_LOG_LEVEL (Debug, Info, Error, Fatal) does the same.
  --help                       Print this text.

The text goes to stdout, and after it a line "PyTorchObserver {...}" with counts and times. The exit status is 0 if all
went well, 1 if something failed (the log says what), 2 for a wrong command line.
)";

namespace {

/// Reads the numbers of flags; reports the last flag whose value is not a number.
class Numbers final {
 public:
  explicit Numbers(std::string* problem) : problem_(problem) {}

  template <typename T>
  std::function<void(const std::string&)> into(const char* name, T* number) const {
    return [name, number, problem = problem_](const std::string& value) {
      const char* const end = value.data() + value.size();
      bool is_number = false;
      if constexpr (std::is_integral_v<T>) {
        const auto parsed = std::from_chars(value.data(), end, *number);
        is_number = parsed.ec == std::errc() && parsed.ptr == end;
      } else {
        char* last = nullptr;
        *number = static_cast<T>(std::strtod(value.c_str(), &last));
        is_number = !value.empty() && last == end;
      }
      if (!is_number) {
        *problem = std::string("--") + name + ": expected a " + (std::is_integral_v<T> ? "whole " : "") +
                   "number, found '" + value + "'";
      }
    };
  }

 private:
  std::string* problem_;
};

}  // namespace

std::string parse_flags(int argc, const char* const* argv, Flags* flags) {
  std::string problem;
  const Numbers numbers(&problem);
  auto& config = flags->config;
  const auto text = [](std::string* into) { return [into](const std::string& value) { *into = value; }; };
  const auto files = [flags](const std::string& value) { flags->data_paths = split_at_commas(value); };
  const Switches switches = {{"help", &flags->help},     {"h", &flags->help},
                             {"warmup", &flags->warmup}, {"ignore_eos", &config.ignore_eos},
                             {"echo", &config.echo},     {"verbose", &flags->verbose}};
  const Values values = {
      {"model_path", text(&flags->model_path)},
      {"data_paths", files},
      {"data_path", files},
      {"tokenizer_path", text(&flags->tokenizer_path)},
      {"method_name", text(&flags->method_name)},
      {"prompt", text(&flags->prompt)},
      {"prompt_file", text(&flags->prompt_file)},
      {"etdump_path", text(&flags->etdump_path)},
      {"num_bos", numbers.into("num_bos", &config.num_bos)},
      {"num_eos", numbers.into("num_eos", &config.num_eos)},
      {"seq_len", numbers.into("seq_len", &config.seq_len)},
      {"max_new_tokens", numbers.into("max_new_tokens", &config.max_new_tokens)},
      {"temperature", numbers.into("temperature", &config.temperature)},
      {"top_k", numbers.into("top_k", &config.top_k)},
      {"top_p", numbers.into("top_p", &config.top_p)},
      {"min_p", numbers.into("min_p", &config.min_p)},
      {"repetition_penalty", numbers.into("repetition_penalty", &config.repetition_penalty)},
      {"presence_penalty", numbers.into("presence_penalty", &config.presence_penalty)},
      {"frequency_penalty", numbers.into("frequency_penalty", &config.frequency_penalty)},
      {"seed", [&](const std::string& value) { numbers.into("seed", &config.seed.emplace())(value); }},
      {"stop", [&](const std::string& value) { config.stop.push_back(value); }},
      {"cpu_threads", numbers.into("cpu_threads", &flags->cpu_threads)},
  };
  const std::string misread = parse_command_line(argc, argv, switches, values);
  return misread.empty() ? problem : misread;
}
