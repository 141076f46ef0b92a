# MariaDB for one run: found, prepared, launched. Sourced.
# shellcheck shell=bash
# The variables belong to keeper.sh, which calls these functions by a composed name.
# shellcheck disable=SC2034,SC2154,SC2317

# An ordinary user of Debian has no sbin on the PATH.
find_mariadb() { PATH=$PATH:/usr/sbin command -v "$1"; }

# Run as the server's user and without --user: as root the script would also change the owner of a PAM helper under /usr.
# In the folder, because the script takes a space in a path for the end of it.
prepare_mysql() {
    cd "$home" || return
    (as_server mysql "$(find_mariadb mariadb-install-db)" --no-defaults --datadir=./data --tmpdir=. \
        --auth-root-authentication-method=normal --skip-name-resolve --skip-test-db)
}

# The socket is named relative to the data folder: its path has a limit of 107 bytes, and the temporary folder may have a
# longer name.
launch_mysql() {
    local options=(--bind-address=127.0.0.1 --skip-name-resolve --max-connections=300 --skip-log-bin
        --character-set-server=utf8mb4 --collation-server=utf8mb4_general_ci)
    if [[ $durable == yes ]]; then
        options+=(--innodb-flush-log-at-trx-commit=1)
    else
        options+=(--innodb-flush-log-at-trx-commit=0 --skip-innodb-doublewrite)
    fi
    as_server mysql "$(find_mariadb mariadbd)" --no-defaults --datadir="$home/data" --tmpdir="$home" \
        --socket=socket --pid-file=pid --port="$1" "${options[@]}"
}

is_ready_mysql() { grep -q 'ready for connections' "$home.log"; }

# The data goes with the folder, and nothing of a MariaDB outlives its one process: an orderly end is not worth its time.
stop_signal_mysql=KILL

announce_mysql() { echo "OCC_TEST_MYSQL_URL=mysql://root@127.0.0.1:$1/"; }
