# A temporary folder for one run, the servers in it, and their end. Sourced by tests/run and tests/with-servers.
# shellcheck shell=bash
# Functions are called by a trap, and variables used by those who source this: no dead code.
# shellcheck disable=SC2317,SC2034 source-path=SCRIPTDIR

all_backends=(sqlite postgres mysql)
servers_folder=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source "$servers_folder/has.sh"
source "$servers_folder/users.sh"
source "$servers_folder/postgres.sh"
source "$servers_folder/mysql.sh"
source "$servers_folder/packages.sh"

room=
keeper=
runs=no

# The keeper ends what runs, stops the servers and removes the folder, all when its standard input ends.
leave() {
    local status=$?
    trap - EXIT
    trap '' INT TERM HUP PIPE
    if [[ -n $keeper ]]; then
        # A signal may come before the keeper is told what was started.
        if [[ $runs == yes && $! != "$keeper" ]]; then tell_keeper "$!"; fi
        exec {to_keeper}>&-
        wait "$keeper" 2>/dev/null || true
    fi
    if [[ -n $room ]]; then rm -rf -- "$room"; fi
    exit "$status"
}
trap leave EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
trap 'exit 129' HUP

# The servers' users must reach it.
make_room() {
    room=$(mktemp -d "${TMPDIR:-/tmp}/diesel_occ.XXXXXXXX")
    chmod 711 "$room"
    if ((EUID == 0)) && (($#)); then
        local identity
        mapfile -t identity < <(identity_of nobody)
        if ! setpriv "${identity[@]}" test -x "$room"; then
            rmdir "$room"
            room=$(mktemp -d /tmp/diesel_occ.XXXXXXXX)
            chmod 711 "$room"
        fi
    fi
}

# Makes `room`, starts the servers of these backends in it and exports where they are. A server whose variable is set already
# is used as it is. $1: durable, yes or no, then the backends.
enter() {
    local durable=$1 backend start=() line
    shift
    for backend; do
        case $backend in
        postgres) [[ -n ${OCC_TEST_POSTGRES_URL:-} ]] || start+=(postgres) ;;
        mysql) [[ -n ${OCC_TEST_MYSQL_URL:-} ]] || start+=(mysql) ;;
        esac
    done
    make_room "${start[@]}"
    # A group of its own: what ends this one is not to end the keeper.
    set -m
    coproc KEEPER { exec bash "$servers_folder/keeper.sh" "$room" "$durable" "${start[@]}"; }
    set +m
    # Bash takes the variables of a coprocess away when it ends.
    keeper=$KEEPER_PID to_keeper=${KEEPER[1]} from_keeper=${KEEPER[0]}
    while read -r line <&"$from_keeper"; do
        if [[ $line == ready ]]; then return; fi
        export "${line?}"
    done
    exit 1
}

# A run without its keeper still has a status to report.
tell_keeper() { { echo "$1" >&"$to_keeper"; } 2>/dev/null || true; }

# Runs a command and returns its status. In the background and waited for, because bash runs a trap only between foreground
# commands: Ctrl-C and TERM take effect at once. As a group, because cargo, rustc and the test that runs go together.
in_group() {
    local status=0
    runs=yes
    set -m
    "$@" &
    set +m
    tell_keeper "$!"
    wait "$!" || status=$?
    runs=no
    tell_keeper 0
    return "$status"
}
