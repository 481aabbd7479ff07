#!/bin/sh
# Print an interpreter for the given version of Python ("3.12"), or for the first of several.
# Tries pythonX.Y on the PATH, then what pyenv installed. Fails if there is none.

runs() { # runs INTERPRETER VERSION: it starts, is that version, and can make a venv
    "$1" -c "import sys, ensurepip, venv; sys.exit('%d.%d' % sys.version_info[:2] != '$2')" 2>/dev/null
}

for version in "$@"; do
    for candidate in "python$version" python3 \
        "${PYENV_ROOT:-$HOME/.pyenv}"/versions/"$version".*/bin/python; do
        if runs "$candidate" "$version"; then
            echo "$candidate"
            exit 0
        fi
    done
done
echo "No Python $(echo "$*" | sed 's/ /, /g') with venv and ensurepip found." >&2
exit 1
