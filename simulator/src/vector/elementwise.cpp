// SPDX-License-Identifier: Apache-2.0
#include "vector/elementwise.h"

#include <cstring>

namespace ascend_attention::sim {

namespace {

// Repeats gathered at a time: 16 KiB of scratch for four operands, small enough for a fiber's stack and the L1 cache.
constexpr std::uint64_t kGroup = 16;

struct DenseStream {
    const Stream& stream;
    Mover mover;
    bool dense_body;  // the body needs no moving: repeats follow each other in memory as in a dense array

    DenseStream(const Stream& s, const Lanes& lanes) : stream(s), mover(s, lanes) {
        const bool one_block = lanes.per_repeat <= s.LanesPerBlock();
        dense_body =
            lanes.full && (s.block_step == kBlockBytes || one_block) && s.repeat_step == s.DenseRepeatBytes(lanes);
    }
};

// What a call with gaps, strides or broadcasts does: gather, compute densely, scatter.
template <int Count>
void RunGathered(const Lanes& lanes, const Stream& dst_stream, std::byte* out, const Stream* source_streams,
                 const std::byte* const* memory, LaneKernel kernel, std::uint64_t scalar, bool sequential) {
    alignas(64) std::byte scratch[Count + 1][kGroup * kRepeatBytes];
    const DenseStream dst(dst_stream, lanes);
    const DenseStream first(source_streams[0], lanes);
    const DenseStream second(source_streams[Count > 1 ? 1 : 0], lanes);
    const DenseStream third(source_streams[Count > 2 ? 2 : 0], lanes);
    const DenseStream* sources[3] = {&first, &second, &third};
    if (!lanes.full || lanes.tail != 0) {
        std::memset(scratch, 0, sizeof(scratch));
    }
    const std::uint64_t group = sequential ? 1 : kGroup;
    for (std::uint64_t repeat = 0; repeat < lanes.repeats();) {
        const bool is_tail = repeat >= lanes.body;
        const std::uint64_t count = is_tail ? 1 : std::min(group, lanes.body - repeat);
        const std::byte* pointers[Count];
        for (int i = 0; i < Count; ++i) {
            if (sources[i]->dense_body && !is_tail) {
                pointers[i] = memory[i] + repeat * sources[i]->stream.repeat_step;
            } else {
                sources[i]->mover.Gather(scratch[i], memory[i], repeat, count);
                pointers[i] = scratch[i];
            }
        }
        const std::size_t elements = is_tail ? lanes.tail : count * lanes.per_repeat;
        if (dst.dense_body && !is_tail) {
            kernel(out + repeat * dst_stream.repeat_step, pointers, scalar, elements);
        } else {
            kernel(scratch[Count], pointers, scalar, elements);
            dst.mover.Scatter(out, scratch[Count], repeat, count);
        }
        repeat += count;
    }
}

// The lanes of one repeat when they are a single run that every operand holds in one piece: then the kernel can run on
// memory, repeat by repeat.
struct Run {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
};

bool InOnePiece(const Stream& stream, const Run& run) {
    const std::uint32_t per_block = stream.LanesPerBlock();
    return stream.block_step == kBlockBytes || run.first / per_block == (run.first + run.count - 1) / per_block;
}

bool SingleRun(const Lanes& lanes, const Stream& dst, const Stream* sources, int source_count, Run& run) {
    run = {0, lanes.per_repeat};
    if (lanes.body == 0) {
        run.count = lanes.tail;
    } else if (!lanes.full) {
        while (!lanes.Active(run.first)) {
            ++run.first;
        }
        run.count = 0;
        for (std::uint32_t lane = run.first; lane < lanes.per_repeat; ++lane) {
            run.count += lanes.Active(lane) ? 1 : 0;
        }
        if (!lanes.Active(run.first + run.count - 1)) {
            return false;
        }
        for (std::uint32_t lane = run.first; lane < run.first + run.count; ++lane) {
            if (!lanes.Active(lane)) {
                return false;
            }
        }
    }
    bool whole = InOnePiece(dst, run);
    for (int i = 0; i < source_count; ++i) {
        whole = whole && InOnePiece(sources[i], run);
    }
    return whole;
}

void RunByRepeat(const Lanes& lanes, const Stream& dst, std::byte* out, const Stream* sources,
                 const std::byte* const* memory, int source_count, LaneKernel kernel, std::uint64_t scalar,
                 const Run& run) {
    std::uint64_t to = dst.OffsetOf(0, run.first);
    std::uint64_t from[kMaxSources] = {};
    for (int i = 0; i < source_count; ++i) {
        from[i] = sources[i].OffsetOf(0, run.first);
    }
    for (std::uint64_t repeat = 0; repeat < lanes.repeats(); ++repeat) {
        const std::byte* pointers[kMaxSources] = {};
        for (int i = 0; i < source_count; ++i) {
            pointers[i] = memory[i] + from[i];
            from[i] += sources[i].repeat_step;
        }
        kernel(out + to, pointers, scalar, repeat < lanes.body ? run.count : lanes.tail);
        to += dst.repeat_step;
    }
}

}  // namespace

void ComputeLanes(const Lanes& lanes, const Stream& dst, std::byte* out, const Stream* sources,
                  const std::byte* const* memory, int source_count, LaneKernel kernel, std::uint64_t scalar,
                  bool sequential) {
    bool contiguous = dst.Contiguous(lanes) && !sequential;
    for (int i = 0; i < source_count; ++i) {
        contiguous = contiguous && sources[i].Contiguous(lanes);
    }
    if (contiguous) {
        kernel(out, memory, scalar, lanes.body * lanes.per_repeat + lanes.tail);
        return;
    }
    Run run;
    if (SingleRun(lanes, dst, sources, source_count, run)) {
        RunByRepeat(lanes, dst, out, sources, memory, source_count, kernel, scalar, run);
    } else if (source_count == 1) {
        RunGathered<1>(lanes, dst, out, sources, memory, kernel, scalar, sequential);
    } else if (source_count == 2) {
        RunGathered<2>(lanes, dst, out, sources, memory, kernel, scalar, sequential);
    } else {
        RunGathered<3>(lanes, dst, out, sources, memory, kernel, scalar, sequential);
    }
}

void RunElementwise(Access& access, const Lanes& lanes, const Stream& dst, const Stream* sources, int source_count,
                    LaneKernel kernel, std::uint64_t scalar, bool sequential) {
    if (lanes.empty()) {
        return;
    }
    const std::byte* memory[kMaxSources] = {};
    for (int i = 0; i < source_count; ++i) {
        memory[i] = DeclareReads(access, sources[i], lanes);
    }
    std::byte* out = DeclareWrites(access, dst, lanes);
    ComputeLanes(lanes, dst, out, sources, memory, source_count, kernel, scalar, sequential);
}

}  // namespace ascend_attention::sim
