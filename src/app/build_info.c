/* SPDX-License-Identifier: Apache-2.0 */
#include "app/build_info.h"

const char *sl_build_version(void)
{
    return SLUICE_VERSION;
}

void sl_build_info_print(FILE *to)
{
    fprintf(to, "sluice " SLUICE_VERSION "\n");
    fprintf(to, "built with %s, %s\n", __VERSION__, SLUICE_BUILD);
    fputs("V4L2 (libv4l2), io_uring (liburing), Matroska in fixed slots, CRC-32 (ISA-L), PNG\n", to);
}
