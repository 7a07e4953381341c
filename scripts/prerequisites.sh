#!/bin/sh
# Makes sure that statetop can be built here: cargo, make, a C++ compiler and libclang
# (RocksDB is C++, and its bindings are made with libclang). Silent and quick when all is
# there; otherwise installs what is missing with the system's package manager.
set -eu

have() { command -v "$1" >/dev/null 2>&1; }
say() { printf 'prerequisites: %s\n' "$*" >&2; }

have_compiler() {
    if [ -n "${CXX:-}" ]; then have "${CXX%% *}"; else have c++ || have g++ || have clang++; fi
}

# libclang by the places in which its Rust loader looks, without running anything slow.
have_libclang() {
    for folder in "${LIBCLANG_PATH:-}" /usr/lib /usr/lib64 /usr/local/lib /usr/local/lib64 \
        /usr/lib/*-linux-gnu /usr/lib/llvm*/lib /usr/lib/llvm/*/lib64 /usr/lib64/llvm*/lib \
        /usr/local/llvm*/lib /opt/homebrew/opt/llvm/lib /usr/local/opt/llvm/lib \
        /Library/Developer/CommandLineTools/usr/lib \
        /Applications/Xcode.app/Contents/Developer/Toolchains/XcodeDefault.xctoolchain/usr/lib; do
        [ -n "$folder" ] || continue
        for file in "$folder"/libclang.so "$folder"/libclang.so.* "$folder"/libclang-*.so* \
            "$folder"/libclang.dylib; do
            [ -e "$file" ] && return 0
        done
    done
    if have llvm-config; then
        folder=$(llvm-config --libdir 2>/dev/null) && ls "$folder"/libclang.* >/dev/null 2>&1 &&
            return 0
    fi
    have ldconfig && ldconfig -p 2>/dev/null | grep -q 'libclang[-.]'
}

# bindgen includes the compiler's own headers (stddef.h), which come with clang, not libclang.
have_clang_headers() {
    have clang && return 0
    for folder in /usr/lib/llvm*/lib/clang/*/include /usr/lib/clang/*/include \
        /usr/lib64/clang/*/include; do
        [ -e "$folder/stddef.h" ] && return 0
    done
    return 1
}

missing=
have make || missing="$missing make"
have_compiler || missing="$missing compiler"
{ have_libclang && have_clang_headers; } || missing="$missing libclang"

if ! have cargo; then
    # A shell that has not read its profile since rustup ran.
    if [ -x "${CARGO_HOME:-$HOME/.cargo}/bin/cargo" ]; then
        say "cargo is installed but not on the PATH; run: . \"\$HOME/.cargo/env\""
    else
        say "cargo is missing. statetop needs Rust 1.90 or newer, by one of:"
        say "  the installer described at https://rustup.rs"
        say "  a package that is new enough: apt-get install rustup && rustup default stable"
        say "                                brew install rust / dnf install cargo / apk add cargo"
    fi
    exit 1
fi
[ -n "$missing" ] || exit 0

wants() { case " $missing " in *" $1 "*) return 0 ;; *) return 1 ;; esac; }

# Package names of: make, C++ compiler, libclang.
if have apt-get; then
    manager=apt-get make=make compiler=g++ libclang="clang libclang-dev"
elif have dnf; then
    manager=dnf make=make compiler=gcc-c++ libclang="clang clang-devel"
elif have yum; then
    manager=yum make=make compiler=gcc-c++ libclang="clang clang-devel"
elif have zypper; then
    manager=zypper make=make compiler=gcc-c++ libclang="clang clang-devel"
elif have apk; then
    manager=apk make=make compiler="g++ musl-dev linux-headers" libclang="clang clang-dev"
elif have pacman; then
    manager=pacman make=make compiler=gcc libclang=clang
elif have brew; then
    manager=brew make=make compiler=llvm libclang=llvm
else
    say "missing:$missing, and no known package manager (apt-get, dnf, yum, zypper, apk,"
    say "pacman, brew) was found. Install a C++17 compiler (g++ or clang++), clang with its"
    say "development library libclang, and make; then run this again."
    exit 1
fi

packages=
wants make && packages="$packages $make"
wants compiler && packages="$packages $compiler"
wants libclang && packages="$packages $libclang"

case $manager in
    apt-get) install="env DEBIAN_FRONTEND=noninteractive apt-get install -y" ;;
    dnf | yum) install="$manager install -y" ;;
    zypper) install="zypper --non-interactive install" ;;
    apk) install="apk add" ;;
    pacman) install="pacman -S --needed --noconfirm" ;;
    brew) install="brew install" ;;
esac

root=
if [ "$manager" != brew ] && [ "$(id -u)" -ne 0 ]; then
    if ! have sudo; then
        say "missing:$missing. As root, run: $install$packages"
        exit 1
    fi
    root=sudo
fi

say "installing$packages with $manager"
if [ "$manager" = apt-get ]; then
    # An old list is better than none: the install below says what it cannot find.
    $root apt-get update -q >&2 || say "apt-get update failed; trying with the lists at hand"
fi
# shellcheck disable=SC2086 # the lists are meant to be split
if ! $root $install $packages >&2; then
    say "could not install them. Needed:$packages; by hand: ${root:+$root }$install$packages"
    exit 1
fi
