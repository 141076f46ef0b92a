# shellcheck shell=bash
has() { command -v "$1" >/dev/null 2>&1; }
