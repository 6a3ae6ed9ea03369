// SPDX-License-Identifier: Apache-2.0
// Checked mode.
#pragma once

#include "core/core.h"

namespace ascend_attention::sim {

class GlobalChecker {
public:
    explicit GlobalChecker(const GlobalMemory&) {}
};

class CoreChecker {
public:
    CoreChecker(Core&, GlobalChecker&) {}
};

}  // namespace ascend_attention::sim
