// SPDX-License-Identifier: BSD-3-Clause
// Pictures, sound and the parts of a prompt, in Python.
#include <executorch/extension/llm/runner/bindings.h>

#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <executorch/extension/llm/runner/multimodal_input.h>
#include <executorch/extension/llm/runner/wav_loader.h>

namespace py = pybind11;

namespace executorch {
namespace extension {
namespace llm {
namespace {

bool is_float(const py::buffer_info& info) {
  return info.format == py::format_descriptor<float>::format();
}

/// Converts a contiguous array of three dimensions, uint8 or float32, to an Image or Audio; `order` permutes its sizes.
template <typename Media>
Media media_of(const py::buffer& array, const char* expected, const size_t (&order)[3]) {
  const py::buffer_info info = array.request();
  if (info.ndim != 3 || (!is_float(info) && info.format != py::format_descriptor<uint8_t>::format()) ||
      PyBuffer_IsContiguous(info.view(), 'C') == 0) {
    throw py::value_error(std::string("expected ") + expected + " of uint8 or float32");
  }
  const auto size = [&](size_t i) { return static_cast<int32_t>(info.shape[order[i]]); };
  if (is_float(info)) {
    const auto* const data = static_cast<const float*>(info.ptr);
    return {std::vector<float>(data, data + info.size), size(0), size(1), size(2)};
  }
  const auto* const data = static_cast<const uint8_t*>(info.ptr);
  return {std::vector<uint8_t>(data, data + info.size), size(0), size(1), size(2)};
}

Image image_of(const py::buffer& array) {
  return media_of<Image>(array, "an image as a contiguous array [channels, height, width]", {2, 1, 0});
}

/// A picture of numbers, channel by channel: integers from 0 to 255, or floats.
Image image_of_numbers(const py::list& data, int32_t width, int32_t height, int32_t channels) {
  if (width < 0 || height < 0 || channels < 0 ||
      data.size() != static_cast<size_t>(width) * static_cast<size_t>(height) * static_cast<size_t>(channels)) {
    throw py::value_error("expected width * height * channels numbers of an image, found " +
                          std::to_string(data.size()));
  }
  if (!data.empty() && py::isinstance<py::float_>(data[0])) {
    return {data.cast<std::vector<float>>(), width, height, channels};
  }
  std::vector<uint8_t> bytes;
  bytes.reserve(data.size());
  for (const py::handle number : data) {
    if (!py::isinstance<py::int_>(number)) {
      throw py::type_error("expected numbers of one type in an image, integers from 0 to 255 or floats");
    }
    const auto value = number.cast<int64_t>();
    if (value < 0 || value > 255) {
      throw py::value_error("expected integers from 0 to 255 in an image, found " + std::to_string(value));
    }
    bytes.push_back(static_cast<uint8_t>(value));
  }
  return {std::move(bytes), width, height, channels};
}

std::string describe(const Image& image) {
  return "Image(height=" + std::to_string(image.height()) + ", width=" + std::to_string(image.width()) +
         ", channels=" + std::to_string(image.channels()) + ", dtype=" + (image.is_float() ? "float" : "uint8") + ")";
}

/// The type of a part of a prompt, and the start of its text.
py::str describe(const MultimodalInput& input) {
  if (const std::string* text = input.try_get_text()) {
    const py::str whole(*text);
    const bool fits = py::len(whole) <= 50;
    const py::object start = fits ? py::object(whole) : py::object(whole[py::slice(0, 50, 1)]) + py::str("...");
    return py::str("MultimodalInput(type=text, content={!r})").format(start);
  }
  if (const Image* image = input.try_get_image()) {
    return py::str("MultimodalInput(type=image, content={})").format(describe(*image));
  }
  return py::str("MultimodalInput(type={})")
      .format(input.is_tokens()  ? "tokens"
              : input.is_audio() ? "audio"
                                 : "raw_audio");
}

Audio audio_of(const py::buffer& array) {
  return media_of<Audio>(array, "features of sound as a contiguous array [batch, bins, frames]", {0, 1, 2});
}

/// Samples, [samples], [channels, samples] or [batch, channels, samples], of uint8, int16 or float32.
RawAudio raw_audio_of(const py::buffer& array) {
  const py::buffer_info info = array.request();
  const bool known = is_float(info) || info.format == py::format_descriptor<uint8_t>::format() ||
                     info.format == py::format_descriptor<int16_t>::format();
  if (info.ndim < 1 || info.ndim > 3 || !known || PyBuffer_IsContiguous(info.view(), 'C') == 0) {
    throw py::value_error(
        "expected sound as a contiguous array [samples], [channels, samples] or [batch, channels, samples] of uint8, "
        "int16 or float32");
  }
  const auto size = [&](py::ssize_t from_end) {
    return info.ndim < from_end ? 1 : static_cast<int32_t>(info.shape[static_cast<size_t>(info.ndim - from_end)]);
  };
  RawAudio audio;
  audio.batch_size = size(3);
  audio.n_channels = size(2);
  audio.n_samples = size(1);
  audio.data.resize(static_cast<size_t>(info.size * info.itemsize));
  if (!audio.data.empty()) {
    std::memcpy(audio.data.data(), info.ptr, audio.data.size());
  }
  return audio;
}

/// Converts an array or a tensor to an array.
py::buffer array_of(const py::object& tensor) {
  const py::object array = py::hasattr(tensor, "numpy") ? tensor.attr("contiguous")().attr("numpy")() : tensor;
  return array.cast<py::buffer>();
}

template <typename Media>
std::optional<std::vector<uint8_t>> uint8_data(const Media& self) {
  return self.is_uint8() ? std::optional(self.get_uint8_data()) : std::nullopt;
}
template <typename Media>
std::optional<std::vector<float>> float_data(const Media& self) {
  return self.is_float() ? std::optional(self.get_float_data()) : std::nullopt;
}

void bind_media(py::module_& m) {
  py::class_<Image>(m, "Image", "Planes of uint8 or float32 numbers, [channels, height, width].")
      .def(py::init<>())
      .def(py::init(&image_of), py::arg("array"))
      .def(py::init(&image_of_numbers), py::arg("data"), py::arg("width"), py::arg("height"), py::arg("channels"))
      .def("__repr__", [](const Image& self) { return describe(self); })
      .def("is_uint8", &Image::is_uint8)
      .def("is_float", &Image::is_float)
      .def_property_readonly("width", &Image::width)
      .def_property_readonly("height", &Image::height)
      .def_property_readonly("channels", &Image::channels)
      .def_property_readonly("uint8_data", &uint8_data<Image>)
      .def_property_readonly("float_data", &float_data<Image>);
  py::class_<Audio>(m, "Audio", "Features of sound, uint8 or float32, [batch, bins, frames].")
      .def(py::init<>())
      .def(py::init(&audio_of), py::arg("array"))
      .def("is_uint8", &Audio::is_uint8)
      .def("is_float", &Audio::is_float)
      .def_property_readonly("batch_size", &Audio::get_batch_size)
      .def_property_readonly("n_bins", &Audio::get_n_bins)
      .def_property_readonly("n_frames", &Audio::get_n_frames)
      .def_property_readonly("uint8_data", &uint8_data<Audio>)
      .def_property_readonly("float_data", &float_data<Audio>);
  py::class_<RawAudio>(m, "RawAudio", "Samples of sound, [batch, channels, samples], of uint8, int16 or float32.")
      .def(py::init<>())
      .def(py::init(&raw_audio_of), py::arg("array"))
      .def_readonly("batch_size", &RawAudio::batch_size)
      .def_readonly("n_channels", &RawAudio::n_channels)
      .def_readonly("n_samples", &RawAudio::n_samples)
      .def_property_readonly("data",
                             [](const RawAudio& self) {
                               return py::bytes(reinterpret_cast<const char*>(self.data.data()), self.data.size());
                             })
      .def("samples",
           [](const RawAudio& self) { return unwrap("the sound cannot be used", [&] { return self.samples(); }); });
}

}  // namespace

void bind_inputs(py::module_& m) {
  bind_media(m);
  const auto value_or_none = [](const auto* value) { return value != nullptr ? py::cast(*value) : py::none(); };
  py::class_<MultimodalInput>(m, "MultimodalInput", "A part of a prompt.")
      .def(py::init<const std::string&>(), py::arg("text"))
      .def(py::init<const std::vector<uint64_t>&>(), py::arg("tokens"))
      .def(py::init<const Image&>(), py::arg("image"))
      .def(py::init<const Audio&>(), py::arg("audio"))
      .def(py::init<const RawAudio&>(), py::arg("raw_audio"))
      .def("__repr__", [](const MultimodalInput& self) { return describe(self); })
      .def("is_text", &MultimodalInput::is_text)
      .def("is_tokens", &MultimodalInput::is_tokens)
      .def("is_image", &MultimodalInput::is_image)
      .def("is_audio", &MultimodalInput::is_audio)
      .def("is_raw_audio", &MultimodalInput::is_raw_audio)
      .def("get_text", [=](const MultimodalInput& self) { return value_or_none(self.try_get_text()); })
      .def("get_tokens", [=](const MultimodalInput& self) { return value_or_none(self.try_get_tokens()); })
      .def("get_image", [=](const MultimodalInput& self) { return value_or_none(self.try_get_image()); })
      .def("get_audio", [=](const MultimodalInput& self) { return value_or_none(self.try_get_audio()); })
      .def("get_raw_audio", [=](const MultimodalInput& self) { return value_or_none(self.try_get_raw_audio()); });
  m.def("make_text_input", [](const std::string& text) { return MultimodalInput(text); }, py::arg("text"));
  m.def(
      "make_token_input", [](const std::vector<uint64_t>& tokens) { return MultimodalInput(tokens); },
      py::arg("tokens"));
  m.def(
      "make_image_input", [](const py::object& tensor) { return MultimodalInput(image_of(array_of(tensor))); },
      py::arg("image_tensor"), "From a tensor or an array [channels, height, width] of uint8 or float32.");
  m.def(
      "make_audio_input", [](const py::object& tensor) { return MultimodalInput(audio_of(array_of(tensor))); },
      py::arg("audio_tensor"), "From features, a tensor or an array [batch, bins, frames] of uint8 or float32.");
  m.def(
      "make_raw_audio_input", [](const py::object& tensor) { return MultimodalInput(raw_audio_of(array_of(tensor))); },
      py::arg("audio_tensor"),
      "From samples, a tensor or an array [samples], [channels, samples] or [batch, channels, samples] of uint8, int16 "
      "or float32.");
  m.def(
      "read_wav",
      [](const std::string& path) {
        const Sound sound = unwrap("the sound cannot be used", [&] { return read_wav(path); });
        return std::make_pair(py::array_t<float>(static_cast<py::ssize_t>(sound.samples.size()), sound.samples.data()),
                              sound.sample_rate);
      },
      py::arg("path"), "The samples of a WAV file from -1 to 1, its channels averaged, and the sampling rate.");
}

}  // namespace llm
}  // namespace extension
}  // namespace executorch
