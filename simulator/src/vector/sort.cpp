// SPDX-License-Identifier: Apache-2.0
// Sort32, MrgSort and the library's Sort: descending by score, of equal scores the earlier first.
//
// A sorted queue holds pairs of 8 bytes: the score in the low half (float16 in its first two bytes, the other two are
// written as zeros), the index in the high half. Where a NaN goes is not documented: here before every number.
#include <algorithm>
#include <array>
#include <vector>

#include "core/core.h"
#include "vector/elementwise.h"

namespace ascend_attention::sim {

namespace {

constexpr std::uint64_t kPair = 8;
constexpr std::uint64_t kGroupSize = 32;
constexpr int kQueues = 4;
constexpr DTypeSet kFloats(DType::kFloat16, DType::kFloat32);

float ScoreAt(const std::byte* from, bool half) {
    return half ? HalfToFloat(*As<std::uint16_t>(from)) : *As<float>(from);
}

bool Before(float a, float b) { return a > b || (a != a && b == b); }

struct Sortable {
    float score;
    std::uint32_t position;
};

void RequireInUb(Access& access, const Operand& operand, const char* name, std::uint64_t alignment) {
    access.RequireSpace(operand, name, Space::kUb);
    access.RequireAligned(operand, name, alignment);
}

// Sorts `count` scores and writes the pairs.
void SortGroup(const SortCall& call, const std::byte* scores, const std::byte* indices, std::byte* out,
               std::uint64_t count) {
    const bool half = call.dst.dtype == DType::kFloat16;
    const std::uint64_t element = half ? 2 : 4;
    std::vector<Sortable> order(count);
    for (std::uint64_t i = 0; i < count; ++i) {
        order[i] = {ScoreAt(scores + i * element, half), static_cast<std::uint32_t>(i)};
    }
    std::stable_sort(order.begin(), order.end(),
                     [](const Sortable& a, const Sortable& b) { return Before(a.score, b.score); });
    for (std::uint64_t i = 0; i < count; ++i) {
        std::byte pair[kPair] = {};
        std::memcpy(pair, scores + order[i].position * element, element);
        std::memcpy(pair + 4, indices + order[i].position * std::uint64_t{4}, 4);
        std::memcpy(out + i * kPair, pair, kPair);
    }
}

// Sorts the elements in groups: of 32, or all in one.
void SortGroups(Access& access, const SortCall& call, const Operand* work) {
    RequireDType(access, call.dst.dtype, kFloats, "dst dtype", "float16, float32");
    RequireSameDType(access, call.dst, call.score, "src0 dtype");
    access.Require(call.index.dtype == DType::kUint32, "src1 dtype", static_cast<std::int64_t>(call.index.dtype),
                   "uint32");
    access.Require(call.repeat >= 0 && call.repeat <= 255, "repeatTimes", call.repeat, "0..255");
    RequireInUb(access, call.dst, "dst", kBlockBytes);
    RequireInUb(access, call.score, "src0", kBlockBytes);
    RequireInUb(access, call.index, "src1", kBlockBytes);
    if (call.repeat == 0) {
        return;
    }
    const std::uint64_t count = static_cast<std::uint64_t>(call.repeat) * kGroupSize;
    const std::uint64_t element = BitsOf(call.dst.dtype) / 8;
    RequireApart(access, call.dst, count * kPair, call.score, "src0", count * element);
    RequireApart(access, call.dst, count * kPair, call.index, "src1", count * 4);
    const std::byte* scores = access.Reads(call.score, "src0", Region{0, count * element, 1, 0, 1, 0});
    const std::byte* indices = access.Reads(call.index, "src1", Region{0, count * 4, 1, 0, 1, 0});
    const Region pairs{0, count * kPair, 1, 0, 1, 0};
    if (work != nullptr) {
        RequireInUb(access, *work, "tmp", kBlockBytes);
        RequireApart(access, call.dst, count * kPair, *work, "tmp", count * kPair);
        access.Writes(*work, "tmp", pairs);
        access.Undefines(*work, pairs);
    }
    std::byte* out = access.Writes(call.dst, "dst", pairs);
    const std::uint64_t group = work != nullptr ? count : kGroupSize;
    for (std::uint64_t first = 0; first < count; first += group) {
        SortGroup(call, scores + first * element, indices + first * 4, out + first * kPair, group);
    }
}

// One repeat: merges the queues at `from` and writes to `out`. `taken` receives how many pairs of each queue were used.
void Merge(const std::byte* const* from, const std::uint64_t* lengths, int queues, bool suspend, bool half,
           std::byte* out, std::uint16_t* taken, std::vector<std::pair<int, std::uint64_t>>* order) {
    std::fill_n(taken, kQueues, std::uint16_t{0});
    const auto exhausted = [&](int q) { return taken[q] == lengths[q]; };
    for (std::uint64_t written = 0;; ++written) {
        int best = -1;
        for (int q = 0; q < queues; ++q) {
            if (exhausted(q)) {
                if (suspend) {
                    return;
                }
                continue;
            }
            if (best < 0 ||
                Before(ScoreAt(from[q] + taken[q] * kPair, half), ScoreAt(from[best] + taken[best] * kPair, half))) {
                best = q;
            }
        }
        if (best < 0) {
            return;
        }
        std::memcpy(out + written * kPair, from[best] + taken[best] * kPair, kPair);
        order->emplace_back(best, taken[best]);
        ++taken[best];
    }
}

void RequireQueues(Access& access, const MergeSortCall& call, int queues) {
    access.Require(call.valid == 3 || call.valid == 7 || call.valid == 15, "validBit", call.valid, "3, 7, 15");
    access.Require(call.repeat >= 0 && call.repeat <= 255, "repeatTimes", call.repeat, "0..255");
    RequireDType(access, call.dst.dtype, kFloats, "dst dtype", "float16, float32");
    RequireInUb(access, call.dst, "dst", kBlockBytes);
    for (int q = 0; q < queues; ++q) {
        RequireSameDType(access, call.dst, call.src[q], "src dtype");
        RequireInUb(access, call.src[q], "src", kPair);
        access.Require(call.length[q] <= 4095, "elementLengths", call.length[q], "0..4095");
    }
    if (call.repeat <= 1) {
        return;
    }
    access.Require(!call.suspend && queues == kQueues, "repeatTimes", call.repeat,
                   "1, unless validBit is 15 and ifExhaustedSuspension false");
    for (int q = 1; q < kQueues; ++q) {
        access.Require(call.length[q] == call.length[0], "elementLengths", call.length[q],
                       "equal lengths when repeatTimes is 2 or more");
        access.Require(call.src[q].address == call.src[q - 1].address + call.length[0] * kPair, "src",
                       static_cast<std::int64_t>(call.src[q].address),
                       "queues one behind the other when repeatTimes is 2 or more");
    }
}

}  // namespace

void VectorSort32(const SortCall& call) {
    Access access(CurrentCore(), call.head);
    SortGroups(access, call, nullptr);
}

void VectorSortAll(const SortCall& call, const Operand& work) {
    Access access(CurrentCore(), call.head);
    SortGroups(access, call, &work);
}

std::uint64_t VectorMergeSort(const MergeSortCall& call) {
    Access access(CurrentCore(), call.head);
    const int queues = call.valid == 3 ? 2 : call.valid == 7 ? 3 : kQueues;
    RequireQueues(access, call, queues);
    if (call.repeat == 0) {
        return 0;
    }
    const bool half = call.dst.dtype == DType::kFloat16;
    const auto repeats = static_cast<std::uint64_t>(call.repeat);
    std::uint64_t lengths[kQueues] = {};
    std::uint64_t total = 0;
    for (int q = 0; q < queues; ++q) {
        lengths[q] = call.length[q];
        total += lengths[q];
    }
    const std::byte* from[kQueues] = {};
    for (int q = 0; q < queues; ++q) {
        const std::uint64_t step = total * kPair;
        RequireApart(access, call.dst, repeats * step, call.src[q], "src", (repeats - 1) * step + lengths[q] * kPair);
        access.Reads(call.src[q], "src", Region{0, half ? 2U : 4U, lengths[q], kPair, repeats, step});
        from[q] = access.ReadsToCarry(call.src[q], "src", Region{0, lengths[q] * kPair, repeats, step, 1, 0});
    }
    std::array<std::uint16_t, kQueues> taken{};
    std::vector<std::pair<int, std::uint64_t>> order;
    std::byte* memory = access.core().memory(Space::kUb) + call.dst.address;
    for (std::uint64_t repeat = 0; repeat < repeats; ++repeat) {
        const std::uint64_t base = repeat * total * kPair;
        const std::byte* queue[kQueues] = {};
        for (int q = 0; q < queues; ++q) {
            queue[q] = from[q] + base;
        }
        // Bounds are judged before anything is written: the merged pairs are at most all of them.
        std::vector<std::byte> merged(total * kPair);
        order.clear();
        Merge(queue, lengths, queues, call.suspend, half, merged.data(), taken.data(), &order);
        access.Writes(call.dst, "dst", Region{base, order.size() * kPair, 1, 0, 1, 0});
        std::copy_n(merged.data(), order.size() * kPair, memory + base);
        if (access.ChecksInitialisation()) {
            for (std::size_t i = 0; i < order.size(); ++i) {
                access.Carries(call.dst, base + i * kPair, call.src[order[i].first], base + order[i].second * kPair,
                               kPair);
            }
        }
    }
    access.WritesRegister(VectorRegister::kMerged);
    std::uint64_t& counts = access.core().state.merged_counts;
    counts = 0;
    for (int q = 0; q < kQueues; ++q) {
        counts |= std::uint64_t{taken[q]} << (16 * q);
    }
    return counts;
}

}  // namespace ascend_attention::sim
