# ./gossamer and ./test source this file and set `root` to the checkout.

# ready [EXTRA[,EXTRA]]: makes sure that .venv has these extras and matches pyproject.toml. The check takes a few milliseconds in most
# cases. environment.py writes the stamp, which contains the path of the checkout, the Python, and the installed pyproject.toml.
ready() {
    if brought "$1" && [ -x "$root/.venv/bin/python" ] && {
        printf '%s\n' "$root" "$(readlink -f "$root/.venv/bin/python")"
        cat "$root/pyproject.toml"
    } | cmp -s - "$root/.venv/installed"; then
        return
    fi
    for python in python3 python3.14 python3.13 python3.12 python3.11; do
        if "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then
            "$python" "$root/deploy/environment.py" "$1" || exit
            return
        fi
    done
    echo "gossamer: needs Python 3.11 or newer, and found $(python3 --version 2>/dev/null || echo none);" \
        "install one (Debian 12 and newer: apt install python3; macOS: brew install python), then run this again" >&2
    exit 4
}

# brought EXTRA[,EXTRA]: succeeds if all these extras were requested before. .venv/extras contains their names, joined by commas.
brought() {
    [ -n "$1" ] || return 0
    [ -r "$root/.venv/extras" ] && read -r there <"$root/.venv/extras" || return 1
    rest=$1,
    while [ -n "$rest" ]; do
        case ",$there," in *",${rest%%,*},"*) rest=${rest#*,} ;; *) return 1 ;; esac
    done
}
