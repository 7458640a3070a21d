#!/usr/bin/env bash
# Usage: curve.sh RESULTS >SVG
# Draws the errors of Mboshi over minutes of training speech, on logarithmic scales of minutes.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../../../scripts/common/usage.sh"
plain_usage 1 1 "$@"
LC_ALL=C awk -F'\t' '
  $1 ~ /^Mboshi/ { minutes[++n] = $2; words[n] = $5; letters[n] = $6 }
  function x(m) { return 70 + 480 * log(m / low) / log(high / low) }
  function y(e) { return 330 - 3 * e }
  function line(values, colour, name, i, path) {
    for (i = 1; i <= n; i++) path = path (i == 1 ? "M" : "L") x(minutes[i]) " " y(values[i])
    print "<path d=\"" path "\" fill=\"none\" stroke=\"" colour "\" stroke-width=\"2\"/>"
    for (i = 1; i <= n; i++) {
      print "<circle cx=\"" x(minutes[i]) "\" cy=\"" y(values[i]) "\" r=\"4\" fill=\"" colour "\"/>"
      print "<text x=\"" x(minutes[i]) "\" y=\"" y(values[i]) - 9 "\" text-anchor=\"middle\" fill=\"" colour "\">" values[i] "</text>"
    }
    print "<text x=\"560\" y=\"" y(values[n]) + 4 "\" fill=\"" colour "\">" name "</text>"
  }
  END {
    if (n < 2) { print "curve.sh: there are fewer than two results of Mboshi" >"/dev/stderr"; exit 1 }
    low = high = minutes[1]
    for (i = 2; i <= n; i++) { if (minutes[i] > high) high = minutes[i]; if (minutes[i] < low) low = minutes[i] }
    print "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"660\" height=\"380\" font-family=\"sans-serif\" font-size=\"13\">"
    print "<rect width=\"660\" height=\"380\" fill=\"white\"/>"
    for (e = 0; e <= 100; e += 20) {
      print "<path d=\"M70 " y(e) "H550\" stroke=\"#ddd\"/><text x=\"62\" y=\"" y(e) + 4 "\" text-anchor=\"end\">" e " %</text>"
    }
    for (i = 1; i <= n; i++) print "<text x=\"" x(minutes[i]) "\" y=\"350\" text-anchor=\"middle\">" sprintf("%.0f", minutes[i]) "</text>"
    print "<text x=\"310\" y=\"372\" text-anchor=\"middle\">minutes of speech in training</text>"
    line(words, "#b2182b", "words")
    line(letters, "#2166ac", "letters")
    print "</svg>"
  }' "$1"
