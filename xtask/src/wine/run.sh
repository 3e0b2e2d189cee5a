# run.sh LOCK WINE PROGRAM [ARGUMENT]...: runs a test's program under Wine.
#
# One runs after another. All the same Wine now and then ends a program before its first
# instruction, with the last byte of a status of its own as exit code. A test says at least
# that it begins: one that failed and wrote nothing never ran, and is started again.
lock=$1
shift
out=$(mktemp "$lock.XXXXXX") && said=$(mktemp "$lock.XXXXXX") || exit 1
trap 'rm -f "$out" "$said"' EXIT
for try in 1 2 3; do
    # Programs that Wine starts do not inherit the lock (-o), which would outlive them.
    /usr/bin/flock -o "$lock" "$@" >"$out" 2>"$said"
    code=$?
    if [ "$code" -eq 0 ] || [ -s "$out" ] || [ -s "$said" ]; then
        break
    fi
    echo "Wine ended $2 before it began (exit code $code, try $try of 3)" >&2
done
cat "$out"
cat "$said" >&2
exit "$code"
