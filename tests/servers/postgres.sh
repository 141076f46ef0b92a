# PostgreSQL for one run: found, prepared, launched, asked. Sourced.
# shellcheck shell=bash
# The variables belong to keeper.sh, which calls these functions by a composed name.
# shellcheck disable=SC2034,SC2154,SC2317

# Debian keeps the programs of each version off the PATH. The newest wins.
find_postgres() {
    local program
    while read -r program; do
        if [[ -x $program && -x ${program%/*}/initdb ]]; then
            echo "${program%/*}"
            return
        fi
    done < <(
        printf '%s\n' /usr/lib/postgresql/*/bin/postgres | sort -rV
        command -v postgres
    )
    return 1
}

has_locale_sources() { has localedef && [[ -e /usr/share/i18n/locales/fr_FR ]]; }

# Messages in another language need that language's locale. Made here, because making it for the whole machine would outlive
# the run; a folder in LOCPATH is all that the C library asks for.
make_locales() {
    local language
    mkdir "$room/locales"
    for language in fr_FR en_US de_DE; do
        localedef -i "$language" -f UTF-8 "$room/locales/$language.UTF-8" &
    done
    wait
}

# A package without its translations (Ubuntu's, and those in slim images) still takes the setting, and answers in English: only
# a message shows it.
speaks_french() {
    local said
    said=$(as_server postgres "$(find_postgres)/postgres" --single -D "$home/data" postgres 2>&1 <<<"
        SET lc_messages = 'fr_FR.UTF-8'
        SELECT 1 / 0") || true
    [[ $said == *ERREUR* ]]
}

prepare_postgres() {
    make_locales
    (as_server postgres "$(find_postgres)/initdb" --pgdata="$home/data" --username=postgres --auth=trust \
        --locale=C --encoding=UTF8 --no-sync)
    if speaks_french; then echo yes; else echo no; fi >"$room/french"
}

# No Unix socket: its path has a limit of 107 bytes, and the temporary folder may have a longer name.
launch_postgres() {
    local options=(-c listen_addresses=127.0.0.1 -c unix_socket_directories= -c max_connections=300)
    if [[ $durable == no ]]; then options+=(-c fsync=off -c full_page_writes=off); fi
    as_server postgres "$(find_postgres)/postgres" -D "$home/data" -p "$1" "${options[@]}"
}

# The last line of this file is the state that pg_ctl waits for.
is_ready_postgres() { grep -qs '^ready' "$home/data/postmaster.pid"; }

# An immediate shutdown: the data goes with the folder. https://www.postgresql.org/docs/current/server-shutdown.html
stop_signal_postgres=QUIT

announce_postgres() {
    echo "OCC_TEST_POSTGRES_URL=postgres://postgres@127.0.0.1:$1/postgres"
    echo "OCC_TEST_FRENCH=$(<"$room/french")"
}
