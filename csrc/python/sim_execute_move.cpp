// SPDX-License-Identifier: Apache-2.0
// Executors of the data movement and cube instructions. Parameters have the names of the Ascend C structs; operands
// come destination first.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <string>
#include <vector>

#include "cube/mmad_kernel.h"
#include "execute.h"
#include "execute_params.h"
#include "machine/cube_calls.h"
#include "machine/move_calls.h"

namespace py = pybind11;

namespace ascend_attention::python {

namespace {

template <typename CallType>
CallType Copy(const Operands& operands, const sim::Site& site) {
    RequireOperands(operands, 2);
    CallType call;
    call.site = site;
    call.target = operands[0];
    call.source = operands[1];
    return call;
}

void CopyNdToNz(const Operands& operands, Params& params, const sim::Site& site) {
    auto call = Copy<sim::CopyNdToNzCall>(operands, site);
    call.element_bytes = ElementBytes(call.target.dtype);
    call.nd_count = params.U32("ndNum");
    call.rows = params.U32("nValue");
    call.columns = params.U32("dValue");
    call.source_matrix_stride = params.U32("srcNdMatrixStride");
    call.source_row_stride = params.U32("srcDValue");
    call.target_c0_stride = params.U32("dstNzC0Stride");
    call.target_row_stride = params.U32("dstNzNStride");
    call.target_matrix_stride = params.U32("dstNzMatrixStride");
    params.Done();
    sim::Execute(call);
}

sim::Quant QuantFromName(const std::string& name) {
    if (name == "NoQuant") return sim::Quant::kNone;
    if (name == "F322F16") return sim::Quant::kFloatToHalf;
    if (name == "F322BF16") return sim::Quant::kFloatToBfloat16;
    if (name == "DEQF16") return sim::Quant::kIntToHalf;
    if (name == "VDEQF16") return sim::Quant::kIntToHalfVector;
    if (name == "QF322B8_PRE") return sim::Quant::kFloatToByte;
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

// DataCopy with DataCopyCO12DstParams. A third operand only fills the Fixpipe buffer.
void CopyFromL0C(const Operands& operands, Params& params, const sim::Site& site) {
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

void DataCopy(const Operands& operands, const py::dict& given, const sim::Site& site) {
    Params params(given);
    if (params.Has("ndNum")) {
        CopyNdToNz(operands, params, site);
    } else if (params.Has("nSize")) {
        CopyFromL0C(operands, params, site);
    } else if (params.Has("count")) {
        auto call = Copy<sim::CopyCountCall>(operands, site);
        call.element_bytes = ElementBytes(call.target.dtype);
        call.count = params.U32("count");
        params.Done();
        sim::Execute(call);
    } else {
        auto call = Copy<sim::CopyBlocksCall>(operands, site);
        call.element_bytes = ElementBytes(call.target.dtype);
        call.block_count = params.U32("blockCount", 1);
        call.block_len = params.U32("blockLen");
        call.source_gap = params.U32("srcStride");
        call.target_gap = params.U32("dstStride");
        params.Done();
        sim::Execute(call);
    }
}

void DataCopyPad(const Operands& operands, const py::dict& given, const sim::Site& site) {
    Params params(given);
    auto call = Copy<sim::CopyPadCall>(operands, site);
    call.element_bytes = ElementBytes(call.target.dtype);
    call.block_count = params.U32("blockCount", 1);
    call.block_bytes = params.U32("blockLen");
    call.source_gap = params.U32("srcStride");
    call.target_gap = params.U32("dstStride");
    call.pad = params.Get("isPad", false);
    call.left_elements = params.U32("leftPadding");
    call.right_elements = params.U32("rightPadding");
    call.pad_value = params.Get<std::uint64_t>("paddingValue", 0);
    if (params.Has("SetPadValue")) {
        sim::SetPaddingValue(params.Get<std::uint64_t>("SetPadValue", 0), site);
    }
    params.Done();
    sim::Execute(call);
}

void InitConstValue(const Operands& operands, const py::dict& given, const sim::Site& site) {
    RequireOperands(operands, 1);
    Params params(given);
    sim::InitConstCall call;
    call.site = site;
    call.target = operands[0];
    call.element_bytes = ElementBytes(call.target.dtype);
    call.repeat_times = params.U32("repeatTimes");
    call.block_count = params.U32("blockNum");
    call.target_gap = params.U32("dstGap");
    call.value = params.Get<std::uint64_t>("initValue", 0);
    params.Done();
    sim::Execute(call);
}

void InitOutput(const Operands& operands, const py::dict& given, const sim::Site& site) {
    RequireOperands(operands, 1);
    Params params(given);
    sim::InitOutputCall call;
    call.site = site;
    call.target = operands[0];
    call.element_bytes = ElementBytes(call.target.dtype);
    call.count = params.Get<std::uint64_t>("size", 0);
    call.value = params.Get<std::uint64_t>("value", 0);
    params.Done();
    sim::Execute(call);
}

// The atomic mode and the store it applies to, in one test call.
void AtomicCopy(const char* name, sim::AtomicRequest request, const Operands& operands, const py::dict& given,
                const sim::Site& site) {
    RequireOperands(operands, 2);
    sim::SetAtomic(name, request, operands[1].dtype, site);
    DataCopyPad(operands, given, site);
    sim::SetAtomic("SetAtomicNone", sim::AtomicRequest::kNone, sim::DType::kOther, site);
}

void LoadData(const Operands& operands, const py::dict& given, const sim::Site& site) {
    Params params(given);
    auto call = Copy<sim::Load2dCall>(operands, site);
    call.start_index = params.U32("startIndex");
    call.repeat_times = params.U32("repeatTimes");
    call.source_stride = params.U32("srcStride");
    call.target_gap = params.U32("dstGap");
    call.transpose = params.Get("ifTranspose", false);
    call.address_mode = params.U32("addrMode");
    params.Done();
    sim::Execute(call);
}

void Load3d(const Operands& operands, const py::dict& given, const sim::Site& site) {
    Params params(given);
    auto call = Copy<sim::Load3dCall>(operands, site);
    const auto pad = params.Get<std::vector<std::uint8_t>>("padList", {0, 0, 0, 0});
    for (std::size_t i = 0; i < 4; ++i) {
        call.pad[i] = pad.at(i);
    }
    call.l1_height = params.U32("l1H");
    call.l1_width = params.U32("l1W");
    call.channels = params.U32("channelSize");
    call.k_extension = params.U32("kExtension");
    call.m_extension = params.U32("mExtension");
    call.k_start = params.U32("kStartPt");
    call.m_start = params.U32("mStartPt");
    call.stride_w = params.U32("strideW", 1);
    call.stride_h = params.U32("strideH", 1);
    call.filter_w = params.U32("filterW", 1);
    call.filter_h = params.U32("filterH", 1);
    call.dilation_w = params.U32("dilationFilterW", 1);
    call.dilation_h = params.U32("dilationFilterH", 1);
    call.transpose = params.Get("enTranspose", false);
    call.small_k = params.Get("enSmallK", false);
    call.pad_value = params.Get<std::uint64_t>("padValue", 0);
    call.sets_fmatrix = params.Get("isSetFMatrix", true);
    call.sets_pad_value = params.Get("isSetPadding", true);
    if (params.Get("SetFmatrix", false)) {
        sim::SetFeatureMatrix(false, call.l1_height, call.l1_width, call.pad, site);
        sim::SetLoadPaddingValue(call.pad_value, site);
    }
    params.Done();
    sim::Execute(call);
}

void LoadDataWithTranspose(const Operands& operands, const py::dict& given, const sim::Site& site) {
    Params params(given);
    auto call = Copy<sim::LoadTransposeCall>(operands, site);
    call.start_index = params.U32("startIndex");
    call.repeat_times = params.U32("repeatTimes");
    call.source_stride = params.U32("srcStride");
    call.target_gap = params.U32("dstGap");
    call.target_fractal_gap = params.U32("dstFracGap");
    call.source_fractal_gap = params.U32("srcFracGap");
    call.address_mode = params.U32("addrMode");
    params.Done();
    sim::Execute(call);
}

// Operands: dst, fm, filter[, bias]. `version` chooses the compiled version of the arithmetic.
void Mmad(const Operands& operands, const py::dict& given, const sim::Site& site) {
    RequireOperands(operands, 3, 4);
    Params params(given);
    sim::MmadCall call;
    call.site = site;
    call.target = operands[0];
    call.left = operands[1];
    call.right = operands[2];
    // `unnamedBias`: the fourth operand only fills the bias table for cmatrixSource.
    call.has_bias = operands.size() == 4 && !params.Get("unnamedBias", false);
    if (call.has_bias) {
        call.bias = operands[3];
    }
    call.m = params.U32("m");
    call.n = params.U32("n");
    call.k = params.U32("k");
    call.unit_flag = params.U32("unitFlag");
    call.k_direction_align = params.Get("kDirectionAlign", false);
    call.c_from_bias_table = params.Get("cmatrixSource", false);
    call.c_init_zero = params.Get("cmatrixInitVal", true) && !params.Get("isBias", false);
    const int version = params.Get("version", -1);
    params.Done();
    sim::ForceKernelVersion(version);
    sim::Execute(call);
    sim::ForceKernelVersion(-1);
}

// Appends the names of the compiled versions, best first, to the list `names`.
void MmadVersions(const Operands&, const py::dict& given, const sim::Site&) {
    auto names = py::cast<py::list>(given["names"]);
    for (int version = 0; version < sim::KernelVersions(); ++version) {
        names.append(sim::KernelVersionName(version));
    }
}

// Operands: dst, src[, cbufWorkspace]. `config` is "NZ" or "ROW_MAJOR".
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
            Mmad({operands[1], operands[2], operands[3]}, params, site);
        } else if (name == "Fixpipe") {
            Fixpipe({operands[0], operands[1]}, params, site);
        } else {
            sim::SetFixpipeTensors(operands[1], true, site);
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
    const bool clears_units = params.Get("isUnitFlag", false);
    params.Done();
    sim::SetFixpipeTensors(operands[0], clears_units, site);
}

void SetFmatrix(const Operands&, const py::dict& given, const sim::Site& site) {
    Params params(given);
    const std::uint8_t pad[4] = {};
    const std::uint32_t height = params.U32("l1H");
    const std::uint32_t width = params.U32("l1W");
    params.Done();
    sim::SetFeatureMatrix(false, height, width, pad, site);
}

void SetLoadDataBoundary(const Operands&, const py::dict& given, const sim::Site& site) {
    Params params(given);
    const std::uint32_t boundary = params.U32("boundaryValue");
    params.Done();
    sim::SetLoadBoundary(boundary, site);
}

void SetLoadDataRepeat(const Operands&, const py::dict& given, const sim::Site& site) {
    Params params(given);
    const std::uint32_t repeat_times = params.U32("repeatTime", 1);
    params.Done();
    sim::SetLoadRepeat(repeat_times, site);
}

}  // namespace

void RegisterMoveExecutors() {
    RegisterExecutor("DataCopy", DataCopy);
    RegisterExecutor("DataCopyPad", DataCopyPad);
    RegisterExecutor("InitConstValue", InitConstValue);
    RegisterExecutor("InitOutput", InitOutput);
    const auto atomic = [](const char* name, sim::AtomicRequest request) {
        RegisterExecutor(name, [name, request](const Operands& operands, const py::dict& given, const sim::Site& site) {
            AtomicCopy(name, request, operands, given, site);
        });
    };
    atomic("SetAtomicAdd", sim::AtomicRequest::kAdd);
    atomic("SetAtomicMax", sim::AtomicRequest::kMax);
    atomic("SetAtomicMin", sim::AtomicRequest::kMin);
    RegisterExecutor("LoadData", LoadData);
    RegisterExecutor("LoadData3D", Load3d);
    RegisterExecutor("LoadDataWithTranspose", LoadDataWithTranspose);
    RegisterExecutor("Mmad", Mmad);
    RegisterExecutor("MmadVersions", MmadVersions);
    RegisterExecutor("Fixpipe", Fixpipe);
    RegisterExecutor("MmadFixpipe", MmadFixpipe);
    RegisterExecutor("SetLoadDataBoundary", SetLoadDataBoundary);
    RegisterExecutor("SetLoadDataRepeat", SetLoadDataRepeat);
    RegisterExecutor("SetFixpipeNz2ndFlag", SetFixpipeNz2ndFlag);
    RegisterExecutor("SetFixpipePreQuantFlag", SetFixpipePreQuantFlag);
    RegisterExecutor("SetFixPipeConfig", SetFixPipeConfig);
    RegisterExecutor("SetFmatrix", SetFmatrix);
}

}  // namespace ascend_attention::python
