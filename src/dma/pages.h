/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_DMA_PAGES_H
#define SL_DMA_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Mapping memory by size of page, and what the kernel says about it. Private to the module; control thread. */

#define SL_MIB ((size_t)1 << 20)

enum sl_page_kind { SL_PAGES_HUGETLB, SL_PAGES_TRANSPARENT, SL_PAGES_SMALL };

/* Maps `bytes` (a multiple of page_bytes), zeroed and present. Negative errno. */
int sl_pages_map(uint8_t **out, size_t bytes, enum sl_page_kind kind, size_t page_bytes);
void sl_pages_unmap(uint8_t *base, size_t bytes);

/* Bytes of [base, base + bytes) that transparent huge pages hold. */
size_t sl_pages_transparent_bytes(const uint8_t *base, size_t bytes);

/* Bytes that can be had without swapping; SIZE_MAX when the kernel does not say. */
size_t sl_pages_available_bytes(void);

struct sl_hugetlb_state {
    bool offered; /* the kernel knows pages of this size */
    size_t total; /* reserved for the system, in pages */
    size_t usable;
};
struct sl_hugetlb_state sl_pages_hugetlb_state(size_t page_bytes);

#endif
