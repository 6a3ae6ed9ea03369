// SPDX-License-Identifier: Apache-2.0
#include "timing/record.h"

namespace ascend_attention::sim {

std::size_t RunRecord::bytes() const {
    std::size_t total = 0;
    for (const EventStream& stream : streams) {
        total += stream.steps.capacity() * sizeof(Step) + stream.transfers.capacity() * sizeof(Transfer) +
                 stream.words.capacity() * sizeof(WordAccess) + stream.unit_waits.capacity() * sizeof(UnitWait);
    }
    for (const CoreTimeline& core : timeline.cores) {
        total += core.steps.capacity() * sizeof(TimedStep);
    }
    return total;
}

}  // namespace ascend_attention::sim
