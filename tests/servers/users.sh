# Whom a server runs as when root starts it: no server wants to be root. Sourced.
# shellcheck shell=bash

user_of() {
    if id "$1" >/dev/null 2>&1; then echo "$1"; else echo nobody; fi
}

# The options that make setpriv run something as this user, one a line.
identity_of() { printf '%s\n' --reuid="$(id -u "$1")" --regid="$(id -g "$1")" --clear-groups; }
