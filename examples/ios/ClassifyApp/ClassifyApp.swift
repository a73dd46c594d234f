// SPDX-License-Identifier: BSD-3-Clause
import SwiftUI

@main
struct ClassifyApp: App {
  var body: some Scene {
    WindowGroup { ClassifyView() }
  }
}
