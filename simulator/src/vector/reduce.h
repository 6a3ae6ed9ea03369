// SPDX-License-Identifier: Apache-2.0
// Shared by the reductions of a repeat and of a whole tensor.
#pragma once

#include "vector/lanes.h"

namespace ascend_attention::sim {

// Repeats reduced at a time.
inline constexpr std::uint64_t kReduceGroup = 16;

struct FoldBuffers {
    float first[kReduceGroup * kMaxLanes / 2];
    float second[kReduceGroup * kMaxLanes / 2];
};

// Folds `count` values in groups of `span` (a power of two) neighbours and returns the packed results, which lie in
// one of the buffers. `half`: every addition is rounded to float16.
const float* FoldTree(const float* values, FoldBuffers& buffers, std::size_t count, std::size_t span, ReduceOp op,
                      bool half);

// What an inactive lane counts as. Sums use -0, so that a lone -0 stays -0.
float ReduceIdentity(ReduceOp op);
void StoreValue(std::byte* to, float value, std::uint32_t bits);
// The first active lane that holds `value` (or a NaN, if that is the value).
std::uint32_t FirstIndex(const float* values, float value, const Lanes& lanes, std::uint64_t repeat);

// The source of a reduction as floats, inactive lanes as identities. Refers to its arguments.
class ReduceSource {
public:
    ReduceSource(const Stream& stream, const Lanes& lanes, const std::byte* memory, ReduceOp op);
    // At most kReduceGroup repeats, all of the body, or the tail alone. Returns the values in `buffer` or in memory.
    const float* Read(float* buffer, std::uint64_t repeat, std::uint64_t count) const;

private:
    const Stream& stream_;
    const Lanes& lanes_;
    Mover mover_;
    const std::byte* memory_;
    float identity_;
};

// No repeat may read what an earlier repeat's result has overwritten. Results of a repeat may lie on its own source
// (it has been read by then), which CANN's own library relies on.
void CheckReduceOverlap(Access& access, const Operand& dst, std::uint64_t result_bytes, std::uint64_t repeat_step,
                        const Stream& src, const Lanes& lanes);

}  // namespace ascend_attention::sim
