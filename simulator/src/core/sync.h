// SPDX-License-Identifier: Apache-2.0
// In-core events and cross-core flags.
#pragma once

namespace ascend_attention::sim {

struct CoreSync {};

class CrossCoreFlags {};

}  // namespace ascend_attention::sim
