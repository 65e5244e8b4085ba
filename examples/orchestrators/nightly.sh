#!/bin/sh
# A crawl by cron, which mails what this script prints. In the crontab:
#   17 3 * * * /srv/gossamer/nightly.sh shop.py
# While the run of the night before still works, this one does nothing.
set -u
cd "$(dirname "$0")" || exit 4
exec 9>"$1.lock"
flock --nonblock 9 || { echo "the last run of $1 still works"; exit 0; }
gossamer crawl "$1" -O "${1%.py}.jsonl" --fresh --json --quiet >"$1.summary" 2>"$1.log" 9>&-
code=$?
case $code in
0) exit 0 ;; # done: no mail
30 | 31) echo "$1: the result is doubted (exit code $code): gossamer accept, or repair the site file" ;;
2 | 3 | 4 | 5) echo "$1: a retry would not help (exit code $code)" ;;
*) echo "$1: failed, the next run tries again (exit code $code)" ;;
esac
cat "$1.log" "$1.summary"
exit $code
