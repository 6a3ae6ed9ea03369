// SPDX-License-Identifier: Apache-2.0
// Registers of the scalar unit that device code may set, and its conversions.
#include <algorithm>
#include <string>

#include "core/access.h"
#include "core/checker.h"
#include "core/machine.h"
#include "machine/core_calls.h"
#include "numerics/rounding.h"

namespace ascend_attention::sim {

std::int64_t PhysicalBlock() { return CurrentCore().identity().block; }

void SetSaturation(const char* name, bool on, Site site) {
    Core& core = CurrentCore();
    const Call call{name, Pipe::kScalar, site};
    core.CountInstruction(call);
    if (on) {
        core.Fail("not modelled",
                  Describe(call) + " on " + core.name() +
                      ": results that saturate instead of becoming infinite or NaN are not modelled",
                  SiteKey(site));
    }
}

void SetSystemWorkspace(void* workspace, bool force) {
    Core& core = CurrentCore();
    if (force || core.system_workspace == nullptr) {
        core.system_workspace = workspace;
    }
}

void* SystemWorkspace() { return CurrentCore().system_workspace; }

void WatchLocalMemory(int index, const WatchRange& range, Site site) {
    Core& core = CurrentCore();
    const Call call{"CheckLocalMemoryIA", Pipe::kScalar, site};
    Access access(core, call);
    access.Require(index >= 0 && index < static_cast<int>(core.watches.size()), "enableBit", index, "0..3");
    access.Require(range.end >= range.begin, "endAddr", static_cast<std::int64_t>(range.end / 32), "startAddr or more");
    core.watches[static_cast<std::size_t>(index)] = range;
    core.watching =
        std::any_of(core.watches.begin(), core.watches.end(), [](const WatchRange& watch) { return watch.enabled; });
}

std::uint16_t ScalarFloatToHalfOdd(float value) {
    std::uint16_t result = 0;
    FloatToHalf(&result, &value, 1, Rounding::kOdd);
    return result;
}

std::int32_t ScalarFloatToInt32(float value, std::uint8_t round_mode) {
    float integral = 0.0F;
    RoundToIntegral(&integral, &value, 1, static_cast<Rounding>(round_mode));
    std::int32_t result = 0;
    IntegralToInt32(&result, &integral, 1);
    return result;
}

}  // namespace ascend_attention::sim
