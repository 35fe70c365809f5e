# What the scripts of this folder share; they source it. Wants bash, python3 and cargo.
# shellcheck shell=bash
set -euo pipefail
shopt -s inherit_errexit nullglob
umask 022

packaging=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top=$(dirname "$packaging")
export PYTHONDONTWRITEBYTECODE=1 PIP_DISABLE_PIP_VERSION_CHECK=1 npm_config_update_notifier=false npm_config_fund=false npm_config_audit=false
unset PYTHONPATH PYTHONHOME TXEDIT_BIN

# The one place of the version.
version=$(sed -n 's/^version = "\(.*\)"/\1/p' "$top/Cargo.toml" | head -n 1)
# All that is packed has the time of the commit: the same commit makes the same files.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$top" log -1 --format=%ct 2>/dev/null || stat -c %Y "$top/Cargo.toml")}
export SOURCE_DATE_EPOCH

# How the systems call this machine: that of Rust, npm, Debian and OCI.
machine=$(uname -m)
case $machine in
    x86_64) target=x86_64-unknown-linux-gnu npm_platform=linux-x64 npm_cpu=x64 debian=amd64 ;;
    aarch64) target=aarch64-unknown-linux-gnu npm_platform=linux-arm64 npm_cpu=arm64 debian=arm64 ;;
    *) echo "packages are made for x86_64 and aarch64, not for $machine" >&2 && exit 1 ;;
esac
export target npm_platform npm_cpu debian

scratch=$(mktemp -d)
registry=
clean_up() {
    if [[ -n $registry ]]; then kill "$registry" 2>/dev/null || true; fi
    rm -rf "$scratch"
}
trap clean_up EXIT

step() { printf '\n== %s (after %d s)\n' "$*" "$SECONDS"; }

# `fill TEMPLATE FILE [KEY=VALUE…]`: @KEY@ becomes its value.
fill() { "$packaging/fill" "$1" "$2" VERSION="$version" "${@:3}"; }

# `environment FOLDER PACKAGE…`: a Python of its own with packages from PyPI.
environment() {
    python3 -m venv "$1"
    "$1/bin/pip" install --quiet "${@:2}"
}

# `offline CMD…`: runs it with no network but this machine's own, where the system allows that.
offline() {
    # shellcheck disable=SC2016 # the inner shell expands it
    local up='ip link set lo up; exec "$@"' PATH="$PATH:/usr/sbin:/sbin"
    if ! command -v ip >/dev/null; then
        without_network "$@"
    elif [[ $(id -u) == 0 ]] && unshare --net true 2>/dev/null; then
        unshare --net -- sh -c "$up" sh "$@"
    elif unshare --user --map-root-user --net true 2>/dev/null; then
        unshare --user --map-root-user --net -- sh -c "$up" sh "$@"
    else
        without_network "$@"
    fi
}
# Where there is no namespace to be had: nothing listens at this address.
without_network() { env http_proxy=http://127.0.0.1:9 https_proxy=http://127.0.0.1:9 no_proxy=127.0.0.1 "$@"; }

# `share BINARY FOLDER`: the manual pages and the completions, in the folders that systems look into.
share() {
    "$1" --quiet man "$2/man" >/dev/null
    find "$2/man" -type f -exec gzip -9n {} +
    mkdir -p "$2/bash-completion/completions" "$2/zsh/vendor-completions" "$2/fish/vendor_completions.d"
    "$1" completions bash >"$2/bash-completion/completions/txedit"
    "$1" completions zsh >"$2/zsh/vendor-completions/_txedit"
    "$1" completions fish >"$2/fish/vendor_completions.d/txedit.fish"
}

# `third_party OUT FOLDER`: the licences of what is linked in, of make/licences.
third_party() { install -D -m 644 "$1/THIRD-PARTY-$target.txt" "$2/THIRD-PARTY.txt"; }

# `archive FOLDER FILE`: the folder as a .tar.gz, the same each time.
archive() {
    tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" \
        -C "$(dirname "$1")" -cf - "$(basename "$1")" | gzip -9n >"$2"
}

# `until_true CMD…`: within ten seconds.
until_true() {
    for _ in {1..100}; do
        if "$@" 2>/dev/null; then return; fi
        sleep 0.1
    done
    echo "it did not happen: $*" >&2
    return 1
}

# `serve_packages OUT`: the npm packages in OUT are all that npm and npx find, in a home and a cache that are empty.
serve_packages() {
    python3 "$packaging/try/registry" "$1" >"$scratch/address" &
    registry=$!
    until_true test -s "$scratch/address"
    npm_config_registry=$(cat "$scratch/address")
    export npm_config_registry HOME="$scratch/home" npm_config_cache="$scratch/cache"
    mkdir "$HOME"
}
