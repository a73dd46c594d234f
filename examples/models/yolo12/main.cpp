// SPDX-License-Identifier: BSD-3-Clause
// Yolo12DetectionDemo: draws the boxes that a program of export_and_validate.py finds in images or in the frames of a
// video.
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <executorch/extension/image/image_processor.h>
#include <executorch/extension/module/module.h>
#include <executorch/runtime/core/error.h>
#include <executorch/runtime/platform/runtime.h>

#include "detection.h"
#include "examples/portable/executor_runner/command_line.h"
#include "ppm.h"

using executorch::aten::ScalarType;
using executorch::extension::Module;
using executorch::runtime::Error;
namespace image = executorch::extension::image;

namespace {

const char* const kHelpText = R"(Yolo12DetectionDemo: draw what a YOLO12 model finds.

Usage: Yolo12DetectionDemo -model_path model.pte -input_path in.ppm -output_path out.ppm [options]

  -model_path FILE     The program, of export_and_validate.py.
  -input_path FILE     Binary PPM images, one after the other; - is the standard input. ffmpeg writes a video so:
                       ffmpeg -i in.mp4 -f image2pipe -c:v ppm -
  -output_path FILE    The same images with a frame around each box; - is the standard output. Without it, none is written.
  -detections FILE     Where the boxes are written, a JSON object in each line; - is the standard output. Default: not.
  -conf X              The least confidence of a box, 0 to 1. Default: 0.25
  -iou X               The most that a box overlaps a better one of its class, 0 to 1. Default: 0.7
  -help                Print this text.

The exit status is 0 if all went well, 1 if something failed, 2 for a wrong command line.
)";

struct Flags {
  std::string model_path, input_path, output_path, detections_path, confidence, overlap;
  bool help = false;
};

int failed(const std::string& what, int status = 1) {
  std::fprintf(stderr, "Yolo12DetectionDemo: %s\n", what.c_str());
  return status;
}

/// A number from 0 to 1 into `into`, which keeps its value for an empty text. Returns false for another text.
bool read_fraction(const std::string& text, float* into) {
  char* end = nullptr;
  const float number = std::strtof(text.c_str(), &end);
  if (!text.empty() && (end != text.c_str() + text.size() || !(number >= 0 && number <= 1))) {
    return false;
  }
  *into = text.empty() ? *into : number;
  return true;
}

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

int keep_open(std::FILE* file) {
  return std::fflush(file);
}

/// Null if the path cannot be opened; `-` is `standard`.
File open_file(const std::string& path, const char* mode, std::FILE* standard) {
  return path == "-" ? File(standard, keep_open) : File(std::fopen(path.c_str(), mode), std::fclose);
}

/// The program, the size of its input in pixels, and the names of its classes.
struct Model {
  std::unique_ptr<Module> module;
  int32_t width = 0;
  int32_t height = 0;
  std::vector<std::string> class_names;
};

std::string load(const std::string& path, Model* model) {
  model->module = std::make_unique<Module>(path, Module::LoadMode::Mmap);
  const auto meta = model->module->method_meta("forward");
  if (!meta.ok()) {
    return "the program " + path + " cannot be loaded: " + executorch::runtime::to_string(meta.error());
  }
  const auto input = meta->input_tensor_meta(0);
  const auto output = meta->output_tensor_meta(0);
  const bool is_detector = meta->num_inputs() == 1 && input.ok() && input->sizes().size() == 4 &&
                           input->sizes()[0] == 1 && input->sizes()[1] == 3 &&
                           input->scalar_type() == ScalarType::Float && output.ok() && output->sizes().size() == 3 &&
                           output->sizes()[0] == 1 && output->sizes()[1] >= 5;
  if (!is_detector) {
    return "the program " + path +
           " is not a detector: expected an input [1, 3, height, width] of floats and an output [1, 4 + classes, "
           "boxes]; "
           "make one with export_and_validate.py";
  }
  model->height = input->sizes()[2];
  model->width = input->sizes()[3];
  const auto names = model->module->method_names();
  if (names.ok() && names->count("class_names") != 0) {
    const auto text = model->module->get("class_names");
    if (text.ok() && text->isString()) {
      std::istringstream lines(std::string(text->toString()));
      for (std::string line; std::getline(lines, line);) {
        model->class_names.push_back(line);
      }
    }
  }
  return "";
}

/// A text in JSON's quotes.
std::string quoted(const std::string& text) {
  std::string written = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      written += '\\';
    }
    written += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return written + '"';
}

/// Finds the boxes of an image. Returns an empty text, or what is wrong.
std::string find(const Model& model, const Image& picture, const Thresholds& thresholds,
                 std::vector<Detection>* found) {
  image::ImageProcessorConfig config;
  config.target_width = model.width;
  config.target_height = model.height;
  config.resize_mode = image::ResizeMode::LETTERBOX;
  config.pad_value = 114.0f / 255.0f;  // grey, as in training
  const image::ImageProcessor processor(config);
  const auto input = processor.process(picture.pixels.data(), picture.width, picture.height, picture.width * 4,
                                       image::ColorFormat::RGBA);
  if (!input.ok()) {
    return std::string("the image cannot be scaled: ") + executorch::runtime::to_string(input.error());
  }
  const auto outputs = model.module->forward(*input.get());
  if (!outputs.ok()) {
    return std::string("the program failed: ") + executorch::runtime::to_string(outputs.error());
  }
  const auto& output = outputs->at(0).toTensor();
  Placement placement{picture.width, picture.height, 0, 0, 0, 0};
  int32_t width = 0;
  int32_t height = 0;
  image::compute_resize_dims(picture.width, picture.height, config, placement.inner_width, placement.inner_height,
                             width, height);
  const auto padding = processor.compute_letterbox_padding(picture.width, picture.height);
  placement.left = padding.first;
  placement.top = padding.second;
  *found = detections(output.const_data_ptr<float>(), static_cast<size_t>(output.size(1)),
                      static_cast<size_t>(output.size(2)), placement, thresholds);
  return "";
}

void draw(const std::vector<Detection>& found, Image* picture) {
  for (const Detection& box : found) {
    // Three bytes of a multiplicative hash (Knuth): classes get colours that differ.
    const uint32_t hash = (static_cast<uint32_t>(box.class_id) + 1) * 2654435761u;
    const uint8_t color[3] = {static_cast<uint8_t>(hash >> 24), static_cast<uint8_t>(hash >> 16),
                              static_cast<uint8_t>(hash >> 8)};
    draw_frame(picture, static_cast<int32_t>(box.x), static_cast<int32_t>(box.y), static_cast<int32_t>(box.width),
               static_cast<int32_t>(box.height), color);
  }
}

void print(std::FILE* file, int64_t frame, const std::vector<Detection>& found, const Model& model) {
  for (const Detection& box : found) {
    const auto id = static_cast<size_t>(box.class_id);
    const std::string name = id < model.class_names.size() ? model.class_names[id] : std::to_string(box.class_id);
    std::fprintf(file,
                 "{\"frame\": %" PRId64
                 ", \"class\": %s, \"class_id\": %d, \"confidence\": %.6f, "
                 "\"box\": [%.3f, %.3f, %.3f, %.3f]}\n",
                 frame, quoted(name).c_str(), static_cast<int>(box.class_id), static_cast<double>(box.confidence),
                 static_cast<double>(box.x), static_cast<double>(box.y), static_cast<double>(box.width),
                 static_cast<double>(box.height));
  }
}

int run(const Flags& flags, const Thresholds& thresholds) {
  Model model;
  std::string problem = load(flags.model_path, &model);
  if (!problem.empty()) {
    return failed(problem);
  }
  const File input = open_file(flags.input_path, "rb", stdin);
  if (input == nullptr) {
    return failed("the input " + flags.input_path + " cannot be read");
  }
  const File output =
      flags.output_path.empty() ? File(nullptr, std::fclose) : open_file(flags.output_path, "wb", stdout);
  const File boxes =
      flags.detections_path.empty() ? File(nullptr, std::fclose) : open_file(flags.detections_path, "wb", stdout);
  if ((output == nullptr) != flags.output_path.empty() || (boxes == nullptr) != flags.detections_path.empty()) {
    return failed("the output cannot be written");
  }
  Image picture;
  std::vector<Detection> found;
  int64_t frames = 0;
  for (; read_ppm(input.get(), &picture, &problem); ++frames) {
    problem = find(model, picture, thresholds, &found);
    if (!problem.empty()) {
      break;
    }
    if (boxes != nullptr) {
      print(boxes.get(), frames, found, model);
    }
    if (output != nullptr) {
      draw(found, &picture);
      if (!write_ppm(output.get(), picture)) {
        problem = "the output " + flags.output_path + " cannot be written";
        break;
      }
    }
  }
  if (problem.empty() && frames == 0) {
    problem = "the input " + flags.input_path + " has no image";
  }
  return problem.empty() ? 0 : failed("image " + std::to_string(frames) + ": " + problem);
}

}  // namespace

int main(int argc, char** argv) {
  executorch::runtime::runtime_init();
  Flags flags;
  const auto text = [](std::string* into) { return [into](const std::string& value) { *into = value; }; };
  const Switches switches = {{"help", &flags.help}, {"h", &flags.help}};
  const Values values = {{"model_path", text(&flags.model_path)},   {"input_path", text(&flags.input_path)},
                         {"output_path", text(&flags.output_path)}, {"detections", text(&flags.detections_path)},
                         {"conf", text(&flags.confidence)},         {"iou", text(&flags.overlap)}};
  std::string problem = parse_command_line(argc, argv, switches, values);
  Thresholds thresholds;
  if (problem.empty() && flags.help) {
    std::fputs(kHelpText, stdout);
    return 0;
  }
  if (problem.empty() && (flags.model_path.empty() || flags.input_path.empty())) {
    problem = "-model_path and -input_path are needed";
  } else if (problem.empty() && flags.output_path == "-" && flags.detections_path == "-") {
    problem = "-output_path and -detections are both the standard output";
  } else if (problem.empty() && !(read_fraction(flags.confidence, &thresholds.confidence) &&
                                  read_fraction(flags.overlap, &thresholds.overlap))) {
    problem = "-conf and -iou are numbers from 0 to 1";
  }
  return problem.empty() ? run(flags, thresholds) : failed(problem + ". See Yolo12DetectionDemo -help.", 2);
}
