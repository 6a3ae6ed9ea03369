// SPDX-License-Identifier: Apache-2.0
#include "plan/block_ids.h"

#include <algorithm>

#include "plan/visible_keys.h"

namespace ascend_attention {

std::optional<UnknownBlock> FindUnknownBlock(const Plan& plan, const int32_t* table, int64_t columns, int64_t blocks) {
    const AttentionPlan& header = plan.header();
    const int64_t size = header.block_size;
    for (uint32_t i = 0; i < header.sequence_count; ++i) {
        const SequencePlan& sequence = plan.sequences()[i];
        const KeySpan keys = KeysOfPositions(sequence, {0, sequence.query_length - 1});
        for (int64_t first = keys.first / size * size; first < keys.last; first += size) {
            const int64_t entry = sequence.key + first / size;
            if (table[entry] < 0 || table[entry] >= blocks) {
                return UnknownBlock{entry / columns, entry % columns, first,
                                    std::min<int64_t>(first + size, sequence.key_length) - 1, table[entry]};
            }
        }
    }
    return std::nullopt;
}

}  // namespace ascend_attention
