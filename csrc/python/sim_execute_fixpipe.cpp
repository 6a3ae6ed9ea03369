// SPDX-License-Identifier: Apache-2.0
// Executors of Fixpipe and of the registers it shares with DataCopy out of L0C.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <string>

#include "execute.h"
#include "execute_cube.h"
#include "execute_params.h"
#include "machine/cube_calls.h"

namespace py = pybind11;

namespace ascend_attention::python {

namespace {

sim::Quant QuantFromName(const std::string& name) {
    if (name == "NoQuant") return sim::Quant::kNone;
    if (name == "F322F16") return sim::Quant::kFloatToHalf;
    if (name == "F322BF16") return sim::Quant::kFloatToBfloat16;
    if (name == "DEQF16") return sim::Quant::kIntToHalf;
    if (name == "VDEQF16") return sim::Quant::kIntToHalfVector;
    if (name == "QF322B8_PRE") return sim::Quant::kFloatToByte;
    if (name == "VQF322B8_PRE") return sim::Quant::kFloatToByteVector;
    if (name == "REQ8") return sim::Quant::kIntToByte;
    if (name == "VREQ8") return sim::Quant::kIntToByteVector;
    throw py::value_error("unknown quantPre '" + name + "'");
}

void FixpipeCommon(sim::FixpipeCall& call, Params& params) {
    call.n_size = params.U32("nSize");
    call.m_size = params.U32("mSize");
    call.source_stride = params.U32("srcStride");
    call.target_stride = params.U32("dstStride");
    call.quant = QuantFromName(params.Get<std::string>("quantPre", "NoQuant"));
    call.unit_flag = params.U32("unitFlag");
}

}  // namespace

void DataCopyFromL0C(const Operands& operands, Params& params, const sim::Site& site) {
    RequireOperands(operands, 2, 3);
    auto call = Copy<sim::FixpipeCall>({operands[0], operands[1]}, site);
    call.from_state = true;
    FixpipeCommon(call, params);
    call.row_major = params.Get("nz2ndEn", false);
    call.relu = params.U32("reluPre") != 0;
    call.channel_split = params.Get("channelSplit", false);
    params.Done();
    sim::Execute(call);
}

namespace {

void Fixpipe(const Operands& operands, const py::dict& given, const sim::Site& site) {
    RequireOperands(operands, 2, 3);
    Params params(given);
    sim::FixpipeCall call;
    call.site = site;
    call.target = operands[0];
    call.source = operands[1];
    call.has_scales = operands.size() == 3;
    if (call.has_scales) {
        call.scales = operands[2];
    }
    FixpipeCommon(call, params);
    call.row_major = params.Get<std::string>("config", "ROW_MAJOR") == "ROW_MAJOR";
    call.scale = params.Get<std::uint64_t>("deqScalar", 0);
    call.nd_count = params.U32("ndNum", 1);
    call.source_nd_stride = params.U32("srcNdStride");
    call.target_nd_stride = params.U32("dstNdStride");
    call.relu = params.Get("reluEn", false);
    call.channel_split = params.Get("isChannelSplit", false);
    params.Done();
    sim::Execute(call);
}

// Mmad, then Fixpipe, with the unit flags given as lists: the order of a hand-over. Operands: dst, c, a, b.
void MmadFixpipe(const Operands& operands, const py::dict& given, const sim::Site& site) {
    RequireOperands(operands, 4);
    const auto steps = py::cast<py::list>(given["steps"]);
    for (const py::handle& item : steps) {
        const auto step = py::cast<py::tuple>(item);
        const auto name = py::cast<std::string>(step[0]);
        const auto params = py::cast<py::dict>(step[1]);
        if (name == "Mmad") {
            ExecuteMmad({operands[1], operands[2], operands[3]}, params, site);
        } else if (name == "Fixpipe") {
            Fixpipe({operands[0], operands[1]}, params, site);
        } else {
            sim::SetFixpipeTensors(operands[1], false, true, site);
        }
    }
}

void SetFixpipeNz2ndFlag(const Operands&, const py::dict& given, const sim::Site& site) {
    Params params(given);
    const std::uint32_t nd_count = params.U32("ndNum");
    const std::uint32_t source_stride = params.U32("srcNdStride");
    const std::uint32_t target_stride = params.U32("dstNdStride");
    params.Done();
    sim::SetFixpipeNzToNd(nd_count, source_stride, target_stride, site);
}

void SetFixpipePreQuantFlag(const Operands&, const py::dict& given, const sim::Site& site) {
    Params params(given);
    const auto config = params.Get<std::uint64_t>("config", 0);
    params.Done();
    sim::SetFixpipeQuantScalar(config, site);
}

// Operands: the tensor of scales.
void SetFixPipeConfig(const Operands& operands, const py::dict& given, const sim::Site& site) {
    RequireOperands(operands, 1);
    Params params(given);
    const bool for_relu = params.Get("setRelu", false);
    const bool clears_units = params.Get("isUnitFlag", false);
    params.Done();
    sim::SetFixpipeTensors(operands[0], for_relu, clears_units, site);
}

}  // namespace

void RegisterFixpipeExecutors() {
    RegisterExecutor("Fixpipe", Fixpipe);
    RegisterExecutor("MmadFixpipe", MmadFixpipe);
    RegisterExecutor("SetFixpipeNz2ndFlag", SetFixpipeNz2ndFlag);
    RegisterExecutor("SetFixpipePreQuantFlag", SetFixpipePreQuantFlag);
    RegisterExecutor("SetFixPipeConfig", SetFixPipeConfig);
}

}  // namespace ascend_attention::python
