// SPDX-License-Identifier: BSD-3-Clause
import PhotosUI
import SwiftUI

struct ClassifyView: View {
  @State private var classifier = Classifier()
  @State private var item: PhotosPickerItem?
  @State private var text = "Choose a photo."

  var body: some View {
    VStack(spacing: 24) {
      PhotosPicker("Photo", selection: $item, matching: .images)
      Text(text).monospaced()
    }
    .padding()
    .onChange(of: item) { _, item in
      guard let item else { return }
      Task { await classify(item) }
    }
  }

  private func classify(_ item: PhotosPickerItem) async {
    do {
      guard let data = try await item.loadTransferable(type: Data.self), let image = UIImage(data: data)?.cgImage else {
        text = "This is not an image."
        return
      }
      let result = try await classifier.classify(image)
      let lines = result.best.map { String(format: "class %4d  %.3f", $0.index, $0.probability) }
      text = (lines + [String(format: "%.1f ms", result.milliseconds)]).joined(separator: "\n")
    } catch {
      text = error.localizedDescription
    }
  }
}
