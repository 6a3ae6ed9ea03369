// SPDX-License-Identifier: Apache-2.0
// `_core.sim`: the machine for tests. `execute` runs one instruction on a core of its own.
#include "sim_bindings.h"

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "doors/call_settings.h"
#include "execute.h"
#include "interpreter_lock.h"
#include "run/bench.h"
#include "run/launch.h"
#include "run/soc.h"
#include "sim_report.h"

namespace py = pybind11;

namespace ascend_attention::python {

namespace {

using Bytes = py::array_t<std::uint8_t, py::array::c_style | py::array::forcecast>;

std::map<std::string, Executor>& Executors() {
    static auto* table = new std::map<std::string, Executor>;
    return *table;
}

sim::Space SpaceFromName(const std::string& name) {
    static const std::map<std::string, sim::Space> kNames = {{"gm", sim::Space::kGlobal}, {"ub", sim::Space::kUb},
                                                             {"l1", sim::Space::kL1},     {"l0a", sim::Space::kL0A},
                                                             {"l0b", sim::Space::kL0B},   {"l0c", sim::Space::kL0C},
                                                             {"bt", sim::Space::kBias},   {"fb", sim::Space::kFixpipe}};
    const auto found = kNames.find(name);
    if (found == kNames.end()) {
        throw py::value_error("unknown memory '" + name + "'");
    }
    return found->second;
}

sim::DType DTypeFromName(const std::string& name) {
    static const std::map<std::string, sim::DType> kNames = {
        {"float16", sim::DType::kFloat16}, {"bfloat16", sim::DType::kBfloat16}, {"float32", sim::DType::kFloat32},
        {"int4", sim::DType::kInt4},       {"int8", sim::DType::kInt8},         {"uint8", sim::DType::kUint8},
        {"int16", sim::DType::kInt16},     {"uint16", sim::DType::kUint16},     {"int32", sim::DType::kInt32},
        {"uint32", sim::DType::kUint32},   {"int64", sim::DType::kInt64},       {"uint64", sim::DType::kUint64},
        {"bytes", sim::DType::kOther}};
    const auto found = kNames.find(name);
    if (found == kNames.end()) {
        throw py::value_error("unknown dtype '" + name + "'");
    }
    return found->second;
}

// One operand as the test gave it: (space, dtype, data, address[, defined]). `data` is an array of any type (its bytes
// are placed) or an int (that many uninitialised bytes); `defined` marks single bytes as undefined by 0.
struct TestOperand {
    sim::Operand operand;
    std::uint64_t bytes = 0;
    bool initialised = true;
    std::vector<std::uint8_t> data;
    std::vector<std::uint8_t> defined;
    std::uint8_t* host = nullptr;                                           // of a global operand
    std::unique_ptr<void, decltype(&std::free)> heap{nullptr, &std::free};  // keeps host alive
};

std::vector<std::uint8_t> ToBytes(const py::handle& object) {
    const py::array array = py::array::ensure(object, py::array::c_style);
    if (!array) {
        throw py::type_error("operand data must be an array, bytes-like or an int");
    }
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(array.nbytes()));
    if (!bytes.empty()) {
        std::memcpy(bytes.data(), array.data(), bytes.size());
    }
    return bytes;
}

TestOperand ParseOperand(const py::handle& item) {
    const auto fields = py::cast<py::tuple>(item);
    if (fields.size() != 4 && fields.size() != 5) {
        throw py::value_error("an operand is (space, dtype, data, address[, defined])");
    }
    TestOperand result;
    result.operand.space = SpaceFromName(py::cast<std::string>(fields[0]));
    result.operand.dtype = DTypeFromName(py::cast<std::string>(fields[1]));
    if (py::isinstance<py::int_>(fields[2])) {
        result.initialised = false;
        result.bytes = py::cast<std::uint64_t>(fields[2]);
    } else {
        result.data = ToBytes(fields[2]);
        result.bytes = result.data.size();
    }
    const auto address = py::cast<std::uint64_t>(fields[3]);
    if (fields.size() == 5 && !fields[4].is_none()) {
        result.defined = ToBytes(fields[4]);
        if (result.defined.size() != result.bytes) {
            throw py::value_error("`defined` must have one byte per byte of data");
        }
    } else if (!result.initialised) {
        result.defined.assign(result.bytes, 0);
    }
    if (result.operand.space == sim::Space::kGlobal) {
        // `address` is the misalignment of the buffer against 512 bytes. The allocation ends where the buffer does, so
        // that AddressSanitizer sees a byte too many.
        constexpr std::uint64_t kAlignment = 512;
        if (address >= kAlignment) {
            throw py::value_error("the address of a global operand is its misalignment, below 512");
        }
        void* heap = nullptr;
        if (posix_memalign(&heap, kAlignment, address + result.bytes) != 0) {
            throw std::bad_alloc();
        }
        result.heap.reset(heap);
        result.host = static_cast<std::uint8_t*>(heap) + address;
        result.operand.address = reinterpret_cast<std::uint64_t>(result.host);
    } else {
        result.operand.address = address;
        result.operand.begin = address;
        result.operand.end = address + result.bytes;
    }
    return result;
}

std::vector<sim::GlobalBuffer> GlobalBuffers(const std::vector<TestOperand>& operands) {
    std::vector<sim::GlobalBuffer> buffers;
    for (std::size_t i = 0; i < operands.size(); ++i) {
        const TestOperand& operand = operands[i];
        if (operand.host != nullptr) {
            sim::GlobalBuffer buffer;
            buffer.data = operand.host;
            buffer.bytes = operand.bytes;
            buffer.writable = true;
            buffer.initialised = operand.defined.empty();
            buffer.name = "operand " + std::to_string(i);
            buffers.push_back(buffer);
        }
    }
    return buffers;
}

void Place(sim::Bench& bench, const TestOperand& operand) {
    const std::uint8_t* defined = operand.defined.empty() ? nullptr : operand.defined.data();
    const void* data = operand.initialised ? operand.data.data() : nullptr;
    if (operand.host == nullptr) {
        bench.Place(operand.operand.space, operand.operand.address, data, operand.bytes, defined);
        return;
    }
    if (data != nullptr && operand.bytes != 0) {
        std::memcpy(operand.host, data, operand.bytes);
    }
    bench.PlaceGlobalDefined(operand.operand.address, defined, operand.bytes);
}

py::tuple Execute(const std::string& name, const py::list& operand_list, const py::dict& params,
                  const std::string& core, const std::string& mode, const py::object& state) {
    const auto executor = Executors().find(name);
    if (executor == Executors().end()) {
        throw py::key_error("no instruction named '" + name + "'");
    }
    const sim::CoreType type = CoreTypeFromName(core);
    std::vector<TestOperand> operands;
    for (const py::handle item : operand_list) {
        operands.push_back(ParseOperand(item));
    }
    sim::Bench bench(type, ModeFromName(mode), GlobalBuffers(operands));
    for (const TestOperand& operand : operands) {
        Place(bench, operand);
    }
    if (!state.is_none()) {
        StateFromDict(py::cast<py::dict>(state), bench.core().state);
    }
    std::vector<sim::Operand> arguments;
    for (const TestOperand& operand : operands) {
        arguments.push_back(operand.operand);
    }
    const sim::Site site{"test", 1};
    const sim::RunReport report = bench.Run([&] { executor->second(arguments, params, site); });
    py::list outputs;
    py::list defined;
    for (const TestOperand& operand : operands) {
        const void* bytes = operand.host != nullptr
                                ? static_cast<const void*>(operand.host)
                                : bench.core().memory(operand.operand.space) + operand.operand.address;
        const auto count = static_cast<py::ssize_t>(operand.bytes);
        outputs.append(py::array_t<std::uint8_t>(count, static_cast<const std::uint8_t*>(bytes)));
        const std::vector<std::uint8_t> mask =
            bench.Defined(operand.operand.space, operand.operand.address, operand.bytes);
        defined.append(py::array_t<std::uint8_t>(count, mask.data()));
    }
    py::dict result = ReportToDict(report);
    result["defined"] = defined;
    result["state"] = StateToDict(bench.core().state);
    return py::make_tuple(outputs, result);
}

sim::KernelKind KindFromName(const std::string& name) {
    static const std::map<std::string, sim::KernelKind> kNames = {{"mix", sim::KernelKind::kMix},
                                                                  {"mix_1_1", sim::KernelKind::kMixOneToOne},
                                                                  {"cube", sim::KernelKind::kCubeOnly},
                                                                  {"vector", sim::KernelKind::kVectorOnly}};
    const auto found = kNames.find(name);
    if (found == kNames.end()) {
        throw py::value_error("kind is '" + name + "', allowed: mix, mix_1_1, cube, vector");
    }
    return found->second;
}

// Global memory from an array (an input) or a dict {data, name, writable, initialised, output}.
sim::GlobalBuffer ToBuffer(const py::handle& item, const std::string& name) {
    sim::GlobalBuffer buffer;
    py::object data = py::reinterpret_borrow<py::object>(item);
    buffer.name = name;
    if (py::isinstance<py::dict>(item)) {
        const auto fields = py::cast<py::dict>(item);
        const auto flag = [&fields](const char* key, bool otherwise) {
            return fields.contains(key) ? py::cast<bool>(fields[key]) : otherwise;
        };
        data = fields["data"];
        buffer.name = fields.contains("name") ? py::cast<std::string>(fields["name"]) : buffer.name;
        buffer.output = flag("output", false);
        buffer.writable = flag("writable", buffer.output);
        buffer.initialised = flag("initialised", !buffer.output);
    }
    if (!py::isinstance<py::array>(data)) {
        throw py::type_error("a kernel argument is an int, a NumPy array or a dict with 'data'");
    }
    const auto array = py::cast<py::array>(data);
    if ((array.flags() & py::array::c_style) == 0) {
        throw py::value_error("kernel argument '" + buffer.name + "' is not contiguous");
    }
    buffer.data = const_cast<void*>(array.data());
    buffer.bytes = static_cast<std::uint64_t>(array.nbytes());
    return buffer;
}

// One kernel argument: an int, or a buffer whose address is passed.
void AddArgument(const py::handle& item, sim::LaunchSpec& spec) {
    if (py::isinstance<py::int_>(item)) {
        const auto value = py::cast<py::int_>(item);
        spec.arguments.push_back(static_cast<std::uint64_t>(PyLong_AsUnsignedLongLongMask(value.ptr())));
        return;
    }
    spec.buffers.push_back(ToBuffer(item, "argument " + std::to_string(spec.arguments.size())));
    spec.arguments.push_back(reinterpret_cast<std::uint64_t>(spec.buffers.back().data));
}

// Runs the launch and appends its report, also that of a failure, to the log of a `with simulator` block.
sim::RunReport RunLogged(const sim::LaunchSpec& spec, launch::ReportLog* log) {
    try {
        sim::RunReport report = sim::Launch(spec);
        if (log != nullptr) {
            log->Append(report);
        }
        return report;
    } catch (const sim::SimulatorFailure& failure) {
        if (log != nullptr) {
            log->Append(failure.report());
        }
        throw;
    }
}

py::dict LaunchKernel(const std::string& cube_library, const std::string& vector_library, const std::string& kernel,
                      const std::string& kind, std::uint32_t blocks, const py::list& args, const std::string& soc,
                      const std::string& mode, int threads, std::uint64_t instruction_limit, const py::list& buffers,
                      const std::string& title, const doors::CallSettings* log, bool record_sync,
                      const py::list& ignored, bool auto_sync, double stall_seconds, bool echo,
                      const std::string& costs, std::uint64_t record_bytes) {
    sim::LaunchSpec spec;
    spec.costs = CostsFromName(costs);
    spec.record_bytes = record_bytes;
    spec.kernel = sim::LoadKernel(cube_library, vector_library, kernel, KindFromName(kind));
    if (!title.empty()) {
        spec.kernel.name = title;
    }
    spec.blocks = blocks;
    spec.soc = soc;
    spec.mode = ModeFromName(mode);
    spec.threads = threads;
    spec.instruction_limit = instruction_limit;
    spec.record_sync = record_sync;
    spec.ignored = SyncCallsFromList(ignored);
    spec.auto_sync = auto_sync;
    spec.stall_seconds = stall_seconds;
    spec.echo = echo;
    for (const py::handle item : args) {
        AddArgument(item, spec);
    }
    for (const py::handle item : buffers) {
        spec.buffers.push_back(ToBuffer(item, "buffer " + std::to_string(spec.buffers.size())));
    }
    std::shared_ptr<launch::ReportLog> reports;
    if (log != nullptr) {
        reports = log->run.log;
        spec.instruction_limit = spec.instruction_limit == 0 ? log->run.instruction_limit : spec.instruction_limit;
        spec.record_sync = spec.record_sync || log->run.record_sync;
        spec.ignored.insert(spec.ignored.end(), log->run.ignored.begin(), log->run.ignored.end());
    }
    sim::RunReport report;
    {
        const AllowThreads allow;
        report = RunLogged(spec, reports.get());
    }
    return ReportToDict(report);
}

}  // namespace

void RegisterExecutor(const std::string& name, Executor executor) { Executors()[name] = std::move(executor); }

void BindSim(py::module_& m) {
    py::module_ sim_module = m.def_submodule("sim", "The simulated machine, for tests and tools.");
    RegisterSimulatorError(m);
    RegisterVectorExecutors();
    RegisterMoveExecutors();
    RegisterCubeExecutors();
    sim_module.def(
        "execute", &Execute, py::arg("name"), py::arg("operands"), py::arg("params") = py::dict(),
        py::arg("core") = "vector", py::arg("mode") = "checked", py::arg("state") = py::none(),
        "Runs one instruction on a core of its own.\n\n"
        "operands: [(space, dtype, data, address[, defined])], destination first, in the order of the call's\n"
        "documentation; data is an array, or an int for that many uninitialised bytes; defined is one byte\n"
        "per byte of data, 0 = undefined. Returns ([uint8 arrays after execution], report); report has\n"
        "'findings', 'instructions', 'defined' (per operand) and 'state'. Raises SimulatorError.");
    sim_module.def(
        "launch", &LaunchKernel, py::arg("cube_library"), py::arg("vector_library"), py::arg("kernel"), py::arg("kind"),
        py::arg("blocks"), py::arg("args"), py::arg("soc") = "Ascend910B2", py::arg("mode") = "checked",
        py::arg("threads") = 0, py::arg("instruction_limit") = 0, py::arg("buffers") = py::list(),
        py::arg("title") = "", py::arg("log") = nullptr, py::arg("record_sync") = false,
        py::arg("ignored") = py::list(), py::arg("auto_sync") = false, py::arg("stall_seconds") = 0.0,
        py::arg("echo") = false, py::arg("costs") = "measured", py::arg("record_bytes") = 0,
        "Runs one kernel of two device libraries and returns the report.\n\n"
        "kind: 'mix' (one AIC and two AIVs a block), 'mix_1_1', 'cube' or 'vector'. args: ints, arrays (inputs) and "
        "dicts {'data': array, 'name',\n"
        "'writable', 'initialised', 'output'} (an output is writable and uninitialised). Arrays are used in\n"
        "place. buffers: more global memory, which the arguments reach through pointers of their own. title: the\n"
        "kernel's name in reports. record_sync lists the synchronisation calls in report['sync_calls']; those in\n"
        "`ignored`, entries of such a list, have no effect. log: the CallSettings whose block gets the report; what\n"
        "it says about synchronisation calls and the limit of instructions holds too. auto_sync: order what the\n"
        "vendor's compiler orders by itself on vector cores. stall_seconds: end a core that issues no instruction for\n"
        "so long (0 = 30 s, inf = never). costs: 'measured' or 'documented', what timed mode goes by;\n"
        "record_bytes: how much memory its record may take (0 = what the host has left). Raises "
        "SimulatorError.");
    sim_module.def(
        "soc_table",
        [] {
            py::dict table;
            for (const sim::Soc& soc : sim::SocTable()) {
                table[soc.name] = soc.cube_cores;
            }
            return table;
        },
        "AI cores per SoC; each has one cube core and two vector cores.");
    sim_module.def("executors", [] {
        std::vector<std::string> names;
        for (const auto& entry : Executors()) {
            names.push_back(entry.first);
        }
        return names;
    });
}

}  // namespace ascend_attention::python
