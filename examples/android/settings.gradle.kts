// SPDX-License-Identifier: BSD-3-Clause
pluginManagement { repositories { google(); mavenCentral(); gradlePluginPortal() } }

dependencyResolutionManagement {
  repositories {
    google()
    mavenCentral()
    // What scripts/build_android_library.sh made.
    maven { url = uri("../../aar-out/maven") }
  }
  versionCatalogs { create("libs") { from(files("../../sdk/android/gradle/libs.versions.toml")) } }
}

rootProject.name = "ExecuTorchDemo"
include(":app")
