// SPDX-License-Identifier: Apache-2.0
// Executors of the vector instructions that compute, reduce, fill or convert.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "execute.h"
#include "execute_vector.h"

namespace py = pybind11;

namespace ascend_attention::python {

sim::VectorMask VectorParams::Mask() {
    if (Has("calCount")) {
        return sim::VectorMask::Count(Get<std::int64_t>("calCount", 0));
    }
    if (!Get("isSetMask", true)) {
        return sim::VectorMask::Register();
    }
    if (!Has("mask")) {
        throw py::value_error("give calCount, mask or isSetMask=False");
    }
    const py::object mask = Take("mask");
    if (py::isinstance<py::int_>(mask)) {
        return sim::VectorMask::Lanes(py::cast<std::uint64_t>(mask));
    }
    const auto words = py::cast<std::vector<std::uint64_t>>(mask);
    return sim::VectorMask::Bits(words.at(0), words.at(1));
}

sim::VectorCall VectorHead(const char* name, const Operands& operands, std::size_t sources, VectorParams& params,
                           const sim::Site& site) {
    sim::VectorCall call;
    call.head = sim::Call{name, sim::Pipe::kVector, site};
    call.repeat = params.Get<std::int64_t>("repeatTimes", 1);
    call.dst = operands.at(0);
    std::uint32_t widest = ElementBits(call.dst.dtype);
    if (sources >= 1) {
        call.src0 = operands.at(1);
        widest = std::max(widest, ElementBits(call.src0.dtype));
    }
    if (sources >= 2) {
        call.src1 = operands.at(2);
    }
    const auto packed = [&](const sim::Operand& operand) {
        return std::int64_t{8 * ElementBits(operand.dtype) / widest};
    };
    const bool unary = sources <= 1;
    call.dst_stride = {params.Get<std::int64_t>("dstBlkStride", 1),
                       params.Get<std::int64_t>("dstRepStride", packed(call.dst))};
    if (sources >= 1) {
        call.src0_stride = {params.Get<std::int64_t>(unary ? "srcBlkStride" : "src0BlkStride", 1),
                            params.Get<std::int64_t>(unary ? "srcRepStride" : "src0RepStride", packed(call.src0))};
    }
    if (sources >= 2) {
        call.src1_stride = {params.Get<std::int64_t>("src1BlkStride", 1),
                            params.Get<std::int64_t>("src1RepStride", packed(call.src1))};
    }
    return call;
}

namespace {

void RegisterBinary(const char* name, sim::BinaryOp op) {
    RegisterExecutor(name, [name, op](const Operands& operands, const py::dict& dict, const sim::Site& site) {
        RequireOperands(operands, 3);
        VectorParams params(dict);
        sim::VectorCall call = VectorHead(name, operands, 2, params, site);
        call.mask = params.Mask();
        params.Done();
        sim::VectorBinary(call, op);
    });
}

void RegisterUnary(const char* name, sim::UnaryOp op) {
    RegisterExecutor(name, [name, op](const Operands& operands, const py::dict& dict, const sim::Site& site) {
        RequireOperands(operands, 2);
        VectorParams params(dict);
        sim::VectorCall call = VectorHead(name, operands, 1, params, site);
        call.mask = params.Mask();
        params.Done();
        sim::VectorUnary(call, op);
    });
}

void RegisterScalar(const char* name, sim::ScalarOp op) {
    RegisterExecutor(name, [name, op](const Operands& operands, const py::dict& dict, const sim::Site& site) {
        RequireOperands(operands, 2);
        VectorParams params(dict);
        sim::VectorCall call = VectorHead(name, operands, 1, params, site);
        call.mask = params.Mask();
        call.scalar = params.ScalarBits("scalarValue");
        const bool round = params.Get("roundEn", false);
        params.Done();
        sim::VectorScalar(call, op, round);
    });
}

void RegisterReduce(const char* name, sim::ReduceOp op, sim::ReduceScope scope) {
    RegisterExecutor(name, [name, op, scope](const Operands& operands, const py::dict& dict, const sim::Site& site) {
        RequireOperands(operands, 2);
        VectorParams params(dict);
        const bool has_dst_stride = params.Has("dstRepStride");
        sim::VectorCall call = VectorHead(name, operands, 1, params, site);
        // Results of neighbouring repeats lie side by side: the stride counts results.
        call.dst_stride.repeat = has_dst_stride ? call.dst_stride.repeat : 1;
        call.mask = params.Mask();
        const auto order = static_cast<std::uint8_t>(params.Get("order", 0));
        params.Done();
        sim::VectorReduce(call, op, scope, order);
    });
}

void RegisterReduceAll(const char* name, sim::ReduceOp op) {
    RegisterExecutor(name, [name, op](const Operands& operands, const py::dict& dict, const sim::Site& site) {
        RequireOperands(operands, 3);
        VectorParams params(dict);
        sim::VectorCall call = VectorHead(name, operands, 1, params, site);
        call.mask = params.Mask();
        const bool index = params.Get("calIndex", false);
        params.Done();
        sim::VectorReduceAll(call, op, operands[2], index);
    });
}

void RegisterFills() {
    RegisterExecutor("Duplicate", [](const Operands& operands, const py::dict& dict, const sim::Site& site) {
        RequireOperands(operands, 1);
        VectorParams params(dict);
        sim::VectorCall call = VectorHead("Duplicate", operands, 0, params, site);
        call.mask = params.Mask();
        call.scalar = params.ScalarBits("scalarValue");
        params.Done();
        sim::VectorDuplicate(call);
    });
    RegisterExecutor("CreateVecIndex", [](const Operands& operands, const py::dict& dict, const sim::Site& site) {
        RequireOperands(operands, 1);
        VectorParams params(dict);
        sim::VectorCall call = VectorHead("CreateVecIndex", operands, 0, params, site);
        call.mask = params.Mask();
        call.scalar = params.ScalarBits("firstValue");
        params.Done();
        sim::VectorCreateIndex(call);
    });
    RegisterExecutor("Copy", [](const Operands& operands, const py::dict& dict, const sim::Site& site) {
        RequireOperands(operands, 2);
        VectorParams params(dict);
        sim::VectorCall call = VectorHead("Copy", operands, 1, params, site);
        call.mask = params.Mask();
        params.Done();
        sim::VectorCopy(call);
    });
    RegisterExecutor("Brcb", [](const Operands& operands, const py::dict& dict, const sim::Site& site) {
        RequireOperands(operands, 2);
        VectorParams params(dict);
        sim::VectorCall call = VectorHead("Brcb", operands, 1, params, site);
        params.Done();
        sim::VectorBrcb(call);
    });
    RegisterExecutor("Cast", [](const Operands& operands, const py::dict& dict, const sim::Site& site) {
        RequireOperands(operands, 2);
        VectorParams params(dict);
        sim::VectorCall call = VectorHead("Cast", operands, 1, params, site);
        call.mask = params.Mask();
        const auto mode = static_cast<std::uint8_t>(params.Get("round_mode", 0));
        params.Done();
        sim::VectorCast(call, mode);
    });
    RegisterExecutor("Transpose", [](const Operands& operands, const py::dict& dict, const sim::Site& site) {
        RequireOperands(operands, 2);
        VectorParams params(dict);
        const sim::VectorCall call = VectorHead("Transpose", operands, 1, params, site);
        params.Done();
        sim::VectorTranspose(call);
    });
}

}  // namespace

void RegisterVectorExecutors() {
    using sim::BinaryOp;
    using sim::ReduceOp;
    using sim::ReduceScope;
    using sim::ScalarOp;
    using sim::UnaryOp;
    const std::pair<const char*, BinaryOp> binaries[] = {
        {"Add", BinaryOp::kAdd},
        {"Sub", BinaryOp::kSub},
        {"Mul", BinaryOp::kMul},
        {"Div", BinaryOp::kDiv},
        {"Max", BinaryOp::kMax},
        {"Min", BinaryOp::kMin},
        {"And", BinaryOp::kAnd},
        {"Or", BinaryOp::kOr},
        {"Xor", BinaryOp::kXor},
        {"AddRelu", BinaryOp::kAddRelu},
        {"SubRelu", BinaryOp::kSubRelu},
        {"MulAddDst", BinaryOp::kMulAddDst},
        {"FusedMulAdd", BinaryOp::kFusedMulAdd},
        {"FusedMulAddRelu", BinaryOp::kFusedMulAddRelu},
    };
    for (const auto& [name, op] : binaries) {
        RegisterBinary(name, op);
    }
    const std::pair<const char*, UnaryOp> unaries[] = {
        {"Relu", UnaryOp::kRelu},   {"Exp", UnaryOp::kExp},   {"Ln", UnaryOp::kLn},
        {"Abs", UnaryOp::kAbs},     {"Sqrt", UnaryOp::kSqrt}, {"Reciprocal", UnaryOp::kReciprocal},
        {"Rsqrt", UnaryOp::kRsqrt}, {"Not", UnaryOp::kNot},
    };
    for (const auto& [name, op] : unaries) {
        RegisterUnary(name, op);
    }
    const std::pair<const char*, ScalarOp> scalars[] = {
        {"Adds", ScalarOp::kAdds},           {"Muls", ScalarOp::kMuls},           {"Maxs", ScalarOp::kMaxs},
        {"Mins", ScalarOp::kMins},           {"ShiftLeft", ScalarOp::kShiftLeft}, {"ShiftRight", ScalarOp::kShiftRight},
        {"LeakyRelu", ScalarOp::kLeakyRelu}, {"Axpy", ScalarOp::kAxpy},
    };
    for (const auto& [name, op] : scalars) {
        RegisterScalar(name, op);
    }
    RegisterReduce("WholeReduceSum", ReduceOp::kSum, ReduceScope::kRepeat);
    RegisterReduce("WholeReduceMax", ReduceOp::kMax, ReduceScope::kRepeat);
    RegisterReduce("WholeReduceMin", ReduceOp::kMin, ReduceScope::kRepeat);
    RegisterReduce("RepeatReduceSum", ReduceOp::kSum, ReduceScope::kRepeat);
    RegisterReduce("BlockReduceSum", ReduceOp::kSum, ReduceScope::kBlock);
    RegisterReduce("BlockReduceMax", ReduceOp::kMax, ReduceScope::kBlock);
    RegisterReduce("BlockReduceMin", ReduceOp::kMin, ReduceScope::kBlock);
    RegisterReduce("PairReduceSum", ReduceOp::kSum, ReduceScope::kPair);
    RegisterReduceAll("ReduceSum", ReduceOp::kSum);
    RegisterReduceAll("ReduceMax", ReduceOp::kMax);
    RegisterReduceAll("ReduceMin", ReduceOp::kMin);
    RegisterFills();
    RegisterVectorSelections();
    RegisterVectorLibrary();
}

}  // namespace ascend_attention::python
