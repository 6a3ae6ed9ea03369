// SPDX-License-Identifier: Apache-2.0
// Calls that the interface declares for all products and this architecture does not have.
#include <string>

#include "core/access.h"
#include "core/core.h"
#include "core/findings.h"
#include "machine/cube_calls.h"

namespace ascend_attention::sim {

void NotOnThisArchitecture(const char* name, const char* what, const Site& site) {
    Core& core = CurrentCore();
    const Call call{name, Pipe::kScalar, site};
    Access access(core, call);
    core.Fail("parameter", Describe(call) + " on " + core.name() + ": " + what + " is not available on Atlas A2 and A3",
              std::string(name) + "|" + site.file + ":" + std::to_string(site.line));
}

}  // namespace ascend_attention::sim
