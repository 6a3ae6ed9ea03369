// SPDX-License-Identifier: Apache-2.0
// The public name of the header with ListTensorDesc.
#pragma once

#include "ascendc/list_tensor.h"
