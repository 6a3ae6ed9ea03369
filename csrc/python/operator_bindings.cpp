// SPDX-License-Identifier: Apache-2.0
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "block_sparse_attention_v2/arguments.h"
#include "door_bindings.h"
#include "doors/attention_call.h"
#include "fused_infer_attention_score_v2/arguments.h"
#include "interpreter_lock.h"
#include "prompt_flash_attention/arguments.h"

namespace py = pybind11;

namespace ascend_attention::python {
namespace {

using doors::AnyRequest;
using doors::AttentionCall;

// (address, dtype name, shape, contiguous)
using Descriptor = std::tuple<std::uintptr_t, std::string, std::vector<std::int64_t>, bool>;

TensorView ToView(const Descriptor& descriptor) {
    const auto& [address, dtype, shape, contiguous] = descriptor;
    return doors::MakeTensorView(reinterpret_cast<const void*>(address), dtype, shape, contiguous);
}

// Visitor that fills a request from a dict; an absent key leaves the default.
class DictReader {
public:
    DictReader(const char* op, const py::dict& arguments) : op_(op), arguments_(arguments) {}

    void operator()(const char* name, OptionalTensor& field) {
        if (IsList(name)) {
            return;
        }
        std::optional<Descriptor> descriptor;
        (*this)(name, descriptor);
        if (descriptor.has_value()) {
            field = ToView(*descriptor);
        }
    }
    void operator()(const char* name, OptionalTensorList& list, const OptionalTensor&) {
        if (!IsList(name)) {
            return;
        }
        std::vector<Descriptor> descriptors;
        (*this)(name, descriptors);
        list.emplace();
        for (const Descriptor& descriptor : descriptors) {
            list->push_back(ToView(descriptor));
        }
    }
    template <class Field>
    void operator()(const char* name, Field& field) {
        if (!arguments_.contains(name)) {
            return;
        }
        ++taken_;
        try {
            field = py::cast<Field>(arguments_[name]);
        } catch (const py::cast_error&) {
            throw py::type_error(std::string(op_) + ": " + name + ": cannot be given as " +
                                 std::string(py::repr(arguments_[name])));
        }
    }
    bool took_all() const { return taken_ == arguments_.size(); }

private:
    bool IsList(const char* name) const {
        return arguments_.contains(name) && py::isinstance<py::list>(arguments_[name]);
    }

    const char* op_;
    const py::dict& arguments_;
    std::size_t taken_ = 0;
};

template <class Request>
Request Filled(const py::dict& arguments) {
    Request request;
    DictReader reader(Request::kOperator, arguments);
    VisitArguments(request, reader);
    if constexpr (std::is_same_v<Request, FusedInferAttentionScoreV2Request>) {
        VisitTensorLists(request, reader);
    }
    if (!reader.took_all()) {
        throw py::type_error(std::string(Request::kOperator) + ": unknown argument in " +
                             std::string(py::str(py::list(arguments.attr("keys")()))));
    }
    return request;
}

AnyRequest ToRequest(const std::string& op, const py::dict& arguments) {
    if (op == kFusedInferAttentionScoreV2) {
        return Filled<FusedInferAttentionScoreV2Request>(arguments);
    }
    if (op == kPromptFlashAttention) {
        return Filled<PromptFlashAttentionRequest>(arguments);
    }
    if (op == kBlockSparseAttentionV2) {
        return Filled<BlockSparseAttentionV2Request>(arguments);
    }
    throw py::value_error("no such operator: " + op);
}

// (attention_out shape, dtype name, softmax_lse shape, dtype name)
py::tuple ToTuple(const AttentionOutputs& outputs) {
    return py::make_tuple(py::cast(outputs.attention_out.shape), doors::DTypeName(outputs.attention_out.dtype),
                          py::cast(outputs.softmax_lse.shape), doors::DTypeName(outputs.softmax_lse.dtype));
}

// Hundreds of lengths, for each call: one by one in Python they would take longer than all else that it does.
py::object PackIntegers(const py::object& value) {
    if (!PyList_CheckExact(value.ptr()) && !PyTuple_CheckExact(value.ptr())) {
        return py::none();
    }
    const Py_ssize_t count = PySequence_Fast_GET_SIZE(value.ptr());
    PyObject* const* entries = PySequence_Fast_ITEMS(value.ptr());
    std::vector<std::int64_t> numbers(static_cast<std::size_t>(count));
    for (Py_ssize_t i = 0; i < count; ++i) {
        int overflow = 0;
        if (PyLong_CheckExact(entries[i])) {
            numbers[static_cast<std::size_t>(i)] = PyLong_AsLongLongAndOverflow(entries[i], &overflow);
        }
        if (!PyLong_CheckExact(entries[i]) || overflow != 0) {
            return py::none();
        }
    }
    return py::bytearray(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(std::int64_t));
}

}  // namespace

void BindOperators(py::module_& m) {
    m.def("pack_integers", &PackIntegers, py::arg("value"),
          "The ints of a list or tuple as 64-bit integers; None when it is neither, or an entry is of another type or\n"
          "has more bits.");
    py::class_<AttentionCall>(m, "AttentionCall",
                              "An accepted call with its plan. Tensors must stay alive until run().")
        .def(py::init([](const std::string& op, const py::dict& arguments, int threads) {
                 return std::make_unique<AttentionCall>(ToRequest(op, arguments), threads);
             }),
             py::arg("operator"), py::arg("arguments"), py::arg("threads") = 0)
        .def("outputs", [](const AttentionCall& call) { return ToTuple(call.outputs()); })
        .def("workspace_bytes", &AttentionCall::workspace_bytes)
        .def("max_workspace_bytes", &AttentionCall::MaxWorkspaceBytes)
        .def("describe_plan", &AttentionCall::Describe)
        .def(
            "accepts_buffers",
            [](const AttentionCall& call, const Descriptor& attention_out, const Descriptor& softmax_lse,
               const std::optional<Descriptor>& workspace) {
                const TensorView scratch = workspace.has_value() ? ToView(*workspace) : TensorView();
                return call.AcceptsBuffers(ToView(attention_out), ToView(softmax_lse),
                                           workspace.has_value() ? &scratch : nullptr);
            },
            py::arg("attention_out"), py::arg("softmax_lse"), py::arg("workspace"))
        .def("refuse_missing_result", &AttentionCall::RefuseMissingResult, py::arg("name"))
        .def(
            "run",
            [](const AttentionCall& call, std::uintptr_t attention_out, std::uintptr_t softmax_lse) {
                call.Run(reinterpret_cast<void*>(attention_out), reinterpret_cast<void*>(softmax_lse), nullptr);
            },
            py::arg("attention_out"), py::arg("softmax_lse"), py::call_guard<AllowThreads>());

    m.def(
        "infer_outputs",
        [](const std::string& op, const py::dict& arguments) {
            return ToTuple(doors::InferCall(ToRequest(op, arguments)));
        },
        py::arg("operator"), py::arg("arguments"),
        "(attention_out shape, dtype, softmax_lse shape, dtype), after every check.");
    m.def(
        "explain_call",
        [](const std::string& op, const py::dict& arguments) { return doors::ExplainCall(ToRequest(op, arguments)); },
        py::arg("operator"), py::arg("arguments"), "What the request means, in words.");
}

}  // namespace ascend_attention::python
