// SPDX-License-Identifier: Apache-2.0
// FIA 8, 9, 10: key and value stored as int8 or int4 with scales, query of 16 bits.
#include <algorithm>

#include "fused_infer_attention_score_v2/check.h"

namespace ascend_attention::fia_v2 {
namespace {

struct ScaleSet {
    const char* scale_name;
    const char* offset_name;
    const char* mode_name;
    const OptionalTensor* scale;
    const OptionalTensor* offset;
    int64_t mode;
};

ScaleSet KeyScales(const Request& request) {
    return {"dequant_scale_key",        "dequant_offset_key",        "key_quant_mode",
            &request.dequant_scale_key, &request.dequant_offset_key, request.key_quant_mode};
}

ScaleSet ValueScales(const Request& request) {
    return {"dequant_scale_value",        "dequant_offset_value",        "value_quant_mode",
            &request.dequant_scale_value, &request.dequant_offset_value, request.value_quant_mode};
}

bool MixedModes(const Request& request) { return request.key_quant_mode == 0 && request.value_quant_mode == 1; }

std::string ModesText(const Request& request) {
    return Concat("key_quant_mode ", request.key_quant_mode, ", value_quant_mode ", request.value_quant_mode);
}

Status CheckPair(const char* rule, const char* key_name, const OptionalTensor& key, const char* value_name,
                 const OptionalTensor& value) {
    if (key.has_value() == value.has_value()) {
        return OkStatus();
    }
    return Refuse(rule, key ? value_name : key_name, "none",
                  Concat("a tensor, because ", key ? key_name : value_name, " is given; or neither"));
}

Status CheckPresence(const Scene& scene) {
    const Request& request = scene.request;
    Status status = CheckPair("FIA-C80", "dequant_scale_key", request.dequant_scale_key, "dequant_scale_value",
                              request.dequant_scale_value);
    if (!status.ok()) {
        return status;
    }
    status = CheckPair("FIA-C81", "dequant_offset_key", request.dequant_offset_key, "dequant_offset_value",
                       request.dequant_offset_value);
    if (!status.ok()) {
        return status;
    }
    if (scene.has_key_offset() && !scene.has_key_scale()) {
        return Refuse("FIA-C82", "dequant_offset_key", TensorText(request.dequant_offset_key),
                      "none without dequant_scale_key and dequant_scale_value");
    }
    if (!scene.quantised_keys() && scene.has_key_scale()) {
        return Refuse("FIA-C85", "dequant_scale_key", TensorText(request.dequant_scale_key),
                      Concat("none when key is ", DTypeText(*request.key)));
    }
    return OkStatus();
}

Status CheckEqualForms(const Request& request) {
    if (!MixedModes(request)) {
        if (request.dequant_scale_key->shape != request.dequant_scale_value->shape) {
            return Refuse("FIA-C83", "dequant_scale_value", TensorText(request.dequant_scale_value),
                          Concat("the shape of dequant_scale_key: ", TensorText(request.dequant_scale_key)));
        }
        if (request.dequant_offset_key && request.dequant_offset_key->shape != request.dequant_offset_value->shape) {
            return Refuse("FIA-C83", "dequant_offset_value", TensorText(request.dequant_offset_value),
                          Concat("the shape of dequant_offset_key: ", TensorText(request.dequant_offset_key)));
        }
    }
    for (const ScaleSet& set : {KeyScales(request), ValueScales(request)}) {
        if (*set.offset && (*set.offset)->dtype != (*set.scale)->dtype) {
            return Refuse("FIA-C84", set.offset_name, TensorText(*set.offset),
                          Concat("the dtype of ", set.scale_name, ": ", TensorText(*set.scale)));
        }
    }
    return OkStatus();
}

struct ScaleForm {
    std::vector<Shape> shapes;
    DType dtype;
};

// Which other mode a scale of this shape would fit. `form_of`: the shapes and the dtype of a mode.
template <class FormOf>
std::string OtherMode(const ScaleSet& set, const Shape& shape, int64_t modes, const FormOf& form_of) {
    for (int64_t mode = 0; mode < modes; ++mode) {
        const std::vector<Shape> shapes = mode == set.mode ? std::vector<Shape>() : form_of(mode).shapes;
        if (std::find(shapes.begin(), shapes.end(), shape) != shapes.end()) {
            return Concat("This shape fits ", set.mode_name, " ", mode, ".");
        }
    }
    return "";
}

// A shape that is right but for a leading axis of 1.
std::string LeadingAxis(const std::vector<Shape>& allowed, const Shape& shape) {
    Shape with = {1};
    with.insert(with.end(), shape.begin(), shape.end());
    for (const Shape& fitting : allowed) {
        if (fitting == with) {
            return Concat("Add a leading axis of 1: ", ShapeText(fitting), ".");
        }
        if (shape.size() == fitting.size() + 1 && shape[0] == 1 &&
            std::equal(fitting.begin(), fitting.end(), shape.begin() + 1)) {
            return Concat("Take the leading axis of 1 away: ", ShapeText(fitting), ".");
        }
    }
    return "";
}

// `modes`: how many there are, from 0.
template <class FormOf>
Status CheckForm(const char* shape_rule, const char* dtype_rule, const ScaleSet& set, int64_t modes,
                 const FormOf& form_of) {
    const ScaleForm form = form_of(set.mode);
    struct Row {
        const char* name;
        const OptionalTensor* tensor;
    };
    for (const Row& row : {Row{set.scale_name, set.scale}, Row{set.offset_name, set.offset}}) {
        const OptionalTensor& tensor = *row.tensor;
        if (!tensor) {
            continue;
        }
        std::string allowed;
        for (const Shape& shape : form.shapes) {
            allowed += (allowed.empty() ? "" : ", ") + ShapeText(shape);
        }
        allowed = Concat(NameOf(form.dtype), " ", allowed, " in quantisation mode ", set.mode);
        if (std::find(form.shapes.begin(), form.shapes.end(), tensor->shape) == form.shapes.end()) {
            const std::string axis = LeadingAxis(form.shapes, tensor->shape);
            return Refuse(shape_rule, row.name, TensorText(tensor), allowed,
                          axis.empty() ? OtherMode(set, tensor->shape, modes, form_of) : axis);
        }
        if (tensor->dtype != form.dtype) {
            return Refuse(dtype_rule, row.name, TensorText(tensor), allowed);
        }
    }
    return OkStatus();
}

// FIA 9: Q_S > 1.
Status CheckPrefill(const Scene& scene) {
    const Request& request = scene.request;
    if (scene.lists()) {
        return Refuse("FIA-C89", "key", TensorListText(*request.key_list),
                      "one tensor with quantised key and value when Q_S > 1");
    }
    if (request.key_quant_mode != request.value_quant_mode || request.key_quant_mode < 0 ||
        request.key_quant_mode > 1) {
        return Refuse("FIA-C86", "key_quant_mode", ModesText(request), "both 0 or both 1 when Q_S > 1");
    }
    if (scene.query_length > 16) {
        return Refuse("FIA-C87", "query", Concat("Q_S ", scene.query_length),
                      "Q_S at most 16 with quantised key and value");
    }
    const bool query_fits = request.query->dtype == DType::kBFloat16 || scene.extended();
    if (!query_fits || request.key->dtype != DType::kInt8 || request.quant_scale_out) {
        return Refuse("FIA-C88", "query",
                      Concat("query ", DTypeText(*request.query), ", key ", DTypeText(*request.key),
                             ", quant_scale_out ", TensorText(request.quant_scale_out)),
                      "bfloat16 query, int8 key and value, output bfloat16 when Q_S > 1");
    }
    if (scene.cache == Cache::kNZ) {
        return OkStatus();  // FIA 13
    }
    const int64_t n = scene.key_heads;
    const int64_t d = scene.head_dim;
    const ScaleForm per_channel = {{{n, 1, d}, {n, d}, {n * d}, {1, n, 1, d}, {1, n, d}, {1, n * d}},
                                   request.query->dtype};
    const ScaleForm per_token = {{{scene.batch, scene.key_length}}, DType::kFloat32};
    const char* rule = request.key_quant_mode == 1 ? "FIA-C90" : "FIA-C91";
    const auto form_of = [&](int64_t mode) { return mode == 1 ? per_token : per_channel; };
    for (const ScaleSet& set : {KeyScales(request), ValueScales(request)}) {
        if (Status status = CheckForm(rule, rule, set, 2, form_of); !status.ok()) {
            return status;
        }
    }
    return OkStatus();
}

ScaleForm SingleRowForm(const Scene& scene, int64_t mode) {
    const Request& request = scene.request;
    const int64_t n = scene.key_heads;
    const int64_t d = scene.head_dim;
    const int64_t blocks = request.key->shape[0];
    switch (mode) {
        case 0:
            if (request.key->dtype == DType::kInt8 && !MixedModes(request)) {
                return {{{1, n, 1, d}, {1, n, d}, {1, n * d}, {1}}, request.query->dtype};
            }
            return {{{1, n, 1, d}, {1, n, d}, {1, n * d}}, request.query->dtype};
        case 1:
            return {{{1, scene.batch, scene.key_length}}, DType::kFloat32};
        case 2:
            return {{{n}}, request.query->dtype};
        case 3:
            return {{{scene.batch, n, scene.key_length}}, DType::kFloat32};
        case 4:
            return {{{blocks, request.block_size}}, DType::kFloat32};
        default:
            return {{{blocks, n, request.block_size}}, DType::kFloat32};
    }
}

Status CheckSingleRowModes(const Scene& scene) {
    const Request& request = scene.request;
    const int64_t mode = request.key_quant_mode;
    const bool int8 = request.key->dtype == DType::kInt8;
    const bool equal = mode == request.value_quant_mode && mode >= 0 && mode <= 5;
    if (!equal && !MixedModes(request)) {
        return Refuse("FIA-C92", "key_quant_mode", ModesText(request),
                      "equal and 0 to 5, or key_quant_mode 0 with value_quant_mode 1");
    }
    if (equal && (mode == 4 || mode == 5) && !scene.paged()) {
        return Refuse("FIA-C98", "key_quant_mode", ModesText(request), "modes 4 and 5 only with block_table");
    }
    if (equal && (mode == 2 || mode == 4 || mode == 5) && !int8) {
        return Refuse("FIA-C99", "key_quant_mode", ModesText(request), "modes 2, 4 and 5 only with int8 key and value");
    }
    if (!int8 && scene.head_dim % 64 != 0) {
        return Refuse("FIA-C94", "key", Concat("head_dim ", scene.head_dim),
                      "a multiple of 64 with int4 key and value");
    }
    if (!int8 && request.quant_scale_out) {
        return Refuse("FIA-C95", "quant_scale_out", TensorText(request.quant_scale_out),
                      "none with int4 key and value");
    }
    if (MixedModes(request) && int8 && (request.query->dtype != DType::kFloat16 || request.quant_scale_out)) {
        return Refuse("FIA-C100", "query", DTypeText(*request.query),
                      "float16 query and output with int8 keys, key_quant_mode 0 and value_quant_mode 1");
    }
    return OkStatus();
}

// FIA 10: Q_S = 1. FIA-C93 (not all of query, key, value int8) cannot be reached: FIA-C1 refuses int8 queries here.
Status CheckSingleRow(const Scene& scene) {
    if (Status status = CheckSingleRowModes(scene); !status.ok()) {
        return status;
    }
    const auto form_of = [&](int64_t mode) { return SingleRowForm(scene, mode); };
    for (const ScaleSet& set : {KeyScales(scene.request), ValueScales(scene.request)}) {
        if (Status status = CheckForm("FIA-C96", "FIA-C97", set, 6, form_of); !status.ok()) {
            return status;
        }
    }
    return OkStatus();
}

}  // namespace

Status CheckAntiquant(Scene& scene) {
    if (scene.int8_query()) {
        return OkStatus();  // the scales then belong to MLA full quantisation, FIA 11
    }
    if (Status status = CheckPresence(scene); !status.ok()) {
        return status;
    }
    if (!scene.antiquant() || scene.rope() || scene.packed()) {
        return OkStatus();  // FIA 11 and 12 refuse it there
    }
    if (Status status = CheckEqualForms(scene.request); !status.ok()) {
        return status;
    }
    if (scene.cache == Cache::kNZ && scene.single_row()) {
        return OkStatus();  // FIA 13
    }
    return scene.single_row() ? CheckSingleRow(scene) : CheckPrefill(scene);
}

}  // namespace ascend_attention::fia_v2
