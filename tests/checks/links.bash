# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# For the checks of documents.

# anchors FILE: what a # in a link may name in it, as GitHub makes it from headings.
anchors() { sed -n 's/^##* //p' "$1" | tr '[:upper:]' '[:lower:]' | tr -d '`' | sed 's/[^a-z0-9 _-]//g; s/ /-/g'; }

# broken_links FILE…: a line for each relative link that leads nowhere.
broken_links() {
    local file link target
    for file; do
        while read -r link; do
            [[ ! $link =~ ^(https?:|mailto:) ]] || continue
            target=${file%/*}/${link%%#*}
            [[ ${link%%#*} ]] || target=$file
            if [[ ! -e $target ]]; then
                printf '%s: %s does not exist\n' "$file" "$link"
            elif [[ $link == *#* ]] && ! anchors "$target" | grep -qxF -- "${link#*#}"; then
                printf '%s: %s: no such heading\n' "$file" "$link"
            fi
        done < <(grep -oE '\]\([^)]+\)' "$file" | sed 's/^](//; s/)$//')
    done
}
