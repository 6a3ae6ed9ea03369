# SPDX-License-Identifier: Apache-2.0
"""Programs: `python -m ascend_attention.cli.quickstart`, `… .bench_simulator`, `… .bench_kernels`."""
