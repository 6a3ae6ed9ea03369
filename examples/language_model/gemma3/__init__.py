# SPDX-License-Identifier: Apache-2.0
"""A Gemma 3 text model in plain torch whose attention can be exchanged."""
