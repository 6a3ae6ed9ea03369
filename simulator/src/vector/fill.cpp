// SPDX-License-Identifier: Apache-2.0
// Duplicate, CreateVecIndex, Brcb, Copy.
//
// CreateVecIndex is one vector instruction here; on the device it is a short sequence with the same result and its own
// synchronisation.
#include <utility>

#include "core/core.h"
#include "vector/elementwise.h"

namespace ascend_attention::sim {

namespace {

constexpr DTypeSet kWords(DType::kFloat16, DType::kBfloat16, DType::kFloat32, DType::kInt16, DType::kUint16,
                          DType::kInt32, DType::kUint32);
constexpr const char* kWordNames = "float16, bfloat16, float32, int16, uint16, int32, uint32";
constexpr DTypeSet kIndexable(DType::kFloat16, DType::kFloat32, DType::kInt16, DType::kInt32);

ASCEND_SIM_CLONES void Fill16(std::uint16_t* to, std::uint16_t value, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        to[i] = value;
    }
}

ASCEND_SIM_CLONES void Fill32(std::uint32_t* to, std::uint32_t value, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        to[i] = value;
    }
}

void Fill(std::byte* to, std::uint64_t scalar, std::uint32_t bits, std::size_t count) {
    if (bits == 16) {
        Fill16(As<std::uint16_t>(to), ScalarAs<std::uint16_t>(scalar), count);
    } else {
        Fill32(As<std::uint32_t>(to), ScalarAs<std::uint32_t>(scalar), count);
    }
}

// Values first, first + 1, ... with `index` the offset of the first one. Float types count in float32 and round once.
void FillIndex(std::byte* to, std::uint64_t first, DType dtype, std::uint64_t index, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint64_t step = index + i;
        switch (dtype) {
            case DType::kFloat16:
                As<std::uint16_t>(to)[i] =
                    FloatToHalf(HalfToFloat(ScalarAs<std::uint16_t>(first)) + static_cast<float>(step));
                break;
            case DType::kFloat32:
                As<float>(to)[i] = ScalarAs<float>(first) + static_cast<float>(step);
                break;
            case DType::kInt16:
                As<std::uint16_t>(to)[i] =
                    static_cast<std::uint16_t>(ScalarAs<std::uint16_t>(first) + static_cast<std::uint32_t>(step));
                break;
            default:
                As<std::uint32_t>(to)[i] = ScalarAs<std::uint32_t>(first) + static_cast<std::uint32_t>(step);
                break;
        }
    }
}

struct Destination {
    Stream stream;
    Lanes lanes;
};

Destination MakeDestination(Access& access, const VectorCall& call) {
    RequireDstBlockStride(access, call.dst_stride);
    Destination result;
    result.stream = MakeStream(access, call.dst, "dst", call.dst_stride, 65535);
    result.lanes = ResolveLanes(access, call.mask, call.repeat, kRepeatBytes * 8 / result.stream.bits);
    return result;
}

ASCEND_SIM_CLONES void CopyBytes(std::byte* dst, const std::byte* const* sources, std::uint64_t scalar,
                                 std::size_t count) {
    const std::size_t bytes = count * scalar;
    const std::byte* from = sources[0];
    ASCEND_SIM_NO_DEPENDENCE
    for (std::size_t i = 0; i < bytes; ++i) {
        dst[i] = from[i];
    }
}

}  // namespace

void VectorDuplicate(const VectorCall& call) {
    Access access(CurrentCore(), call.head);
    RequireDType(access, call.dst.dtype, kWords, "dst dtype", kWordNames);
    const auto [stream, lanes] = MakeDestination(access, call);
    if (lanes.empty()) {
        return;
    }
    std::byte* out = DeclareWrites(access, stream, lanes);
    if (stream.Contiguous(lanes)) {
        Fill(out, call.scalar, stream.bits, lanes.body * lanes.per_repeat + lanes.tail);
        return;
    }
    alignas(64) std::byte pattern[kRepeatBytes];
    Fill(pattern, call.scalar, stream.bits, lanes.per_repeat);
    const Mover mover(stream, lanes);
    for (std::uint64_t repeat = 0; repeat < lanes.repeats(); ++repeat) {
        mover.Scatter(out, pattern, repeat, 1);
    }
}

void VectorCreateIndex(const VectorCall& call) {
    Access access(CurrentCore(), call.head);
    RequireDType(access, call.dst.dtype, kIndexable, "dst dtype", "float16, float32, int16, int32");
    const auto [stream, lanes] = MakeDestination(access, call);
    if (lanes.empty()) {
        return;
    }
    std::byte* out = DeclareWrites(access, stream, lanes);
    alignas(64) std::byte pattern[kRepeatBytes];
    const Mover mover(stream, lanes);
    for (std::uint64_t repeat = 0; repeat < lanes.repeats(); ++repeat) {
        FillIndex(pattern, call.scalar, call.dst.dtype, repeat * lanes.per_repeat, lanes.per_repeat);
        mover.Scatter(out, pattern, repeat, 1);
    }
}

namespace {

void CopyLanes(Access& access, const Stream& dst, const Stream& src, const Lanes& lanes) {
    CheckOverlap(access, dst, src, lanes, Overlap::kInPlace);
    if (lanes.empty()) {
        return;
    }
    // The documentation allows a destination block stride of 0: the blocks of a repeat then overwrite each other in
    // order.
    const std::byte* from = DeclareReadsToCarry(access, src, lanes);
    std::byte* out = DeclareWrites(access, dst, lanes);
    CarryLanes(access, dst, src, lanes);
    ComputeLanes(lanes, dst, out, &src, &from, 1, CopyBytes, dst.bits / 8, false);
}

}  // namespace

void VectorCopy(const VectorCall& call) {
    Access access(CurrentCore(), call.head);
    RequireDType(access, call.dst.dtype, kWords, "dst dtype", kWordNames);
    RequireSameDType(access, call.dst, call.src0, "src dtype");
    Stream dst = MakeStream(access, call.dst, "dst", call.dst_stride, 65535, 4095);
    Stream src = MakeStream(access, call.src0, "src", call.src0_stride, 65535, 4095);
    const bool counter = access.core().state.mask.counter_mode && call.mask.form != MaskForm::kCount;
    const Lanes lanes = ResolveLanes(access, call.mask, call.repeat, kRepeatBytes * 8 / dst.bits);
    if (!counter) {
        CopyLanes(access, dst, src, lanes);
        return;
    }
    // Unlike the others, Copy repeats in counter mode: the mask is the element count of each repeat, which runs over as
    // many blocks as that takes.
    access.Require(call.repeat >= 0 && call.repeat <= 255, "repeatTimes", call.repeat, "0..255");
    const std::uint64_t dst_step = std::exchange(dst.repeat_step, 8 * dst.block_step);
    const std::uint64_t src_step = std::exchange(src.repeat_step, 8 * src.block_step);
    for (std::int64_t repeat = 0; repeat < call.repeat; ++repeat) {
        CopyLanes(access, dst, src, lanes);
        dst.operand.address += dst_step;
        src.operand.address += src_step;
    }
}

void VectorBrcb(const VectorCall& call) {
    Access access(CurrentCore(), call.head);
    RequireDType(access, call.dst.dtype, kWords, "dst dtype", kWordNames);
    RequireSameDType(access, call.dst, call.src0, "src dtype");
    RequireDstBlockStride(access, call.dst_stride);
    access.Require(call.repeat >= 0 && call.repeat <= 255, "repeatTimes", call.repeat, "0..255");
    const Stream dst = MakeStream(access, call.dst, "dst", call.dst_stride, 65535, 65535);
    access.RequireSpace(call.src0, "src0", Space::kUb);
    access.RequireAligned(call.src0, "src0", kBlockBytes);
    if (call.repeat == 0) {
        return;
    }
    const auto repeats = static_cast<std::uint64_t>(call.repeat);
    const Lanes lanes = FullLanes(repeats, kRepeatBytes * 8 / dst.bits);
    const std::uint64_t source_bytes = repeats * 8 * dst.bits / 8;
    // Source and destination must not share memory at all.
    const std::uint64_t dst_end = call.dst.address + (repeats - 1) * dst.repeat_step + 7 * dst.block_step + kBlockBytes;
    access.Require(call.src0.address + source_bytes <= call.dst.address || dst_end <= call.src0.address, "src0",
                   static_cast<std::int64_t>(call.src0.address), "memory apart from dst");
    // Kernels spread eight values at a time and use those that exist: undefined ones are carried, not refused.
    const std::byte* from = access.ReadsToCarry(call.src0, "src0", Region{0, source_bytes, 1, 0, 1, 0});
    std::byte* out = DeclareWrites(access, dst, lanes);
    if (access.ChecksInitialisation()) {
        const std::uint64_t bytes = dst.bits / 8;
        for (std::uint64_t repeat = 0; repeat < repeats; ++repeat) {
            for (std::uint32_t lane = 0; lane < lanes.per_repeat; ++lane) {
                access.Carries(call.dst, dst.OffsetOf(repeat, lane), call.src0,
                               (repeat * 8 + lane / dst.LanesPerBlock()) * bytes, bytes);
            }
        }
    }
    for (std::uint64_t repeat = 0; repeat < repeats; ++repeat) {
        for (std::uint64_t block = 0; block < 8; ++block) {
            const std::uint64_t index = repeat * 8 + block;
            std::byte* to = out + repeat * dst.repeat_step + block * dst.block_step;
            if (dst.bits == 16) {
                std::fill_n(As<std::uint16_t>(to), 16, As<std::uint16_t>(from)[index]);
            } else {
                std::fill_n(As<std::uint32_t>(to), 8, As<std::uint32_t>(from)[index]);
            }
        }
    }
}

}  // namespace ascend_attention::sim
