// SPDX-License-Identifier: BSD-3-Clause
// sdk.extension.llm.tokenizers._tokenizers: the C++ tokenizers in Python.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <string_view>

#include <executorch/extension/llm/runner/llm_runner_helper.h>
#include <executorch/extension/llm/tokenizers/embedded.h>
#include <pytorch/tokenizers/hf_tokenizer.h>
#include <pytorch/tokenizers/llama2c_tokenizer.h>
#include <pytorch/tokenizers/sentencepiece.h>
#include <pytorch/tokenizers/tiktoken.h>

namespace py = pybind11;

namespace tokenizers {
namespace {

[[noreturn]] void raise(Error error) {
  const std::string text = std::string(last_error_message()) + " (" + to_string(error) + ")";
  switch (error) {
    case Error::ParseFailure:
    case Error::Base64DecodeFailure:
    case Error::RegexFailure:
    case Error::EncodeFailure:
      throw py::value_error(text);
    case Error::OutOfRange:
      throw py::index_error(text);
    default:
      throw std::runtime_error(text);
  }
}

void check(Error error) {
  if (error != Error::Ok) {
    raise(error);
  }
}

template <typename T>
T unwrap(Result<T> result) {
  if (!result.ok()) {
    raise(result.error());
  }
  return std::move(*result);
}

/// Decodes like bytes.decode("utf-8", "replace"): part of a character becomes U+FFFD.
py::str text(const std::string& bytes) {
  PyObject* made = PyUnicode_DecodeUTF8(bytes.data(), static_cast<py::ssize_t>(bytes.size()), "replace");
  if (made == nullptr) {
    throw py::error_already_set();
  }
  return py::reinterpret_steal<py::str>(made);
}

}  // namespace
}  // namespace tokenizers

PYBIND11_MODULE(_tokenizers, module) {
  using namespace tokenizers;
  module.doc() = "Tokenizers in C++";

  py::enum_<Error>(module, "Error")
      .value("Ok", Error::Ok)
      .value("Internal", Error::Internal)
      .value("Uninitialized", Error::Uninitialized)
      .value("OutOfRange", Error::OutOfRange)
      .value("LoadFailure", Error::LoadFailure)
      .value("EncodeFailure", Error::EncodeFailure)
      .value("Base64DecodeFailure", Error::Base64DecodeFailure)
      .value("ParseFailure", Error::ParseFailure)
      .value("DecodeFailure", Error::DecodeFailure)
      .value("RegexFailure", Error::RegexFailure)
      .value("OutOfMemory", Error::OutOfMemory);

  py::class_<TokenIndex>(module, "TokenIndex")
      .def_readonly("str", &TokenIndex::str)
      .def_readonly("id", &TokenIndex::id);

  py::class_<Tokenizer>(module, "Tokenizer")
      .def(
          "load", [](Tokenizer& self, const std::string& path) { check(self.load(path)); }, py::arg("tokenizer_path"),
          py::call_guard<py::gil_scoped_release>())
      .def(
          "load_from_buffer", [](Tokenizer& self, std::string_view bytes) { check(self.load_from_buffer(bytes)); },
          py::arg("data"))
      .def(
          "encode",
          [](const Tokenizer& self, const std::string& input, int8_t bos, int8_t eos) {
            return unwrap(self.encode(input, bos, eos));
          },
          py::arg("input"), py::arg("bos") = 0, py::arg("eos") = 0, py::call_guard<py::gil_scoped_release>())
      .def(
          "decode",
          [](const Tokenizer& self, uint64_t token, bool skip) {
            return text(unwrap(self.decode(token, token, skip)));
          },
          py::arg("token"), py::arg("skip_special_tokens") = false)
      .def(
          "decode_batch",
          [](const Tokenizer& self, const std::vector<uint64_t>& tokens, bool skip) {
            StreamDecoder stream(self, skip);
            std::string all;
            for (const uint64_t token : tokens) {
              all += unwrap(stream.push(token));
            }
            return text(all + stream.finish());
          },
          py::arg("tokens"), py::arg("skip_special_tokens") = false)
      .def(
          "id_to_piece",
          [](const Tokenizer& self, uint64_t token) { return py::bytes(unwrap(self.id_to_piece(token))); },
          py::arg("token"))
      .def(
          "piece_to_id",
          [](const Tokenizer& self, const std::string& piece) { return unwrap(self.piece_to_id(piece)); },
          py::arg("piece"))
      .def("vocab_size", &Tokenizer::vocab_size)
      .def("bos_tok", &Tokenizer::bos_tok)
      .def("eos_tok", &Tokenizer::eos_tok)
      .def("is_loaded", &Tokenizer::is_loaded);

  py::class_<HFTokenizer, Tokenizer>(module, "HFTokenizer")
      .def(py::init<>())
      .def(
          "load_from_buffer",
          [](HFTokenizer& self, std::string_view json, std::string_view config) {
            check(self.load_from_buffer(json, config));
          },
          py::arg("data"), py::arg("config") = "")
      .def(
          "compile",
          [](const HFTokenizer& self, std::string_view settings, std::string_view config) {
            return py::bytes(unwrap(self.compile(settings, config)));
          },
          py::arg("settings"), py::arg("config") = "")
      .def("bos_id", &HFTokenizer::bos_id)
      .def("eos_id", &HFTokenizer::eos_id)
      .def(
          "encode_with_post_processor",
          [](const HFTokenizer& self, const std::string& input, bool special) {
            return unwrap(self.encode_with_post_processor(input, special));
          },
          py::arg("input"), py::arg("add_special_tokens") = true, py::call_guard<py::gil_scoped_release>())
      .def(
          "decode_batch",
          [](const HFTokenizer& self, const std::vector<uint64_t>& tokens, bool skip) {
            return text(unwrap(self.decode(tokens, skip)));
          },
          py::arg("tokens"), py::arg("skip_special_tokens") = false);

  py::class_<Tiktoken, Tokenizer> tiktoken(module, "Tiktoken");
  tiktoken.def(py::init<>())
      .def(py::init<const std::vector<std::string>&, size_t, size_t>(), py::arg("special_tokens"),
           py::arg("bos_token_index"), py::arg("eos_token_index"))
      .def(py::init<std::string, const std::vector<std::string>&, size_t, size_t>(), py::arg("pattern"),
           py::arg("special_tokens"), py::arg("bos_token_index"), py::arg("eos_token_index"));

  tiktoken.def(
      "encode_ordinary",
      [](const Tiktoken& self, const std::string& input) { return unwrap(self.encode_ordinary(input)); },
      py::arg("input"), py::call_guard<py::gil_scoped_release>());

  py::class_<SPTokenizer, Tokenizer>(module, "SPTokenizer")
      .def(py::init<>())
      .def(
          "score", [](const SPTokenizer& self, uint64_t token) { return unwrap(self.score(token)); }, py::arg("token"));
  py::class_<Llama2cTokenizer, Tokenizer>(module, "Llama2cTokenizer").def(py::init<>());

  module.def(
      "load_tokenizer",
      [](const std::string& path, std::optional<std::vector<std::string>> special_tokens,
         std::optional<std::string> pattern, size_t bos, size_t eos) {
        auto tokens = special_tokens ? std::make_unique<std::vector<std::string>>(std::move(*special_tokens)) : nullptr;
        auto made = executorch::extension::llm::load_tokenizer(path, std::move(tokens), std::move(pattern), bos, eos);
        if (!made) {
          throw std::runtime_error(last_error_message());
        }
        return made;
      },
      py::arg("tokenizer_path"), py::arg("special_tokens") = py::none(), py::arg("pattern") = py::none(),
      py::arg("bos_token_index") = 0, py::arg("eos_token_index") = 1, py::call_guard<py::gil_scoped_release>());

  module.def(
      "load_tokenizer_from_buffer",
      [](std::string_view bytes) {
        auto made = executorch::extension::llm::load_tokenizer_from_buffer(bytes);
        if (!made) {
          throw std::runtime_error(last_error_message());
        }
        return made;
      },
      py::arg("data"));

  py::class_<StreamDecoder>(module, "StreamDecoder")
      .def(py::init<const Tokenizer&, bool>(), py::arg("tokenizer"), py::arg("skip_special_tokens") = false,
           py::keep_alive<1, 2>())
      .def(
          "push", [](StreamDecoder& self, uint64_t token) { return text(unwrap(self.push(token))); }, py::arg("token"))
      .def("finish", [](StreamDecoder& self) { return text(self.finish()); });
}
