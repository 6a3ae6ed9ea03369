// SPDX-License-Identifier: Apache-2.0
#include "core/debug_forms.h"

namespace ascend_attention::sim {

namespace {

std::uint64_t SkipBlock(SectionReader& reader, std::uint64_t bytes) {
    reader.Skip(bytes);
    return 0;
}

std::uint64_t ThreeBytes(SectionReader& reader) {
    const std::uint64_t low = reader.Word(2);
    return low | reader.Word(1) << 16;
}

}  // namespace

std::uint64_t ReadForm(SectionReader& reader, std::uint64_t form, int offset_bytes) {
    switch (form) {
        case kFormFlagPresent:
        case kFormImplicitConst:
            return 0;
        case kFormData1:
        case kFormFlag:
        case kFormRef1:
        case kFormStrx1:
        case kFormAddrx1:
            return reader.Word(1);
        case kFormData2:
        case kFormRef2:
        case kFormStrx1 + 1:
        case kFormAddrx1 + 1:
            return reader.Word(2);
        case kFormStrx1 + 2:
        case kFormAddrx1 + 2:
            return ThreeBytes(reader);
        case kFormData4:
        case kFormRef4:
        case kFormRefSup4:
        case kFormStrx4:
        case kFormAddrx4:
            return reader.Word(4);
        case kFormAddress:
        case kFormData8:
        case kFormRef8:
        case kFormRefSig8:
        case kFormRefSup8:
            return reader.Word(8);
        case kFormUdata:
        case kFormRefUdata:
        case kFormStrx:
        case kFormAddrx:
        case kFormLoclistx:
        case kFormRnglistx:
            return reader.Unsigned();
        case kFormSdata:
            return static_cast<std::uint64_t>(reader.Signed());
        case kFormStrp:
        case kFormLineStrp:
        case kFormStrpSup:
        case kFormSectionOffset:
        case kFormRefAddress:
            return reader.Word(offset_bytes);
        case kFormString:
            reader.String();
            return 0;
        case kFormData16:
            return SkipBlock(reader, 16);
        case kFormBlock:
        case kFormExpression:
            return SkipBlock(reader, reader.Unsigned());
        case kFormBlock1:
            return SkipBlock(reader, reader.Word(1));
        case kFormBlock2:
            return SkipBlock(reader, reader.Word(2));
        case kFormBlock4:
            return SkipBlock(reader, reader.Word(4));
        default:
            return SkipBlock(reader, ~std::uint64_t{0});
    }
}

DebugUnit NextUnit(SectionReader& section) {
    constexpr std::uint64_t kWide = 0xFFFFFFFFU;
    std::uint64_t bytes = section.Word(4);
    const bool wide = bytes == kWide;
    if (wide) {
        bytes = section.Word(8);
    }
    return {section.Part(bytes), wide ? 8 : 4};
}

}  // namespace ascend_attention::sim
