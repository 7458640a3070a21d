# Bash reads this file before a script if BASH_ENV names it. It writes the script's commands to descriptor 9. Programs that the script starts
# do not see the two variables: run.pl closes the descriptor, and their bash would complain in their logs.
BASH_XTRACEFD=9
unset BASH_ENV
set -x
