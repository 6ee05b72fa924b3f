#!/bin/bash
# SPDX-License-Identifier: MIT
# The driver's interface as 32-bit programs meet it: every ioctl in every size, tokens and mmap() offsets that need more
# than 32 bits, jobs with their results.
. "$(dirname "$0")/lib.sh"

guest_tests "--dt bsp --timeout 900" /usr/libexec/rknpu/kmod32 \
	dmabuf_import fork_exec isolation runtime_replay submit_async submit_async_bad submit_bad submit_basic submit_fence \
	submit_implicit uapi_actions uapi_domain uapi_dumb uapi_identity uapi_mem uapi_mmap uapi_prime uapi_query uapi_sram \
	uapi_token
