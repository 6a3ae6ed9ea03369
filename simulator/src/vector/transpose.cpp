// SPDX-License-Identifier: Apache-2.0
// Transpose and TransDataTo5HD. They move values, so undefined ones are carried.
//
// TransDataTo5HD transposes 16 blocks that lie anywhere: 16 x 16 elements of 16 bits; 16 x 8 of 32 bits, whose columns
// fill two blocks each; 16 x 16 of 8 bits in a half of each block.
#include <algorithm>
#include <array>
#include <tuple>
#include <vector>

#include "core/core.h"
#include "vector/elementwise.h"

namespace ascend_attention::sim {

namespace {

constexpr std::uint64_t kListed = 16;

// The layouts of AscendC::TransposeType that A2/A3 support.
constexpr std::uint8_t kNothing = 0;
constexpr std::uint8_t kSquare = 10;          // TRANSPOSE_ND2ND_B16
constexpr std::uint8_t kToChannelLast = 11;   // TRANSPOSE_NCHW2NHWC
constexpr std::uint8_t kToChannelFirst = 12;  // TRANSPOSE_NHWC2NCHW

constexpr DTypeSet kSquareTypes(DType::kFloat16, DType::kInt16, DType::kUint16);
constexpr DTypeSet kListedTypes(DType::kInt8, DType::kUint8, DType::kInt16, DType::kUint16, DType::kFloat16,
                                DType::kInt32, DType::kUint32, DType::kFloat32);
constexpr const char* kListedNames = "int8, uint8, int16, uint16, float16, int32, uint32, float32";

void RequireInUb(Access& access, const Operand& operand, const char* name) {
    access.RequireSpace(operand, name, Space::kUb);
    access.RequireAligned(operand, name, kBlockBytes);
}

void TransposeSquare(Access& access, const Operand& dst, const Operand& src) {
    constexpr std::uint64_t kBytes = 16 * 16 * 2;
    RequireInUb(access, dst, "dst");
    RequireInUb(access, src, "src");
    if (dst.address != src.address) {
        RequireApart(access, dst, kBytes, src, "src", kBytes);
    }
    const auto* from = As<std::uint16_t>(access.ReadsToCarry(src, "src", Region{0, kBytes, 1, 0, 1, 0}));
    auto* out = As<std::uint16_t>(access.Writes(dst, "dst", Region{0, kBytes, 1, 0, 1, 0}));
    std::array<std::uint16_t, 256> copy{};
    std::copy_n(from, copy.size(), copy.begin());
    for (std::uint32_t row = 0; row < 16; ++row) {
        for (std::uint32_t column = 0; column < 16; ++column) {
            out[column * 16 + row] = copy[row * 16 + column];
            // In place the shadow would be read after it was written: then the result counts as defined.
            if (access.ChecksInitialisation() && dst.address != src.address) {
                access.Carries(dst, (column * 16 + row) * 2U, src, (row * 16 + column) * 2U, 2);
            }
        }
    }
}

// Moves each image's `rows` x `columns` elements to `columns` x `rows`.
void TransposeImages(Access& access, const TransposeCall& call, std::uint64_t rows, std::uint64_t columns) {
    const std::uint64_t element = BitsOf(call.dst.dtype) / 8;
    const std::uint64_t image = rows * columns;
    const std::uint64_t bytes = call.n * image * element;
    RequireApart(access, call.dst, bytes, call.src, "src", bytes);
    RequireApart(access, call.dst, bytes, call.work, "sharedTmpBuffer", call.work_bytes);
    RequireApart(access, call.src, bytes, call.work, "sharedTmpBuffer", call.work_bytes);
    const std::byte* from = access.ReadsToCarry(call.src, "src", Region{0, bytes, 1, 0, 1, 0});
    std::byte* out = access.Writes(call.dst, "dst", Region{0, bytes, 1, 0, 1, 0});
    const bool carry = !access.AllDefined(call.src, 0, bytes);
    for (std::uint64_t n = 0; n < call.n; ++n) {
        for (std::uint64_t i = 0; i < image; ++i) {
            const std::uint64_t source = (n * image + i) * element;
            const std::uint64_t target = (n * image + i % columns * rows + i / columns) * element;
            std::memcpy(out + target, from + source, element);
            if (carry) {
                access.Carries(call.dst, target, call.src, source, element);
            }
        }
    }
}

// Which elements of the 16 source blocks go where, for one width.
struct Listing {
    std::uint64_t element;     // bytes
    std::uint64_t per_source;  // elements taken from each source block
    std::uint64_t src_base;    // byte offset within a source block
    std::uint64_t dst_base;

    std::uint64_t SourceOffset(std::uint64_t column) const { return src_base + column * element; }
    // Element `column` of source `row`: 16 rows of a column fill one destination, or two of 32-bit elements.
    std::uint64_t Destination(std::uint64_t row, std::uint64_t column) const {
        return element == 4 ? column * 2 + row / 8 : column;
    }
    std::uint64_t DestinationOffset(std::uint64_t row) const {
        return dst_base + (element == 4 ? row % 8 : row) * element;
    }
    std::uint64_t SourceBytes() const { return per_source * element; }
    std::uint64_t DestinationBytes() const { return element == 1 ? 16 : kBlockBytes; }
};

// A list that lies on the other one entry by entry is a transposition in place.
bool SameLists(const TransDataCall& call) {
    for (std::uint64_t i = 0; i < kListed; ++i) {
        if (call.dst[i].address != call.src[i].address) {
            return false;
        }
    }
    return call.dst_repeat_stride == call.src_repeat_stride || call.repeat == 1;
}

// No block may be read and written, except its own in place: repeats are in flight together.
void RequireListsApart(Access& access, const TransDataCall& call) {
    struct Block {
        std::uint64_t address;
        std::uint64_t repeat;
        bool written;
    };
    std::vector<Block> blocks;
    for (std::uint64_t repeat = 0; repeat < call.repeat; ++repeat) {
        for (std::uint64_t i = 0; i < kListed; ++i) {
            blocks.push_back({call.dst[i].address + repeat * call.dst_repeat_stride * kBlockBytes, repeat, true});
            blocks.push_back({call.src[i].address + repeat * call.src_repeat_stride * kBlockBytes, repeat, false});
        }
    }
    std::sort(blocks.begin(), blocks.end(), [](const Block& a, const Block& b) {
        return std::tie(a.address, a.repeat, a.written) < std::tie(b.address, b.repeat, b.written);
    });
    const bool in_place = SameLists(call);
    for (std::size_t i = 1; i < blocks.size(); ++i) {
        const Block& a = blocks[i - 1];
        const Block& b = blocks[i];
        // Blocks are aligned, so they overlap only when they are the same.
        const bool conflict = a.address == b.address && a.written != b.written && !(in_place && a.repeat == b.repeat);
        access.Require(!conflict, "srcList", static_cast<std::int64_t>(b.address),
                       "blocks apart from those of dstList, or the lists the same");
    }
}

void TransposeListed(Access& access, const TransDataCall& call, const Listing& listing, std::uint64_t dst_shift,
                     std::uint64_t src_shift) {
    alignas(64) std::byte copy[kListed][kBlockBytes];
    const bool in_place = SameLists(call);
    for (std::uint64_t row = 0; row < kListed; ++row) {
        const std::uint64_t offset = src_shift + listing.src_base;
        const std::byte* memory =
            access.ReadsToCarry(call.src[row], "srcList", Region{offset, listing.SourceBytes(), 1, 0, 1, 0});
        std::memcpy(copy[row], memory + src_shift, kBlockBytes);
    }
    std::byte* out[kListed];
    for (std::uint64_t i = 0; i < kListed; ++i) {
        const std::uint64_t offset = dst_shift + listing.dst_base;
        out[i] =
            access.Writes(call.dst[i], "dstList", Region{offset, listing.DestinationBytes(), 1, 0, 1, 0}) + dst_shift;
    }
    for (std::uint64_t row = 0; row < kListed; ++row) {
        for (std::uint64_t column = 0; column < listing.per_source; ++column) {
            const std::uint64_t i = listing.Destination(row, column);
            const std::uint64_t to = listing.DestinationOffset(row);
            const std::uint64_t from = listing.SourceOffset(column);
            std::memcpy(out[i] + to, copy[row] + from, listing.element);
            if (access.ChecksInitialisation() && !in_place) {
                access.Carries(call.dst[i], dst_shift + to, call.src[row], src_shift + from, listing.element);
            }
        }
    }
}

void RunTransData(Access& access, const TransDataCall& call) {
    RequireDType(access, call.dtype, kListedTypes, "dtype", kListedNames);
    const std::uint64_t element = BitsOf(call.dtype) / 8;
    access.Require(element == 1 || (!call.dst_high && !call.src_high), "dstHighHalf, srcHighHalf", 1,
                   "false, except for 8-bit elements");
    for (std::uint64_t i = 0; i < kListed; ++i) {
        RequireInUb(access, call.dst[i], "dstList");
        RequireInUb(access, call.src[i], "srcList");
    }
    RequireListsApart(access, call);
    const Listing listing{element, element == 4 ? 8U : 16U, call.src_high ? 16U : 0U, call.dst_high ? 16U : 0U};
    for (std::uint64_t repeat = 0; repeat < call.repeat; ++repeat) {
        // A single repeat starts one stride behind the listed addresses.
        const std::uint64_t step = call.repeat == 1 ? 1 : repeat;
        TransposeListed(access, call, listing, step * call.dst_repeat_stride * kBlockBytes,
                        step * call.src_repeat_stride * kBlockBytes);
    }
}

void ReadTable(Access& access, const Operand& table, const char* name, DType dtype, Operand* operands) {
    RequireInUb(access, table, name);
    const std::byte* memory = access.Reads(table, name, Region{0, kListed * sizeof(std::uint64_t), 1, 0, 1, 0});
    for (std::uint64_t i = 0; i < kListed; ++i) {
        operands[i] = Operand{Space::kUb, dtype, 0, 0, 0};
        std::memcpy(&operands[i].address, memory + i * sizeof(std::uint64_t), sizeof(std::uint64_t));
        access.Require(operands[i].address < access.core().memory_bytes(Space::kUb), name,
                       static_cast<std::int64_t>(operands[i].address), "addresses within UB");
    }
}

}  // namespace

void VectorTranspose(const VectorCall& call) {
    Access access(CurrentCore(), call.head);
    RequireDType(access, call.dst.dtype, kSquareTypes, "dst dtype", "float16, int16, uint16");
    RequireSameDType(access, call.dst, call.src0, "src dtype");
    TransposeSquare(access, call.dst, call.src0);
}

void VectorTransposeLayout(const TransposeCall& call) {
    Access access(CurrentCore(), call.head);
    access.Require(call.layout == kNothing || call.layout == kSquare || call.layout == kToChannelLast ||
                       call.layout == kToChannelFirst,
                   "transposeType", call.layout,
                   "TRANSPOSE_TYPE_NONE, TRANSPOSE_ND2ND_B16, TRANSPOSE_NCHW2NHWC, TRANSPOSE_NHWC2NCHW on A2/A3");
    RequireSameDType(access, call.dst, call.src, "src dtype");
    if (call.layout == kNothing) {
        return;
    }
    if (call.layout == kSquare) {
        RequireDType(access, call.dst.dtype, kSquareTypes, "dst dtype", "float16, int16, uint16");
        TransposeSquare(access, call.dst, call.src);
        return;
    }
    RequireDType(access, call.dst.dtype, kListedTypes, "dst dtype", kListedNames);
    RequireInUb(access, call.dst, "dst");
    RequireInUb(access, call.src, "src");
    RequireInUb(access, call.work, "sharedTmpBuffer");
    const std::uint64_t element = BitsOf(call.dst.dtype) / 8;
    const std::uint64_t pixels = std::uint64_t{call.h} * call.w;
    access.Require(call.c <= 4095, "cSize", call.c, "0..4095");
    access.Require(pixels <= 4095, "hSize * wSize", static_cast<std::int64_t>(pixels), "0..4095");
    access.Require(pixels * element % kBlockBytes == 0, "hSize * wSize", static_cast<std::int64_t>(pixels),
                   "a multiple of 32 bytes");
    if (call.n == 0 || call.c == 0 || pixels == 0) {
        return;
    }
    const std::uint64_t tile = (element == 1 ? 32 : 16) * std::uint64_t{kBlockBytes};
    const std::uint64_t needed = tile * (call.layout == kToChannelLast ? call.c + 2ULL : call.c * 2ULL + 1);
    access.Require(call.work_bytes >= needed, "sharedTmpBuffer size", static_cast<std::int64_t>(call.work_bytes),
                   call.layout == kToChannelLast
                       ? "(cSize + 2) tiles of 512 bytes (1024 for 8-bit elements) or more"
                       : "(cSize * 2 + 1) tiles of 512 bytes (1024 for 8-bit elements) or more");
    const bool last = call.layout == kToChannelLast;
    TransposeImages(access, call, last ? call.c : pixels, last ? pixels : call.c);
    const Region used{0, needed, 1, 0, 1, 0};
    access.Writes(call.work, "sharedTmpBuffer", used);
    access.Undefines(call.work, used);
}

void VectorTransData(const TransDataCall& call) {
    Access access(CurrentCore(), call.head);
    RunTransData(access, call);
}

void VectorTransDataIndirect(const TransDataCall& call, const Operand& dst_table, const Operand& src_table) {
    Access access(CurrentCore(), call.head);
    TransDataCall listed = call;
    ReadTable(access, dst_table, "dst", call.dtype, listed.dst);
    ReadTable(access, src_table, "src", call.dtype, listed.src);
    RunTransData(access, listed);
}

}  // namespace ascend_attention::sim
