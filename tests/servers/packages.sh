# What the machine must have for the backends of a run, and how Debian and Ubuntu get it. Sourced.
# shellcheck shell=bash
# Functions are called by a composed name, which shellcheck takes for dead code.
# shellcheck disable=SC2317

has_library() { has pkg-config && pkg-config --exists "$1"; }

# With the C library's headers, which the package of the compiler only recommends.
has_compiler() {
    local compiler
    compiler=$(command -v cc || command -v gcc) && "$compiler" -E -include stdio.h -x c /dev/null >/dev/null 2>&1
}

# SQLite is compiled from source by a dev-dependency.
needs_of_sqlite() { :; }

needs_of_postgres() {
    has pkg-config || echo pkg-config
    has_library libpq || has pg_config || echo libpq-dev
    if [[ -n ${OCC_TEST_POSTGRES_URL:-} ]]; then return; fi
    find_postgres >/dev/null || echo postgresql
    has_locale_sources || echo locales
}

# The core packages have the programs without a service, and the script that makes an empty database asks a program of the
# client for its options.
needs_of_mysql() {
    has pkg-config || echo pkg-config
    has_library libmariadb || has_library mysqlclient || has mysql_config || echo libmariadb-dev
    if [[ -n ${OCC_TEST_MYSQL_URL:-} ]]; then return; fi
    { find_mariadb mariadbd && find_mariadb mariadb-install-db; } >/dev/null || echo mariadb-server-core
    has my_print_defaults || echo mariadb-client-core
}

missing_packages() {
    local backend
    {
        has_compiler || printf '%s\n' gcc libc6-dev
        for backend; do "needs_of_$backend"; done
    } | sort -u
}

# Debian's package makes a cluster and starts it, unless a file in this folder says no. The file goes away again.
# https://manpages.debian.org/bookworm/postgresql-common/pg_createcluster.1.en.html
apt_install() (
    folder=/etc/postgresql-common/createcluster.d
    as_root=()
    if ((EUID != 0)); then as_root=(sudo); fi
    made=()
    take_away() {
        "${as_root[@]}" rm -f -- "$folder/diesel_occ.conf"
        if ((${#made[@]})); then "${as_root[@]}" rmdir --ignore-fail-on-non-empty -- "${made[@]}"; fi
    }
    if [[ " $* " == *' postgresql '* ]]; then
        for each in "${folder%/*}" "$folder"; do
            if [[ ! -d $each ]]; then made=("$each" "${made[@]}"); fi
        done
        trap take_away EXIT
        trap 'exit 130' INT
        trap 'exit 143' TERM
        trap 'exit 129' HUP
        "${as_root[@]}" mkdir -p "$folder"
        "${as_root[@]}" tee "$folder/diesel_occ.conf" >/dev/null <<<"create_main_cluster = false"
    fi
    # In the foreground, so that a signal waits for apt: dpkg is not to be broken off in the middle. A MySQL server that is in
    # MariaDB's way is for its owner to remove.
    "${as_root[@]}" apt-get update &&
        "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
            apt-get install -y --no-install-recommends --no-remove "$@"
)

# $1: the program that asks, $2: install what is missing, yes or no, then the backends.
require_packages() {
    local asks=$1 install=$2 packages
    shift 2
    mapfile -t packages < <(missing_packages "$@")
    if ((${#packages[@]} == 0)); then return; fi
    if [[ $install == yes ]] && has apt-get && { ((EUID == 0)) || has sudo; }; then
        apt_install "${packages[@]}" >&2 || exit
        mapfile -t packages < <(missing_packages "$@")
        if ((${#packages[@]} == 0)); then return; fi
        echo "$asks: still missing after the installation: ${packages[*]}." >&2
        exit 1
    fi
    {
        echo "$asks: missing: ${packages[*]}. On Debian 12, Ubuntu 24.04 or later, as root:"
        echo "    apt-get update && apt-get install -y --no-install-recommends ${packages[*]}"
        if [[ " ${packages[*]} " == *' postgresql '* ]]; then
            echo "$asks --install does the same, without the database cluster that the package starts."
        fi
    } >&2
    exit 1
}
