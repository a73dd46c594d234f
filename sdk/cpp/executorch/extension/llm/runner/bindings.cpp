// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/llm/runner/bindings.h>

#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <executorch/extension/llm/runner/llm_runner_helper.h>

namespace py = pybind11;

namespace executorch {
namespace extension {
namespace llm {
namespace {

using Bias = std::map<uint64_t, float>;

/// A grammar's text, or a JSON schema as a dictionary.
std::string grammar_text(const py::object& grammar) {
  return py::isinstance<py::dict>(grammar) ? py::module_::import("json").attr("dumps")(grammar).cast<std::string>()
                                           : grammar.cast<std::string>();
}

void bind_config(py::module_& m) {
  py::class_<GenerationConfig>(m, "GenerationConfig", "Options of one generation.")
      .def(
          py::init([](bool echo, int32_t max_new_tokens, bool warming, int32_t seq_len, float temperature,
                      int32_t num_bos, int32_t num_eos, bool ignore_eos, int32_t top_k, float top_p, float min_p,
                      float repetition_penalty, float presence_penalty, float frequency_penalty, const Bias& logit_bias,
                      std::optional<uint64_t> seed, std::vector<std::string> stop, int32_t lookup_tokens,
                      int32_t draft_tokens, const py::object& grammar, std::string grammar_type) {
            GenerationConfig made;
            made.echo = echo;
            made.max_new_tokens = max_new_tokens;
            made.warming = warming;
            made.seq_len = seq_len;
            made.temperature = temperature;
            made.num_bos = num_bos;
            made.num_eos = num_eos;
            made.ignore_eos = ignore_eos;
            made.top_k = top_k;
            made.top_p = top_p;
            made.min_p = min_p;
            made.repetition_penalty = repetition_penalty;
            made.presence_penalty = presence_penalty;
            made.frequency_penalty = frequency_penalty;
            made.logit_bias.assign(logit_bias.begin(), logit_bias.end());
            made.seed = seed;
            made.stop = std::move(stop);
            made.lookup_tokens = lookup_tokens;
            made.draft_tokens = draft_tokens;
            made.grammar = grammar_text(grammar);
            made.grammar_type = std::move(grammar_type);
            return made;
          }),
          py::arg("echo") = true, py::arg("max_new_tokens") = -1, py::arg("warming") = false, py::arg("seq_len") = -1,
          py::arg("temperature") = 0.8f, py::arg("num_bos") = 0, py::arg("num_eos") = 0, py::kw_only(),
          py::arg("ignore_eos") = false, py::arg("top_k") = 0, py::arg("top_p") = kTopp, py::arg("min_p") = 0.0f,
          py::arg("repetition_penalty") = 1.0f, py::arg("presence_penalty") = 0.0f, py::arg("frequency_penalty") = 0.0f,
          py::arg("logit_bias") = Bias(), py::arg("seed") = py::none(), py::arg("stop") = std::vector<std::string>(),
          py::arg("lookup_tokens") = 0, py::arg("draft_tokens") = 0, py::arg("grammar") = "",
          py::arg("grammar_type") = "")
      .def_readwrite("echo", &GenerationConfig::echo)
      .def_readwrite("max_new_tokens", &GenerationConfig::max_new_tokens)
      .def_readwrite("warming", &GenerationConfig::warming)
      .def_readwrite("seq_len", &GenerationConfig::seq_len)
      .def_readwrite("temperature", &GenerationConfig::temperature)
      .def_readwrite("num_bos", &GenerationConfig::num_bos)
      .def_readwrite("num_eos", &GenerationConfig::num_eos)
      .def_readwrite("ignore_eos", &GenerationConfig::ignore_eos)
      .def_readwrite("top_k", &GenerationConfig::top_k)
      .def_readwrite("top_p", &GenerationConfig::top_p)
      .def_readwrite("min_p", &GenerationConfig::min_p)
      .def_readwrite("repetition_penalty", &GenerationConfig::repetition_penalty)
      .def_readwrite("presence_penalty", &GenerationConfig::presence_penalty)
      .def_readwrite("frequency_penalty", &GenerationConfig::frequency_penalty)
      .def_readwrite("seed", &GenerationConfig::seed)
      .def_readwrite("stop", &GenerationConfig::stop)
      .def_readwrite("lookup_tokens", &GenerationConfig::lookup_tokens)
      .def_readwrite("draft_tokens", &GenerationConfig::draft_tokens)
      .def_property(
          "grammar", [](const GenerationConfig& self) { return self.grammar; },
          [](GenerationConfig& self, const py::object& grammar) { self.grammar = grammar_text(grammar); })
      .def_readwrite("grammar_type", &GenerationConfig::grammar_type)
      .def_property(
          "logit_bias",
          [](const GenerationConfig& self) { return Bias(self.logit_bias.begin(), self.logit_bias.end()); },
          [](GenerationConfig& self, const Bias& bias) { self.logit_bias.assign(bias.begin(), bias.end()); })
      .def("resolve_max_new_tokens", &GenerationConfig::resolve_max_new_tokens, py::arg("max_context_len"),
           py::arg("num_tokens_occupied"))
      .def("__repr__", [](const GenerationConfig& self) {
        // Three digits, because a float32 of 0.7 is 0.699999988.
        return py::str(
                   "GenerationConfig(echo={}, max_new_tokens={}, warming={}, seq_len={}, temperature={:.3g}, "
                   "num_bos={}, num_eos={})")
            .format(self.echo, self.max_new_tokens, self.warming, self.seq_len, self.temperature, self.num_bos,
                    self.num_eos);
      });
}

void bind_stats(py::module_& m) {
  py::class_<Stats>(m, "Stats", "Start and end times of the parts of a generation, in milliseconds, and counts.")
      .def_readonly("model_load_start_ms", &Stats::model_load_start_ms)
      .def_readonly("model_load_end_ms", &Stats::model_load_end_ms)
      .def_readonly("inference_start_ms", &Stats::inference_start_ms)
      .def_readonly("token_encode_end_ms", &Stats::token_encode_end_ms)
      .def_readonly("model_execution_start_ms", &Stats::model_execution_start_ms)
      .def_readonly("model_execution_end_ms", &Stats::model_execution_end_ms)
      .def_readonly("prompt_eval_end_ms", &Stats::prompt_eval_end_ms)
      .def_readonly("first_token_ms", &Stats::first_token_ms)
      .def_readonly("inference_end_ms", &Stats::inference_end_ms)
      .def_readonly("aggregate_sampling_time_ms", &Stats::aggregate_sampling_time_ms)
      .def_readonly("num_prompt_tokens", &Stats::num_prompt_tokens)
      .def_readonly("num_generated_tokens", &Stats::num_generated_tokens)
      .def("to_json_string", &stats_to_json_string, "One line of JSON, which tools expect after 'PyTorchObserver '.");
}

void bind_sampler(py::module_& m) {
  py::class_<Sampler>(m, "Sampler", "Chooses tokens from logits.")
      .def(py::init<int32_t, float, float, unsigned long long>(), py::arg("vocab_size"), py::arg("temperature"),
           py::arg("topp"), py::arg("rng_seed"))
      .def(py::init<int32_t, float>(), py::arg("vocab_size"), py::arg("temperature"))
      .def("set_temperature", &Sampler::set_temperature, py::arg("temperature"))
      .def("set_topk", &Sampler::set_topk, py::arg("topk"))
      .def("set_topp", &Sampler::set_topp, py::arg("topp"))
      .def("set_minp", &Sampler::set_minp, py::arg("minp"))
      .def("set_seed", &Sampler::set_seed, py::arg("rng_seed"))
      .def(
          "sample",
          [](Sampler& self, const py::buffer& logits) {
            const py::buffer_info info = logits.request();
            if (info.ndim != 1 || info.format != py::format_descriptor<float>::format() ||
                info.size != self.vocab_size() || info.strides[0] != info.itemsize) {
              throw py::value_error("expected " + std::to_string(self.vocab_size()) + " adjacent float32 logits");
            }
            return self.sample(static_cast<const float*>(info.ptr));
          },
          py::arg("logits"), "The index of a token; -1 if a logit is NaN or all are -inf.");
}

}  // namespace

std::unique_ptr<tokenizers::Tokenizer> tokenizer_of(Module& module, const std::string& model_path,
                                                    const std::optional<std::string>& tokenizer_path) {
  const pybindings::LogCapture capture;
  if (tokenizer_path) {
    if (auto tokenizer = load_tokenizer(*tokenizer_path)) {
      return tokenizer;
    }
    throw std::runtime_error(tokenizers::last_error_message());
  }
  auto found = load_embedded_tokenizer(module);
  switch (found.error()) {
    case runtime::Error::Ok:
      return std::move(*found);
    case runtime::Error::NotFound:
      throw std::runtime_error(model_path + " has no tokenizer inside: pass the path of one, or export the program " +
                               "with export.embed_tokenizer=true");
    case runtime::Error::InvalidExternalData:
      throw std::runtime_error(tokenizers::last_error_message());
    default:
      pybindings::throw_error(model_path + " could not be loaded", found.error(), capture);
  }
}

void bind_llm_runner(py::module_& portable_lib) {
  py::module_ m = portable_lib.def_submodule("_llm_runner", "Running language models");
  bind_config(m);
  bind_stats(m);
  bind_inputs(m);
  bind_sampler(m);
  bind_text_runner(m);
  bind_chat_template(m);
  bind_engine(m);
  bind_tool_calls(m);
  bind_embedder(m);
}

}  // namespace llm
}  // namespace extension
}  // namespace executorch
