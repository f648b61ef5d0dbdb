/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a config; what follows a byte of 0xff is a --set. A config that is accepted must, printed as its effective
 * values, be accepted again with the same values; one that is refused must say so in text.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static size_t print_effective(const struct sl_config *config, char *text, size_t room)
{
    char value[SL_OPTION_VALUE_BYTES];
    const char *section = "";
    size_t used = 0;

    for (unsigned i = 0; i < sl_config_options.options; i++) {
        const struct sl_option *option = &sl_config_options.option[i];

        sl_option_format(option, config, value, sizeof value);
        if (strcmp(section, option->section))
            used += (size_t)snprintf(text + used, room - used, "[%s]\n", option->section);
        section = option->section;
        /* what --set may hold and a line of a file may not */
        if (strlen(option->key) + 1 + strlen(value) > 190 || strstr(value, " ;") || strchr(" \t;", value[0]) ||
            value[strlen(value) - 1] == ' ')
            continue;
        used += (size_t)snprintf(text + used, room - used, "%s=%s\n", option->key, value);
    }
    return used;
}

static void check_round_trip(const struct sl_config *config)
{
    static char text[65536], again[65536];
    struct sl_config second;
    struct sl_error err = {{0}};
    size_t used = print_effective(config, text, sizeof text);

    if (strstr(text, "\ndir=") == NULL || (config->sensor.device && !strstr(text, "\ndevice=")) ||
        (config->sensor.file && !strstr(text, "\nfile=")))
        return;
    if (sl_config_parse(&second, NULL, "again", text, used, NULL, 0, &err) < 0) {
        fprintf(stderr, "%s\n%s\n", text, err.text);
        abort();
    }
    if (print_effective(&second, again, sizeof again) != used || memcmp(text, again, used))
        abort();
    sl_config_fini(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    const uint8_t *split = memchr(data, 0xff, bytes);
    size_t length = split ? (size_t)(split - data) : bytes;
    char *set = split ? calloc(1, bytes - length) : NULL;
    const char *sets[] = {set};
    struct sl_option_origins origins;
    struct sl_config config;
    struct sl_error err = {{0}};

    if (set)
        memcpy(set, split + 1, bytes - length - 1);
    if (sl_config_parse(&config, &origins, "fuzz", (const char *)data, length, sets, set ? 1 : 0, &err) == 0) {
        check_round_trip(&config);
        sl_option_origins_fini(&origins);
        sl_config_fini(&config);
    } else if (!err.text[0] || memchr(err.text, '\0', sizeof err.text) == NULL) {
        abort();
    }
    free(set);
    return 0;
}
