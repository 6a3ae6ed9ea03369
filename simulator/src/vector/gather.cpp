// SPDX-License-Identifier: Apache-2.0
// Gather and Gatherb. They move values, so undefined ones are carried.
#include "core/core.h"
#include "vector/elementwise.h"
#include "vector/lanes.h"

namespace ascend_attention::sim {

namespace {

constexpr DTypeSet kWords(DType::kFloat16, DType::kBfloat16, DType::kFloat32, DType::kInt16, DType::kUint16,
                          DType::kInt32, DType::kUint32);
constexpr const char* kWordNames = "float16, bfloat16, float32, int16, uint16, int32, uint32";

// Declares single elements, neighbours in memory as one region.
class ElementReads {
public:
    ElementReads(Access& access, const Operand& operand, const char* name)
        : access_(access), operand_(operand), name_(name) {}
    ~ElementReads() = default;
    ElementReads(const ElementReads&) = delete;
    ElementReads& operator=(const ElementReads&) = delete;

    void Add(std::uint64_t offset, std::uint64_t bytes) {
        if (bytes_ != 0 && offset == offset_ + bytes_) {
            bytes_ += bytes;
            return;
        }
        Flush();
        offset_ = offset;
        bytes_ = bytes;
    }
    void Flush() {
        if (bytes_ != 0) {
            access_.ReadsToCarry(operand_, name_, Region{offset_, bytes_, 1, 0, 1, 0});
            bytes_ = 0;
        }
    }

private:
    Access& access_;
    const Operand& operand_;
    const char* name_;
    std::uint64_t offset_ = 0;
    std::uint64_t bytes_ = 0;
};

std::uint64_t SpanBytes(const Stream& stream, const Lanes& lanes) {
    const std::uint64_t blocks = (lanes.per_repeat - 1) / stream.LanesPerBlock();
    return (lanes.repeats() - 1) * stream.repeat_step + blocks * stream.block_step + kBlockBytes;
}

}  // namespace

void VectorGather(const VectorCall& call, std::uint32_t base) {
    Access access(CurrentCore(), call.head);
    RequireDType(access, call.dst.dtype, kWords, "dst dtype", kWordNames);
    RequireSameDType(access, call.dst, call.src0, "src dtype");
    access.Require(call.src1.dtype == DType::kUint32, "srcOffset dtype", static_cast<std::int64_t>(call.src1.dtype),
                   "uint32");
    const Stream dst = MakeStream(access, call.dst, "dst", call.dst_stride, 255, 65535);
    access.RequireSpace(call.src0, "src", Space::kUb);
    access.RequireAligned(call.src0, "src", kBlockBytes);
    Stream offsets = MakeStream(access, call.src1, "srcOffset", BlockStride{});
    const std::uint64_t bytes = dst.bits / 8;
    access.Require(base % bytes == 0, "srcBaseAddr", base, "a multiple of the element size");
    const Lanes lanes = ResolveLanes(access, call.mask, call.repeat, kRepeatBytes * 8 / dst.bits);
    if (lanes.empty()) {
        return;
    }
    // Offsets lie without gaps: four bytes for each lane of each repeat, active or not.
    offsets.repeat_step = std::uint64_t{lanes.per_repeat} * 4;
    RequireApart(access, call.dst, SpanBytes(dst, lanes), call.src1, "srcOffset",
                 offsets.repeat_step * lanes.repeats());
    const std::byte* offset_memory = DeclareReads(access, offsets, lanes);
    ElementReads reads(access, call.src0, "src");
    std::uint64_t end = 0;
    std::uint64_t begin = ~std::uint64_t{0};
    const auto source_of = [&](std::uint64_t repeat, std::uint32_t lane) {
        return base + std::uint64_t{As<std::uint32_t>(offset_memory + offsets.repeat_step * repeat)[lane]};
    };
    for (std::uint64_t repeat = 0; repeat < lanes.repeats(); ++repeat) {
        for (std::uint32_t lane = 0; lane < lanes.per_repeat; ++lane) {
            if (lanes.Active(repeat, lane)) {
                const std::uint64_t source = source_of(repeat, lane);
                access.Require(source % bytes == 0, "srcOffset", static_cast<std::int64_t>(source),
                               "a multiple of the element size");
                reads.Add(source, bytes);
                begin = std::min(begin, source);
                end = std::max(end, source + bytes);
            }
        }
    }
    reads.Flush();
    RequireApart(access, call.dst, SpanBytes(dst, lanes),
                 Operand{call.src0.space, call.src0.dtype, call.src0.address + begin, 0, 0}, "src", end - begin);
    std::byte* out = DeclareWrites(access, dst, lanes);
    const std::byte* from = access.core().memory(Space::kUb) + call.src0.address;
    for (std::uint64_t repeat = 0; repeat < lanes.repeats(); ++repeat) {
        for (std::uint32_t lane = 0; lane < lanes.per_repeat; ++lane) {
            if (lanes.Active(repeat, lane)) {
                const std::uint64_t source = source_of(repeat, lane);
                const std::uint64_t target = dst.OffsetOf(repeat, lane);
                std::memcpy(out + target, from + source, bytes);
                if (access.ChecksInitialisation()) {
                    access.Carries(call.dst, target, call.src0, source, bytes);
                }
            }
        }
    }
}

void VectorGatherBlocks(const VectorCall& call) {
    Access access(CurrentCore(), call.head);
    constexpr DTypeSet kUnsigned(DType::kUint16, DType::kUint32);
    RequireDType(access, call.dst.dtype, kUnsigned, "dst dtype", "uint16, uint32");
    RequireSameDType(access, call.dst, call.src0, "src0 dtype");
    access.Require(call.src1.dtype == DType::kUint32, "offset dtype", static_cast<std::int64_t>(call.src1.dtype),
                   "uint32");
    RequireDstBlockStride(access, call.dst_stride);
    access.Require(call.repeat >= 0 && call.repeat <= 255, "repeatTimes", call.repeat, "0..255");
    const Stream dst = MakeStream(access, call.dst, "dst", call.dst_stride, 255, 65535);
    access.RequireSpace(call.src0, "src0", Space::kUb);
    access.RequireAligned(call.src0, "src0", kBlockBytes);
    access.RequireSpace(call.src1, "offset", Space::kUb);
    access.RequireAligned(call.src1, "offset", kBlockBytes);
    if (call.repeat == 0) {
        return;
    }
    const auto repeats = static_cast<std::uint64_t>(call.repeat);
    const Lanes lanes = FullLanes(repeats, kRepeatBytes * 8 / dst.bits);
    const auto* offsets = As<std::uint32_t>(access.Reads(call.src1, "offset", Region{0, repeats * 8 * 4, 1, 0, 1, 0}));
    ElementReads reads(access, call.src0, "src0");
    for (std::uint64_t i = 0; i < repeats * 8; ++i) {
        access.Require(offsets[i] % kBlockBytes == 0, "offset", offsets[i], "a multiple of 32");
        RequireApart(access, call.dst, SpanBytes(dst, lanes),
                     Operand{call.src0.space, call.src0.dtype, call.src0.address + offsets[i], 0, 0}, "src0",
                     kBlockBytes);
        reads.Add(offsets[i], kBlockBytes);
    }
    reads.Flush();
    std::byte* out = DeclareWrites(access, dst, lanes);
    const std::byte* from = access.core().memory(Space::kUb) + call.src0.address;
    for (std::uint64_t i = 0; i < repeats * 8; ++i) {
        const std::uint64_t target = i / 8 * dst.repeat_step + i % 8 * dst.block_step;
        std::memcpy(out + target, from + offsets[i], kBlockBytes);
        if (access.ChecksInitialisation()) {
            access.Carries(call.dst, target, call.src0, offsets[i], kBlockBytes);
        }
    }
}

}  // namespace ascend_attention::sim
