// SPDX-License-Identifier: Apache-2.0
// Executors of the vector instructions that compare, select or gather, and of those that set vector state.
#include <pybind11/pybind11.h>

#include <cstdint>

#include "execute.h"
#include "execute_vector.h"

namespace py = pybind11;

namespace ascend_attention::python {

namespace {

void RegisterCompares() {
    RegisterExecutor("Compare", [](const Operands& operands, const py::dict& dict, const sim::Site& site) {
        RequireOperands(operands, 3);
        VectorParams params(dict);
        sim::VectorCall call = VectorHead("Compare", operands, 2, params, site);
        call.mask = params.Mask();
        const auto mode = static_cast<std::uint8_t>(params.Get("cmpMode", 0));
        params.Done();
        sim::VectorCompare(call, mode);
    });
    RegisterExecutor("CompareScalar", [](const Operands& operands, const py::dict& dict, const sim::Site& site) {
        RequireOperands(operands, 2);
        VectorParams params(dict);
        sim::VectorCall call = VectorHead("CompareScalar", operands, 1, params, site);
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
        sim::VectorCall call = VectorHead("Compare", operands, 2, params, site);
        call.mask = params.Mask();
        const auto mode = static_cast<std::uint8_t>(params.Get("cmpMode", 0));
        params.Done();
        sim::VectorCompareToRegister(call, mode);
        sim::VectorGetCompareMask(sim::Call{"GetCmpMask", sim::Pipe::kVector, site}, operands[0]);
    });
    // SetCmpMask from operand 1, then GetCmpMask into operand 0.
    RegisterExecutor("CmpMask", [](const Operands& operands, const py::dict&, const sim::Site& site) {
        RequireOperands(operands, 2);
        sim::VectorSetCompareMask(sim::Call{"SetCmpMask", sim::Pipe::kVector, site}, operands[1]);
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
    sim::VectorCall call = VectorHead("Select", operands, scalar ? 1 : 2, params, site);
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

void RegisterVectorSelections() {
    RegisterCompares();
    RegisterExecutor("Select", ExecuteSelect);
    RegisterGathers();
    RegisterState();
}

}  // namespace ascend_attention::python
