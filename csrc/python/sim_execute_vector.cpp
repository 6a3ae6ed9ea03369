// SPDX-License-Identifier: Apache-2.0
// Executors of the vector instructions. Parameters have the names of the Ascend C calls; operands come destination
// first. The form of a call follows from its parameters:
//   calCount=n            element count          mask=n, repeatTimes=r          first n lanes of each repeat
//   mask=[low, high], ... bits                   isSetMask=False, repeatTimes=r the mask register
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "core/core.h"
#include "execute.h"
#include "machine/vector_calls.h"

namespace py = pybind11;

namespace ascend_attention::python {

namespace {

using Operands = std::vector<sim::Operand>;

// Reads parameters and notices misspelt ones: a test that sets a field no instruction knows must fail.
class VectorParams {
public:
    explicit VectorParams(const py::dict& given) : given_(given) {}

    bool Has(const char* name) const { return given_.contains(name); }
    template <typename T>
    T Get(const char* name, T missing) {
        if (!given_.contains(name)) {
            return missing;
        }
        ++used_;
        return py::cast<T>(given_[name]);
    }
    void Set(const char* name, std::uint64_t value) {
        py::dict writable = py::reinterpret_borrow<py::dict>(given_);
        writable[name] = value;
        ++used_;
    }
    void Done() const {
        if (used_ != given_.size()) {
            throw py::value_error("the instruction does not know all of these parameters: " +
                                  py::cast<std::string>(py::repr(given_)));
        }
    }
    sim::VectorMask Mask() {
        if (Has("calCount")) {
            return sim::VectorMask::Count(Get<std::int64_t>("calCount", 0));
        }
        if (!Get("isSetMask", true)) {
            return sim::VectorMask::Register();
        }
        if (!Has("mask")) {
            throw py::value_error("give calCount, mask or isSetMask=False");
        }
        ++used_;
        const py::object mask = given_["mask"];
        if (py::isinstance<py::int_>(mask)) {
            return sim::VectorMask::Lanes(py::cast<std::uint64_t>(mask));
        }
        const auto words = py::cast<std::vector<std::uint64_t>>(mask);
        return sim::VectorMask::Bits(words.at(0), words.at(1));
    }
    // The scalar operand's bits, as the test computed them from its own type.
    std::uint64_t ScalarBits(const char* name) { return Get<std::uint64_t>(name, 0); }

private:
    const py::dict& given_;
    std::size_t used_ = 0;
};

void RequireOperands(const Operands& operands, std::size_t count) {
    if (operands.size() != count) {
        throw py::value_error("wrong number of operands");
    }
}

std::int64_t ElementBits(sim::DType dtype) {
    switch (dtype) {
        case sim::DType::kInt4:
            return 4;
        case sim::DType::kInt8:
        case sim::DType::kUint8:
            return 8;
        case sim::DType::kFloat16:
        case sim::DType::kBfloat16:
        case sim::DType::kInt16:
        case sim::DType::kUint16:
            return 16;
        case sim::DType::kInt64:
        case sim::DType::kUint64:
            return 64;
        default:
            return 32;
    }
}

// What every call shares. Without explicit strides the operands are packed: blocks and repeats back to back, where a
// repeat has as many elements as 256 bytes of the widest operand.
sim::VectorCall Head(const char* name, const Operands& operands, std::size_t sources, VectorParams& params,
                     const sim::Site& site) {
    sim::VectorCall call;
    call.head = sim::Call{name, sim::Pipe::kVector, site};
    call.repeat = params.Get<std::int64_t>("repeatTimes", 1);
    call.dst = operands.at(0);
    std::int64_t widest = ElementBits(call.dst.dtype);
    if (sources >= 1) {
        call.src0 = operands.at(1);
        widest = std::max(widest, ElementBits(call.src0.dtype));
    }
    if (sources >= 2) {
        call.src1 = operands.at(2);
    }
    const auto packed = [&](const sim::Operand& operand) { return 8 * ElementBits(operand.dtype) / widest; };
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

void RegisterBinary(const char* name, sim::BinaryOp op) {
    RegisterExecutor(name, [name, op](const Operands& operands, const py::dict& dict, const sim::Site& site) {
        RequireOperands(operands, 3);
        VectorParams params(dict);
        sim::VectorCall call = Head(name, operands, 2, params, site);
        call.mask = params.Mask();
        params.Done();
        sim::VectorBinary(call, op);
    });
}

void RegisterUnary(const char* name, sim::UnaryOp op) {
    RegisterExecutor(name, [name, op](const Operands& operands, const py::dict& dict, const sim::Site& site) {
        RequireOperands(operands, 2);
        VectorParams params(dict);
        sim::VectorCall call = Head(name, operands, 1, params, site);
        call.mask = params.Mask();
        params.Done();
        sim::VectorUnary(call, op);
    });
}

void RegisterScalar(const char* name, sim::ScalarOp op) {
    RegisterExecutor(name, [name, op](const Operands& operands, const py::dict& dict, const sim::Site& site) {
        RequireOperands(operands, 2);
        VectorParams params(dict);
        sim::VectorCall call = Head(name, operands, 1, params, site);
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
        sim::VectorCall call = Head(name, operands, 1, params, site);
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
        sim::VectorCall call = Head(name, operands, 1, params, site);
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
        sim::VectorCall call = Head("Duplicate", operands, 0, params, site);
        call.mask = params.Mask();
        call.scalar = params.ScalarBits("scalarValue");
        params.Done();
        sim::VectorDuplicate(call);
    });
    RegisterExecutor("CreateVecIndex", [](const Operands& operands, const py::dict& dict, const sim::Site& site) {
        RequireOperands(operands, 1);
        VectorParams params(dict);
        sim::VectorCall call = Head("CreateVecIndex", operands, 0, params, site);
        call.mask = params.Mask();
        call.scalar = params.ScalarBits("firstValue");
        params.Done();
        sim::VectorCreateIndex(call);
    });
    RegisterExecutor("Copy", [](const Operands& operands, const py::dict& dict, const sim::Site& site) {
        RequireOperands(operands, 2);
        VectorParams params(dict);
        sim::VectorCall call = Head("Copy", operands, 1, params, site);
        call.mask = params.Mask();
        params.Done();
        sim::VectorCopy(call);
    });
    RegisterExecutor("Brcb", [](const Operands& operands, const py::dict& dict, const sim::Site& site) {
        RequireOperands(operands, 2);
        VectorParams params(dict);
        sim::VectorCall call = Head("Brcb", operands, 1, params, site);
        params.Done();
        sim::VectorBrcb(call);
    });
    RegisterExecutor("Cast", [](const Operands& operands, const py::dict& dict, const sim::Site& site) {
        RequireOperands(operands, 2);
        VectorParams params(dict);
        sim::VectorCall call = Head("Cast", operands, 1, params, site);
        call.mask = params.Mask();
        const auto mode = static_cast<std::uint8_t>(params.Get("round_mode", 0));
        params.Done();
        sim::VectorCast(call, mode);
    });
    RegisterExecutor("Transpose", [](const Operands& operands, const py::dict& dict, const sim::Site& site) {
        RequireOperands(operands, 2);
        VectorParams params(dict);
        const sim::VectorCall call = Head("Transpose", operands, 1, params, site);
        params.Done();
        sim::VectorTranspose(call);
    });
}

void RegisterCompares() {
    RegisterExecutor("Compare", [](const Operands& operands, const py::dict& dict, const sim::Site& site) {
        RequireOperands(operands, 3);
        VectorParams params(dict);
        sim::VectorCall call = Head("Compare", operands, 2, params, site);
        call.mask = params.Mask();
        const auto mode = static_cast<std::uint8_t>(params.Get("cmpMode", 0));
        params.Done();
        sim::VectorCompare(call, mode);
    });
    RegisterExecutor("CompareScalar", [](const Operands& operands, const py::dict& dict, const sim::Site& site) {
        RequireOperands(operands, 2);
        VectorParams params(dict);
        sim::VectorCall call = Head("CompareScalar", operands, 1, params, site);
        call.mask = params.Mask();
        call.scalar = params.ScalarBits("scalarValue");
        const auto mode = static_cast<std::uint8_t>(params.Get("cmpMode", 0));
        params.Done();
        sim::VectorCompareScalar(call, mode);
    });
    // Compare without destination, then GetCmpMask into operand 0.
    RegisterExecutor("CompareToRegister", [](const Operands& operands, const py::dict& dict, const sim::Site& site) {
        RequireOperands(operands, 3);
        VectorParams params(dict);
        sim::VectorCall call = Head("Compare", operands, 2, params, site);
        call.mask = params.Mask();
        const auto mode = static_cast<std::uint8_t>(params.Get("cmpMode", 0));
        params.Done();
        sim::VectorCompareToRegister(call, mode);
        sim::VectorGetCompareMask(sim::Call{"GetCmpMask", sim::Pipe::kVector, site}, operands[0]);
    });
}

// Operands: dst, src0[, src1], selMask. selMode -1 and -2 are the forms that use the compare mask register, which is
// first loaded from selMask: without scalar, and with the scalar in the register.
void ExecuteSelect(const Operands& operands, const py::dict& dict, const sim::Site& site) {
    VectorParams params(dict);
    const int mode = params.Get("selMode", 0);
    const bool scalar = mode == 1 || mode == -2;
    RequireOperands(operands, scalar ? (mode == -2 ? 4 : 3) : 4);
    sim::VectorCall call = Head("Select", operands, scalar ? 1 : 2, params, site);
    call.mask = params.Mask();
    call.scalar = params.ScalarBits("scalarValue");
    params.Done();
    if (mode < 0) {
        sim::VectorSetCompareMask(sim::Call{"SetCmpMask", sim::Pipe::kVector, site}, operands[3]);
    }
    const sim::SelectSource source = mode == 0    ? sim::SelectSource::kSameBits
                                     : mode == 1  ? sim::SelectSource::kScalar
                                     : mode == 2  ? sim::SelectSource::kTensor
                                     : mode == -1 ? sim::SelectSource::kRegister
                                                  : sim::SelectSource::kRegisterScalar;
    sim::VectorSelect(call, operands[scalar ? 2 : 3], source);
}

void RegisterGathers() {
    RegisterExecutor("Gather", [](const Operands& operands, const py::dict& dict, const sim::Site& site) {
        RequireOperands(operands, 3);
        VectorParams params(dict);
        sim::VectorCall call;
        call.head = sim::Call{"Gather", sim::Pipe::kVector, site};
        call.repeat = params.Get<std::int64_t>("repeatTimes", 1);
        call.dst = operands[0];
        call.src0 = operands[1];
        call.src1 = operands[2];
        call.dst_stride.repeat = params.Get<std::int64_t>("dstRepStride", 8);
        call.mask = params.Mask();
        const auto base = params.Get<std::uint32_t>("srcBaseAddr", 0);
        params.Done();
        sim::VectorGather(call, base);
    });
    RegisterExecutor("Gatherb", [](const Operands& operands, const py::dict& dict, const sim::Site& site) {
        RequireOperands(operands, 3);
        VectorParams params(dict);
        sim::VectorCall call;
        call.head = sim::Call{"Gatherb", sim::Pipe::kVector, site};
        call.repeat = params.Get<std::int64_t>("repeatTimes", 1);
        call.dst = operands[0];
        call.src0 = operands[1];
        call.src1 = operands[2];
        call.dst_stride = {params.Get<std::int64_t>("dstBlkStride", 1), params.Get<std::int64_t>("dstRepStride", 8)};
        params.Done();
        sim::VectorGatherBlocks(call);
    });
    // Operands: dst, src0[, src1Pattern]. Writes rsvdCnt back into the parameters.
    RegisterExecutor("GatherMask", [](const Operands& operands, const py::dict& dict, const sim::Site& site) {
        VectorParams params(dict);
        sim::GatherMaskCall call;
        call.head = sim::Call{"GatherMask", sim::Pipe::kVector, site};
        call.dst = operands.at(0);
        call.src0 = operands.at(1);
        if (operands.size() > 2) {
            call.src1 = operands[2];
        } else {
            const auto pattern = params.Get<std::uint8_t>("src1Pattern", 0);
            call.pattern = pattern == 0 ? UINT8_MAX : pattern;
        }
        call.counter = params.Get("reduceMode", false);
        call.mask = params.Get<std::uint32_t>("mask", 0);
        call.repeat = params.Get<std::uint16_t>("repeatTimes", 1);
        call.src0_block_stride = params.Get<std::uint8_t>("src0BlockStride", 1);
        call.src0_repeat_stride = params.Get<std::uint16_t>("src0RepeatStride", 8);
        call.src1_repeat_stride = params.Get<std::uint8_t>("src1RepeatStride", 8);
        params.Done();
        params.Set("rsvdCnt", sim::VectorGatherMask(call));
    });
}

// The calls that set state; the test reads it from the report.
void RegisterState() {
    const auto scalar_call = [](const char* name, const sim::Site& site) {
        return sim::Call{name, sim::Pipe::kScalar, site};
    };
    RegisterExecutor("SetMaskNorm", [=](const Operands&, const py::dict&, const sim::Site& site) {
        sim::SetMaskMode(scalar_call("SetMaskNorm", site), false);
    });
    RegisterExecutor("SetMaskCount", [=](const Operands&, const py::dict&, const sim::Site& site) {
        sim::SetMaskMode(scalar_call("SetMaskCount", site), true);
    });
    RegisterExecutor("ResetMask", [=](const Operands&, const py::dict&, const sim::Site& site) {
        sim::ResetMaskBits(scalar_call("ResetMask", site));
    });
    RegisterExecutor("SetVectorMask", [=](const Operands&, const py::dict& dict, const sim::Site& site) {
        VectorParams params(dict);
        if (params.Has("len")) {
            const auto len = params.Get<std::int64_t>("len", 0);
            const auto bytes = params.Get<std::uint32_t>("elementBytes", 2);
            const bool counter = params.Get("counter", false);
            params.Done();
            sim::SetMaskLanes(scalar_call("SetVectorMask", site), len, bytes, counter);
            return;
        }
        const auto low = params.Get<std::uint64_t>("maskLow", 0);
        const auto high = params.Get<std::uint64_t>("maskHigh", 0);
        params.Done();
        sim::SetMaskBits(scalar_call("SetVectorMask", site), low, high);
    });
    RegisterExecutor("SetDeqScale", [=](const Operands&, const py::dict& dict, const sim::Site& site) {
        VectorParams params(dict);
        const auto scale = params.Get<float>("scale", 1.0F);
        params.Done();
        sim::SetDequantisationScale(scalar_call("SetDeqScale", site), scale);
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
    RegisterCompares();
    RegisterExecutor("Select", ExecuteSelect);
    RegisterGathers();
    RegisterState();
}

}  // namespace ascend_attention::python
