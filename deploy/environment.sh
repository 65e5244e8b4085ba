# Sourced by ./gossamer and ./test, which set `root`: the checkout.

# ready EXTRA[,EXTRA]: .venv is there and has these extras and what today's pyproject.toml asks for. Costs a few milliseconds when
# it does. The stamp is written by environment.py: where the checkout is, which Python, and the pyproject.toml that was installed.
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

# brought EXTRA[,EXTRA]: all of them were asked for before: .venv/extras names those, joined by commas.
brought() {
    [ -r "$root/.venv/extras" ] && read -r there <"$root/.venv/extras" || return 1
    rest=$1,
    while [ -n "$rest" ]; do
        case ",$there," in *",${rest%%,*},"*) rest=${rest#*,} ;; *) return 1 ;; esac
    done
}
