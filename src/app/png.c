/* SPDX-License-Identifier: Apache-2.0 */
#include "app/png.h"

#include <errno.h>
#include <png.h>
#include <string.h>

/* libpng's plain interface wants setjmp around every call; its simplified one does not, and this is all we need of it. */
int sl_png_write(FILE *file, uint32_t width, uint32_t height, unsigned channels, const uint8_t *pixels, struct sl_error *err)
{
    png_image image;

    memset(&image, 0, sizeof image);
    image.version = PNG_IMAGE_VERSION;
    image.width = width;
    image.height = height;
    image.format = channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
    errno = 0;
    if (!png_image_write_to_stdio(&image, file, 0, pixels, 0, NULL))
        return sl_fail(err, errno ? -errno : -EIO, "PNG: %s", errno ? strerror(errno) : image.message);
    return 0;
}
