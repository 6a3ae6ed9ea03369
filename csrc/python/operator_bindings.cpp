// SPDX-License-Identifier: Apache-2.0
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "door_bindings.h"
#include "doors/fused_infer_attention_score_v2.h"
#include "fused_infer_attention_score_v2/arguments.h"
#include "interpreter_lock.h"

namespace py = pybind11;

namespace ascend_attention::python {
namespace {

using doors::FusedInferAttentionScoreV2Call;
using Request = FusedInferAttentionScoreV2Request;

// (address, dtype name, shape, contiguous)
using Descriptor = std::tuple<std::uintptr_t, std::string, std::vector<std::int64_t>, bool>;

TensorView ToView(const Descriptor& descriptor) {
    const auto& [address, dtype, shape, contiguous] = descriptor;
    return doors::MakeTensorView(reinterpret_cast<const void*>(address), dtype, shape, contiguous);
}

// Visitor that fills a request from a dict; an absent key leaves the default.
class DictReader {
public:
    explicit DictReader(const py::dict& arguments) : arguments_(arguments) {}

    void operator()(const char* name, OptionalTensor& field) {
        std::optional<Descriptor> descriptor;
        (*this)(name, descriptor);
        if (descriptor.has_value()) {
            field = ToView(*descriptor);
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
            throw py::type_error(std::string(kFusedInferAttentionScoreV2) + ": " + name + ": cannot be given as " +
                                 std::string(py::repr(arguments_[name])));
        }
    }
    bool took_all() const { return taken_ == arguments_.size(); }

private:
    const py::dict& arguments_;
    std::size_t taken_ = 0;
};

Request ToRequest(const py::dict& arguments) {
    Request request;
    DictReader reader(arguments);
    VisitArguments(request, reader);
    if (!reader.took_all()) {
        throw py::type_error(std::string(kFusedInferAttentionScoreV2) + ": unknown argument in " +
                             std::string(py::str(py::list(arguments.attr("keys")()))));
    }
    return request;
}

// (attention_out shape, dtype name, softmax_lse shape, dtype name)
py::tuple ToTuple(const FusedInferAttentionScoreV2Outputs& outputs) {
    return py::make_tuple(py::cast(outputs.attention_out.shape), doors::DTypeName(outputs.attention_out.dtype),
                          py::cast(outputs.softmax_lse.shape), doors::DTypeName(outputs.softmax_lse.dtype));
}

}  // namespace

void BindOperators(py::module_& m) {
    py::class_<FusedInferAttentionScoreV2Call>(m, "FusedInferAttentionScoreV2Call",
                                               "An accepted call with its plan. Tensors must stay alive until run().")
        .def(py::init([](const py::dict& arguments, int threads) {
                 return std::make_unique<FusedInferAttentionScoreV2Call>(ToRequest(arguments), threads);
             }),
             py::arg("arguments"), py::arg("threads") = 0)
        .def("outputs", [](const FusedInferAttentionScoreV2Call& call) { return ToTuple(call.outputs()); })
        .def("workspace_bytes", &FusedInferAttentionScoreV2Call::workspace_bytes)
        .def("max_workspace_bytes", &FusedInferAttentionScoreV2Call::MaxWorkspaceBytes)
        .def("describe_plan", &FusedInferAttentionScoreV2Call::Describe)
        .def(
            "accepts_buffers",
            [](const FusedInferAttentionScoreV2Call& call, const Descriptor& attention_out,
               const Descriptor& softmax_lse, const std::optional<Descriptor>& workspace) {
                const TensorView scratch = workspace.has_value() ? ToView(*workspace) : TensorView();
                return call.AcceptsBuffers(ToView(attention_out), ToView(softmax_lse),
                                           workspace.has_value() ? &scratch : nullptr);
            },
            py::arg("attention_out"), py::arg("softmax_lse"), py::arg("workspace"))
        .def(
            "run",
            [](const FusedInferAttentionScoreV2Call& call, std::uintptr_t attention_out, std::uintptr_t softmax_lse) {
                call.Run(reinterpret_cast<void*>(attention_out), reinterpret_cast<void*>(softmax_lse), nullptr);
            },
            py::arg("attention_out"), py::arg("softmax_lse"), py::call_guard<AllowThreads>());

    m.def(
        "infer_fused_infer_attention_score_v2",
        [](const py::dict& arguments) { return ToTuple(doors::InferFusedInferAttentionScoreV2(ToRequest(arguments))); },
        py::arg("arguments"), "(attention_out shape, dtype, softmax_lse shape, dtype), after every check.");
    m.def(
        "explain_fused_infer_attention_score_v2",
        [](const py::dict& arguments) { return doors::ExplainFusedInferAttentionScoreV2(ToRequest(arguments)); },
        py::arg("arguments"), "What the request means, in words.");
}

}  // namespace ascend_attention::python
