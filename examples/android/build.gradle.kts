// SPDX-License-Identifier: BSD-3-Clause
plugins {
  alias(libs.plugins.android.application) apply false
  alias(libs.plugins.kotlin.android) apply false
}
