// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <limits>
#include <locale>

#include "common/dtype.h"
#include "common/integers.h"
#include "common/layout.h"
#include "common/soc.h"
#include "common/status.h"
#include "common/tensor.h"
#include "common/text.h"
#include "cpp/check.h"

namespace {

using namespace ascend_attention;

void TestDTypes() {
    const struct {
        DType dtype;
        const char* name;
        int64_t bytes;
    } rows[] = {
        {DType::kFloat16, "float16", 2}, {DType::kBFloat16, "bfloat16", 2}, {DType::kFloat32, "float32", 4},
        {DType::kFloat64, "float64", 8}, {DType::kInt8, "int8", 1},         {DType::kUInt8, "uint8", 1},
        {DType::kInt16, "int16", 2},     {DType::kInt32, "int32", 4},       {DType::kInt64, "int64", 8},
        {DType::kBool, "bool", 1},       {DType::kUInt64, "uint64", 8},     {DType::kFloat8E4M3FN, "float8_e4m3fn", 1},
        {DType::kOther, "other", 0},
    };
    for (const auto& row : rows) {
        CHECK_EQ(std::string(NameOf(row.dtype)), std::string(row.name));
        CHECK_EQ(SizeOf(row.dtype), row.bytes);
        CHECK(DTypeFromName(row.name) == row.dtype);
        CHECK(DTypeFromName(std::string("torch.") + row.name) == row.dtype);
    }
    CHECK(DTypeFromName("complex64") == DType::kOther);
    CHECK(DTypeFromName("") == DType::kOther);
}

// A refusal names the dtype that was given, also one that we have no name for.
void TestDTypeText() {
    CHECK_EQ(DTypeText(MakeTensorView(nullptr, "torch.float16", {2}, true)), std::string("float16"));
    CHECK_EQ(DTypeText(MakeTensorView(nullptr, "torch.complex64", {2}, true)), std::string("complex64"));
    CHECK_EQ(DTypeText(MakeTensorView(nullptr, "uint16", {2}, true)), std::string("uint16"));
    CHECK(MakeTensorView(nullptr, "uint16", {2}, true).dtype == DType::kOther);
    CHECK_EQ(DTypeText(TensorView{}), std::string("other"));
}

void TestIntegers() {
    CHECK_EQ(CeilDiv(0, 16), int64_t(0));
    CHECK_EQ(CeilDiv(1, 16), int64_t(1));
    CHECK_EQ(CeilDiv(16, 16), int64_t(1));
    CHECK_EQ(CeilDiv(17, 16), int64_t(2));
    CHECK_EQ(RoundUp(17, 16), int64_t(32));
    CHECK_EQ(RoundUp(32, 16), int64_t(32));
}

void TestShapes() {
    CHECK_EQ(ShapeText({}), std::string("()"));
    CHECK_EQ(ShapeText({5}), std::string("(5,)"));
    CHECK_EQ(ShapeText({2, 3, 4}), std::string("(2, 3, 4)"));
    CHECK_EQ(NumElements({}), int64_t(1));
    CHECK_EQ(NumElements({2, 3, 4}), int64_t(24));
    const int64_t huge = int64_t(1) << 62;
    CHECK_EQ(NumElements({huge, huge}), std::numeric_limits<int64_t>::max());
    CHECK_EQ(NumElements({huge, huge, 0}), int64_t(0));
}

void TestLayouts() {
    const char* names[] = {"BSH",       "BSND",      "BNSD", "BNSD_BSND", "BSH_NBSD",
                           "BSND_NBSD", "BNSD_NBSD", "TND",  "TND_NTD",   "NTD_TND"};
    for (const char* name : names) {
        const Layout* layout = FindLayout(name);
        CHECK(layout != nullptr);
        CHECK_EQ(std::string(layout->name), std::string(name));
        CHECK(LayoutNames().find(name) != std::string::npos);
    }
    CHECK(FindLayout("bsh") == nullptr);
    CHECK(FindLayout("") == nullptr);
    CHECK_EQ(RankOf(FindLayout("BSH")->input), 3);
    CHECK_EQ(RankOf(FindLayout("NTD_TND")->input), 3);
    CHECK_EQ(RankOf(FindLayout("BSH_NBSD")->output), 4);
    CHECK(FindLayout("BNSD_BSND")->output == AxisOrder::kBSND);
    CHECK(FindLayout("TND_NTD")->token_packed());
    CHECK(!FindLayout("BNSD_NBSD")->token_packed());
    CHECK(FindLayout("BNSD_NBSD")->head_first_output());
}

void TestStatusText() {
    Status status;
    CHECK(status.ok());
    CHECK_EQ(status.Text(), std::string("ok"));
    status.code = StatusCode::kInvalidParameter;
    status.op = "an_operator";
    status.argument = "atten_mask";
    status.rule = "FIA-C43";
    status.given = "shape (4, 4)";
    status.allowed = "(2048, 2048)";
    CHECK(!status.ok());
    CHECK_EQ(status.Text(), std::string("an_operator: atten_mask: given shape (4, 4); allowed: (2048, 2048) "
                                        "[FIA-C43, code 161002]"));
    status.help = "Do this.";
    CHECK_EQ(status.Text(), std::string("an_operator: atten_mask: given shape (4, 4); allowed: (2048, 2048) "
                                        "[FIA-C43, code 161002]. Do this."));
    status.help.clear();
    status.code = StatusCode::kNotSupported;
    status.rule = "NOT-YET";
    CHECK_EQ(status.Text(), std::string("an_operator: atten_mask: legal by the document, but not supported yet: given "
                                        "shape (4, 4); supported so far: (2048, 2048) [NOT-YET, code 561003]"));
    status.code = StatusCode::kInternal;
    CHECK(status.Text().find("internal error") != std::string::npos);
    CHECK_EQ(status.code_number(), 561002);
    status.code = StatusCode::kNullPointer;
    CHECK_EQ(status.code_number(), 161001);
}

void TestSocs() {
    for (const Soc& soc : KnownSocs()) {
        Soc found;
        CHECK(FindSoc(soc.name, &found).ok());
        CHECK_EQ(found.aic_count, soc.aic_count);
        CHECK(found.aic_count == 20 || found.aic_count == 24);
    }
    Soc soc;
    CHECK(FindSoc("Ascend910B2", &soc).ok());
    CHECK_EQ(soc.aic_count, 24);
    CHECK(FindSoc("Ascend910B4", &soc).ok());
    CHECK_EQ(soc.aic_count, 20);
    for (const char* name : {"Ascend910B", "Ascend910A", "910B2", "ascend910b2", ""}) {
        const Status status = FindSoc(name, &soc);
        CHECK_EQ(status.code_number(), 161002);
        CHECK(status.Text().find("python -m ascend_attention processors") != std::string::npos);
        CHECK_EQ(soc.name, std::string("Ascend910B4"));  // a refusal has changed nothing
    }
    // Products that have rules but no kernels.
    CHECK(CheckKernelsExist("an_operator", soc).ok());
    CHECK(CheckProduct("an_operator", "X-A1", soc, {Product::kAtlasA2A3}).ok());
    CHECK_EQ(CheckedSocs().size(), size_t(34));
    for (const Soc& checked : CheckedSocs()) {
        CHECK(FindSoc(checked.name, &soc).ok());
        CHECK_EQ(soc.aic_count, 0);
        CHECK_EQ(CheckKernelsExist("an_operator", soc).code_number(), 561003);
        const Status status = CheckProduct("an_operator", "X-A1", soc, {Product::kAtlasA2A3});
        CHECK_EQ(status.code_number(), 161002);
        CHECK(status.Text().find(checked.name) != std::string::npos);
        CHECK(CheckProduct("an_operator", "X-A1", soc, {Product::kAtlasA2A3, soc.product}).ok());
    }
}

void TestQuoted() {
    CHECK_EQ(Quoted("BSND"), "'BSND'");
    CHECK_EQ(Quoted("a\nb\x7F"), "'a\\x0ab\\x7f'");
    CHECK_EQ(Quoted("\xC3\xBC \xE2\x82\xAC \xF0\x9F\x98\x80"), "'\xC3\xBC \xE2\x82\xAC \xF0\x9F\x98\x80'");
    // No character, one that is cut off, one that is written too long.
    CHECK_EQ(Quoted("\xFF\xC3"), "'\\xff\\xc3'");
    CHECK_EQ(Quoted("\xC0\x8A"), "'\\xc0\\x8a'");
    // NEL, LINE SEPARATOR and PARAGRAPH SEPARATOR end lines, their neighbours do not.
    CHECK_EQ(Quoted("\xC2\x85\xC2\xA0"), "'\\xc2\\x85\xC2\xA0'");
    CHECK_EQ(Quoted("\xE2\x80\xA8\xE2\x80\xA9\xE2\x80\xAA"), "'\\xe2\\x80\\xa8\\xe2\\x80\\xa9\xE2\x80\xAA'");
}

void TestTextInAnyLocale() {
    struct Commas : std::numpunct<char> {
        char do_decimal_point() const override { return ','; }
        char do_thousands_sep() const override { return '.'; }
        std::string do_grouping() const override { return "\3"; }
    };
    const std::locale before = std::locale::global(std::locale(std::locale::classic(), new Commas));
    CHECK_EQ(Concat("Q_S ", 20971520, " of ", 0.5), "Q_S 20971520 of 0.5");
    std::locale::global(before);
}

}  // namespace

int main() {
    TestDTypes();
    TestDTypeText();
    TestIntegers();
    TestShapes();
    TestLayouts();
    TestStatusText();
    TestSocs();
    TestQuoted();
    TestTextInAnyLocale();
    return check::Result();
}
