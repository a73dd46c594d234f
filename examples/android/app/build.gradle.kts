// SPDX-License-Identifier: BSD-3-Clause
plugins {
  alias(libs.plugins.android.application)
  alias(libs.plugins.kotlin.android)
}

apply(from = "../export_model.gradle.kts")

android {
  namespace = "org.pytorch.executorch.demo"
  compileSdk = libs.versions.android.compile.sdk.get().toInt()

  defaultConfig {
    applicationId = "org.pytorch.executorch.demo"
    minSdk = libs.versions.android.min.sdk.get().toInt()
    targetSdk = libs.versions.android.compile.sdk.get().toInt()
    versionCode = 1
    versionName = "1.0"
  }
  buildTypes {
    release {
      isMinifyEnabled = true
      proguardFiles(getDefaultProguardFile("proguard-android-optimize.txt"))
    }
  }
  // The model is an asset, stored as it is so that it can be mapped.
  sourceSets["main"].assets.srcDir(layout.buildDirectory.dir("models"))
  androidResources { noCompress += "pte" }
  compileOptions {
    sourceCompatibility = JavaVersion.VERSION_11
    targetCompatibility = JavaVersion.VERSION_11
  }
}

kotlin { compilerOptions { jvmTarget = org.jetbrains.kotlin.gradle.dsl.JvmTarget.JVM_11 } }

dependencies {
  implementation("org.pytorch:executorch-android:0.1.0")
  implementation(libs.coroutines.android)
}
