// SPDX-License-Identifier: Apache-2.0
// ReduceMax, ReduceMin, ReduceSum: one result for a whole tensor.
//
// On the device each is a library sequence of the per-repeat reductions; here it is one vector instruction with the
// same result. Most sequences end in the scalar unit: it waits for the vector pipe, stores the result, and makes V and
// MTE3 wait for the store, so a kernel needs no barrier before it uses the result there. ReduceSum adds a repeat as a
// tree; the element-count form then adds the repeats in order, the other form adds them as trees of trees (as
// documented for A2/A3). An index counts elements from the start of the source. The work buffer holds intermediate
// results and is undefined afterwards; it may lie on dst or on the source.

#include <vector>

#include "core/core.h"
#include "core/sync.h"
#include "numerics/half.h"
#include "vector/elementwise.h"
#include "vector/reduce.h"

namespace ascend_attention::sim {

namespace {

constexpr DTypeSet kFloats(DType::kFloat16, DType::kFloat32);

struct Best {
    float value = 0.0F;
    std::uint64_t index = 0;
    bool found = false;
};

bool Better(float candidate, float best, ReduceOp op) {
    if (best != best) {
        return false;
    }
    return candidate != candidate || (op == ReduceOp::kMax ? candidate > best : candidate < best);
}

// Elements of the work buffer that the documented formulas ask for.
std::uint64_t WorkElements(ReduceOp op, std::uint64_t repeats, std::uint64_t lanes, bool index, bool count_form) {
    const std::uint64_t per_block = lanes / 8;
    const auto aligned = [&](std::uint64_t elements) { return (elements + per_block - 1) / per_block * per_block; };
    if (op == ReduceOp::kSum) {
        return count_form ? 0 : aligned(repeats);
    }
    std::uint64_t outputs = repeats * 2;
    std::uint64_t total = aligned(outputs);
    while (index && outputs > 2) {
        outputs = (outputs + lanes - 1) / lanes * 2;
        total += aligned(outputs);
    }
    return total;
}

// The partial sums of all repeats, added as trees over repeats until one is left.
float SumAsTrees(std::vector<float> partial, std::uint32_t lanes, bool half) {
    FoldBuffers buffers;
    std::vector<float> group(lanes);
    while (partial.size() > 1) {
        std::vector<float> next;
        for (std::size_t first = 0; first < partial.size(); first += lanes) {
            const std::size_t count = std::min<std::size_t>(lanes, partial.size() - first);
            std::fill(group.begin(), group.end(), ReduceIdentity(ReduceOp::kSum));
            std::copy_n(partial.begin() + static_cast<std::ptrdiff_t>(first), count, group.begin());
            next.push_back(FoldTree(group.data(), buffers, lanes, lanes, ReduceOp::kSum, half)[0]);
        }
        partial = std::move(next);
    }
    return partial[0];
}

float SumInOrder(const std::vector<float>& partial, bool half) {
    float sum = partial[0];
    for (std::size_t i = 1; i < partial.size(); ++i) {
        sum += partial[i];
        if (half) {
            sum = HalfToFloat(FloatToHalf(sum));
        }
    }
    return sum;
}

// Whether the last step of the sequence is a vector instruction on dst: an extreme with its index in one repeat, and
// sums whose partial sums of partial sums are several.
bool EndsInVector(ReduceOp op, std::uint64_t repeats, std::uint64_t lanes, bool index, bool count_form) {
    return op == ReduceOp::kSum ? !count_form && repeats > lanes : index && repeats == 1;
}

void StoreResult(Access& access, const Operand& dst, const Best& best, std::uint32_t bits, bool index) {
    const std::uint64_t element = bits / 8;
    std::byte* out = access.Writes(dst, "dst", Region{0, index ? 2 * element : element, 1, 0, 1, 0});
    StoreValue(out, best.value, bits);
    if (index) {
        const auto position = static_cast<std::uint32_t>(best.index);
        std::memcpy(out + element, &position, element);
    }
}

// What the scalar unit can read afterwards: the extreme, whose index is not promised, or the sum of the element-count
// form.
void KeepInRegister(Access& access, const VectorCall& call, ReduceOp op, float value, std::uint32_t bits) {
    MachineState& state = access.core().state;
    ReductionRegister result;
    result.dtype = call.dst.dtype;
    StoreValue(reinterpret_cast<std::byte*>(&result.value), value, bits);
    if (op == ReduceOp::kSum) {
        result.specified = call.mask.form == MaskForm::kCount;
        state.sum = result;
        return;
    }
    result.specified = call.src0_stride.repeat == 8 && !state.mask.counter_mode;
    state.extreme = result;
    access.WritesRegister(VectorRegister::kExtreme);
}

}  // namespace

void VectorReduceAll(const VectorCall& call, ReduceOp op, const Operand& work, bool index) {
    Access access(CurrentCore(), call.head);
    RequireDType(access, call.dst.dtype, kFloats, "dst dtype", "float16, float32");
    RequireSameDType(access, call.dst, call.src0, "src dtype");
    RequireSameDType(access, call.dst, work, "work dtype");
    const Stream src = MakeStream(access, call.src0, "src", call.src0_stride, 65535, 65535);
    const std::uint64_t element = src.bits / 8;
    access.RequireSpace(call.dst, "dst", Space::kUb);
    access.RequireAligned(call.dst, "dst", index ? 2 * element : element);
    access.Require(call.repeat >= 0 && call.repeat < (std::int64_t{1} << 31), "repeatTimes", call.repeat, "0..2^31-1");
    const bool count_form = call.mask.form == MaskForm::kCount || call.mask.form == MaskForm::kRegister;
    const std::uint32_t per_repeat = kRepeatBytes * 8 / src.bits;
    // The sequence splits long calls itself: only the mask is resolved, for one repeat.
    Lanes lanes = ResolveLanes(access, call.mask, call.repeat == 0 ? 0 : 1, per_repeat);
    if (!count_form) {
        lanes.body *= static_cast<std::uint64_t>(call.repeat);
    }
    if (lanes.empty()) {
        return;
    }
    access.Require(!index || src.bits == 32 || lanes.repeats() * per_repeat <= 65536, "calCount",
                   static_cast<std::int64_t>(lanes.repeats() * per_repeat), "65536 elements or fewer: a 16-bit index");
    const std::byte* memory = DeclareReads(access, src, lanes);
    const std::uint64_t work_bytes = WorkElements(op, lanes.repeats(), per_repeat, index, count_form) * element;

    const ReduceSource reader(src, lanes, memory, op);
    std::vector<float> partial;
    Best best;
    for (std::uint64_t repeat = 0; repeat < lanes.repeats(); ++repeat) {
        float buffer[kMaxLanes];
        FoldBuffers folds;
        const float* values = reader.Read(buffer, repeat, 1);
        const float folded = FoldTree(values, folds, per_repeat, per_repeat, op, src.bits == 16)[0];
        partial.push_back(folded);
        if (!best.found || Better(folded, best.value, op)) {
            best = {folded, repeat * src.repeat_step / element + FirstIndex(values, folded, lanes, repeat), true};
        }
    }
    if (op == ReduceOp::kSum) {
        best.value = count_form ? SumInOrder(partial, src.bits == 16) : SumAsTrees(partial, per_repeat, src.bits == 16);
    }
    KeepInRegister(access, call, op, best.value, src.bits);
    if (work_bytes != 0) {
        access.RequireSpace(work, "work", Space::kUb);
        access.RequireAligned(work, "work", kBlockBytes);
        const Region region{0, work_bytes, 1, 0, 1, 0};
        access.Writes(work, "work", region);
        access.Undefines(work, region);
    }
    if (EndsInVector(op, lanes.repeats(), per_repeat, index, count_form)) {
        StoreResult(access, call.dst, best, src.bits, index);
        return;
    }
    PassFlag(Pipe::kVector, Pipe::kScalar, call.head.site);
    const Call store{call.head.name, Pipe::kScalar, call.head.site};
    Access scalar(access.core(), store);
    StoreResult(scalar, call.dst, best, src.bits, index);
    PassFlag(Pipe::kScalar, Pipe::kVector, call.head.site);
    PassFlag(Pipe::kScalar, Pipe::kMte3, call.head.site);
}

}  // namespace ascend_attention::sim
