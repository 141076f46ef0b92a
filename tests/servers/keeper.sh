#!/usr/bin/env bash
# Starts the servers of one run, and ends everything when the run is over: the command that runs, the servers, the temporary
# folder. A process of its own, so that it is still there whatever happened to the run, KILL included.
#
#     keeper.sh ROOM DURABLE [BACKEND..]
#
# Standard output has the variables for the tests, then `ready`. Standard input has the process group of each command that is
# started, and 0 when it ended. The run is over when standard input ends.
#
# Functions are called by a composed name or by a trap, and variables used by what is sourced: no dead code.
# shellcheck disable=SC2317,SC2034 source-path=SCRIPTDIR
set -euo pipefail
# Each job is a process group of its own, and can be stopped with what it started.
set -m
umask 022
here=$(dirname "${BASH_SOURCE[0]}")
source "$here/has.sh"
source "$here/users.sh"
source "$here/postgres.sh"
source "$here/mysql.sh"
room=$1
durable=$2
shift 2
backends=("$@")
# A server's user may have no access to the folder that the run was started in.
cd "$room"

# ---- the end ------------------------------------------------------------------------------------------------

running=0
declare -A servers=()
preparing=()

# Signals each of these groups, waits until they are gone, and does not take no for an answer. Arguments: SIGNAL:GROUP..
end_groups() {
    local each left
    for each; do kill "-${each%:*}" -- "-${each#*:}" 2>/dev/null || true; done
    for ((left = 200; left; left--)); do
        if ! any_left "$@"; then return; fi
        sleep 0.05
    done
    for each; do kill -KILL -- "-${each#*:}" 2>/dev/null || true; done
    for ((left = 40; left; left--)); do
        if ! any_left "$@"; then return; fi
        sleep 0.05
    done
}

any_left() {
    local each
    for each; do
        if kill -0 -- "-${each#*:}" 2>/dev/null && ! is_dead "${each#*:}"; then return 0; fi
    done
    return 1
}

# Whether a group is nothing but dead processes that nobody has asked about. Their parent is gone, and the first process of a
# container may be slow to ask.
is_dead() {
    cat /proc/[0-9]*/stat 2>/dev/null | sed 's/.*) //' | awk -v group="$1" '
        $3 == group { found = 1; if ($1 != "Z") alive = 1 }
        END { exit !(found && !alive) }'
}

clean_up() {
    local status=$? backend pid name errors groups=()
    trap - EXIT
    set +e
    # Bash tells of each job that a signal ended.
    exec {errors}>&2 2>/dev/null
    if ((running)); then end_groups "TERM:$running"; fi
    for pid in "${preparing[@]}"; do groups+=("KILL:$pid"); done
    for backend in "${!servers[@]}"; do
        name=stop_signal_$backend
        groups+=("${!name}:${servers[$backend]}")
    done
    end_groups "${groups[@]}"
    cd /
    rm -rf -- "$room" 2>&"$errors"
    exit "$status"
}
# Signals are for the run: it ends, and with it our standard input.
trap '' INT TERM HUP PIPE
trap clean_up EXIT

# ---- the run's word -----------------------------------------------------------------------------------------

# Waits this many seconds, and leaves when the run is over.
pause() {
    local said status=0
    read -r -t "$1" said || status=$?
    if ((status == 0)); then
        running=$said
    elif ((status <= 128)); then
        exit 0
    fi
}

alive() { kill -0 "$1" 2>/dev/null; }

# ---- the start ----------------------------------------------------------------------------------------------

# $1: the backend, $2: what happened. The end of its log says why.
complain() {
    {
        echo "$1: $2. The end of its log:"
        tail -n 40 -- "$room/$1.log" | sed 's/^/    /'
    } >&2
}

give_up() {
    complain "$@"
    exit 1
}

# Becomes a program of a server, under the server's user. Nothing of the environment reaches it (PGPORT, MYSQL_HOME, ..), and it
# dies with its parent.
as_server() {
    local backend=$1 identity=()
    shift
    if ((EUID == 0)); then mapfile -t identity < <(identity_of "$(user_of "$backend")"); fi
    local stop=stop_signal_$backend
    exec setpriv "${identity[@]}" --pdeathsig "${!stop}" -- \
        env -i PATH="$PATH" LC_ALL=C LOCPATH="$room/locales" TMPDIR="$room/$backend" "$@"
}

# Below the range that the kernel takes the ports of outgoing connections from. Another run may take the port before we do:
# then the server fails to bind, and gets the next one.
some_port() {
    local port
    while :; do
        port=$((20000 + RANDOM % 12000))
        if ! (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then break; fi
    done
    echo "$port"
}

start() {
    local backend=$1 home=$room/$1 port tries since
    for ((tries = 20; tries; tries--)); do
        port=$(some_port)
        "launch_$backend" "$port" </dev/null >"$home.log" 2>&1 &
        servers[$backend]=$!
        since=$SECONDS
        while alive "${servers[$backend]}"; do
            if "is_ready_$backend"; then
                "announce_$backend" "$port"
                return
            fi
            if ((SECONDS - since > 120)); then give_up "$backend" "not ready after two minutes"; fi
            pause 0.05
        done
        grep -q 'Address already in use' "$home.log" || break
    done
    give_up "$backend" "the server did not start"
}

for backend in "${backends[@]}"; do
    home=$room/$backend
    mkdir -m 700 "$home"
    if ((EUID == 0)); then chown "$(user_of "$backend")" "$home"; fi
    (set +m && "prepare_$backend") </dev/null >"$home.log" 2>&1 &
    preparing+=("$!")
done
for i in "${!backends[@]}"; do
    while alive "${preparing[i]}"; do pause 0.05; done
    wait "${preparing[i]}" || give_up "${backends[i]}" "an empty database cluster could not be made"
done
preparing=()
for backend in "${backends[@]}"; do start "$backend"; done
echo ready

# Until the run is over. A server that is lost is told, for what the tests see of it is a refused connection.
while :; do
    for backend in "${!servers[@]}"; do
        if ! alive "${servers[$backend]}"; then
            complain "$backend" "the server ended during the run"
            unset "servers[$backend]"
        fi
    done
    pause 1
done
