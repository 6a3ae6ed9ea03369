// SPDX-License-Identifier: Apache-2.0
// Executors of the loads into L0A and L0B and of Mmad. Parameters have the names of the Ascend C structs; operands come
// destination first.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <string>
#include <vector>

#include "cube/mmad_kernel.h"
#include "execute.h"
#include "execute_cube.h"
#include "execute_params.h"
#include "machine/core_calls.h"
#include "machine/cube_calls.h"

namespace py = pybind11;

namespace ascend_attention::python {

namespace {

// For one call, also one that is refused: the choice is the whole process's.
class ForcedVersion {
public:
    explicit ForcedVersion(int version) { sim::ForceKernelVersion(version); }
    ForcedVersion(const ForcedVersion&) = delete;
    ForcedVersion& operator=(const ForcedVersion&) = delete;
    ~ForcedVersion() { sim::ForceKernelVersion(-1); }
};

}  // namespace

// `version` chooses the compiled version of the arithmetic.
void ExecuteMmad(const Operands& operands, const py::dict& given, const sim::Site& site) {
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
    if (params.Has("hf32")) {
        const auto hf32 = params.Get<std::string>("hf32", "");
        sim::SetHf32(true, site);
        sim::SetHf32TiesToZero(hf32 == "NEAREST_ZERO", site);
    }
    params.Done();
    if (version >= sim::KernelVersions()) {
        throw py::index_error("there is no such compiled version");
    }
    const ForcedVersion forced(version);
    sim::Execute(call);
}

namespace {

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

// A third operand only fills L1: what a boundary makes the call read.
void Load3d(const Operands& operands, const py::dict& given, const sim::Site& site) {
    Params params(given);
    RequireOperands(operands, 2, 3);
    auto call = Copy<sim::Load3dCall>({operands[0], operands[1]}, site);
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
    if (params.Has("repeatTime")) {
        const std::uint32_t stride = params.U32("repeatStride");
        const std::uint32_t times = params.U32("repeatTime", 1);
        sim::SetLoadRepeat(stride, times, params.U32("repeatMode"), site);
    }
    sim::SetLoadBoundary(params.U32("boundaryValue"), site);
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
    call.address_mode = params.U32("addrMode");
    params.Done();
    sim::Execute(call);
}

// Operands: dst, src, idx.
void LoadDataWithSparse(const Operands& operands, const py::dict& given, const sim::Site& site) {
    RequireOperands(operands, 3);
    Params params(given);
    auto call = Copy<sim::LoadSparseCall>({operands[0], operands[1]}, site);
    call.indices = operands[2];
    call.start_index = params.U32("startIndex");
    call.repeat_times = params.U32("repeatTimes");
    params.Done();
    sim::Execute(call);
}

// LoadDataWithSparse and MmadWithSparse. Operands: dst, fm, filter (in L1), idx (in L1), filter in L0B.
void MmadWithSparse(const Operands& operands, const py::dict& given, const sim::Site& site) {
    RequireOperands(operands, 5);
    Params params(given);
    py::dict load;
    load["repeatTimes"] = params.U32("repeatTimes");
    if (py::cast<std::uint32_t>(load["repeatTimes"]) != 0) {
        LoadDataWithSparse({operands[4], operands[2], operands[3]}, load, site);
    }
    sim::Barrier(sim::Pipe::kAll, site);
    sim::MmadCall call;
    call.site = site;
    call.sparse = true;
    call.target = operands[0];
    call.left = operands[1];
    call.right = operands[4];
    call.m = params.U32("m");
    call.n = params.U32("n");
    call.k = params.U32("k");
    call.c_init_zero = params.Get("cmatrixInitVal", true);
    params.Done();
    sim::Execute(call);
}

// Appends the names of the compiled versions, best first, to the list `names`.
void MmadVersions(const Operands&, const py::dict& given, const sim::Site&) {
    auto names = py::cast<py::list>(given["names"]);
    for (int version = 0; version < sim::KernelVersions(); ++version) {
        names.append(sim::KernelVersionName(version));
    }
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
    const std::uint32_t stride = params.U32("repeatStride");
    const std::uint32_t times = params.U32("repeatTime", 1);
    const std::uint32_t mode = params.U32("repeatMode");
    params.Done();
    sim::SetLoadRepeat(stride, times, mode, site);
}

}  // namespace

void RegisterCubeExecutors() {
    RegisterExecutor("LoadData", LoadData);
    RegisterExecutor("LoadData3D", Load3d);
    RegisterExecutor("LoadDataWithTranspose", LoadDataWithTranspose);
    RegisterExecutor("Mmad", ExecuteMmad);
    RegisterExecutor("MmadVersions", MmadVersions);
    RegisterExecutor("SetLoadDataBoundary", SetLoadDataBoundary);
    RegisterExecutor("SetLoadDataRepeat", SetLoadDataRepeat);
    RegisterExecutor("SetFmatrix", SetFmatrix);
    RegisterExecutor("LoadDataWithSparse", LoadDataWithSparse);
    RegisterExecutor("MmadWithSparse", MmadWithSparse);
    RegisterFixpipeExecutors();
}

}  // namespace ascend_attention::python
