#!/usr/bin/env bash
# ngram_build of the Edinburgh Speech Tools writes bigrams for HTK (-otype htk_ascii). All words but !EXIT have the same probabilities behind them
# there, those of the first word. Its files of counts (cstr_ascii) are right. ngram_test raises 2 to an entropy of natural logarithms, so that each
# perplexity is too low. There is no message about it.
# Seen with speech-tools 2.5.0 of Debian 12, five sentences of the words a to d:
#   behind a     b 0.6, a and the end 0.2 each (right)
#   behind b     the same (right: c 0.75, d 0.25, from the counts 3 and 1)
#   behind d     the same (right: the end 1)
#   "a b c"      perplexity 1.353 (right: (0.6 * 0.6 * 0.75) ^ (-1/3) = 1.547)
#   "c a"        perplexity 2.824 (right: (0.2 * 0.25) ^ (-1/2) = 4.472)
# Consequence: recognisers of HTK get a grammar that forbids most sentences of the training text. Make such files from the counts, and raise e, not 2.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
# (apt-get update before; other libraries are those of the Debian package speech-tools.)
version=2.5.0-13
apt-get --quiet=2 download speech-tools="1:$version" libestools2.5="1:$version" 2>/dev/null
for package in *.deb; do dpkg --extract "$package" "$work"; done
export PATH=$work/usr/bin:$PATH LD_LIBRARY_PATH=$work/usr/lib/x86_64-linux-gnu
printf '%s\n' "a b c" "a b d" "b c a" "a a b c" "c d" >text
printf '%s\n' a b c d >words
build() { ngram_build -w words -order 2 -default_tags -otype "$1" -o "$2" text >/dev/null 2>&1; }
build cstr_ascii counts
build htk_ascii bigrams
{
  echo "# counts"
  sed 1,3d counts
  echo "# HTK, columns in the order of the rows"
  cat bigrams
  for sentence in "a b c" "a b d" "c a"; do
    echo "$sentence" >sentence
    echo "# $sentence:" "$(ngram_test -g counts -default_tags sentence 2>/dev/null | awk '/entropy|perplexity/ { printf "%s %.3f ", $1, $2 }')"
  done
  awk 'function root(product, count) { return product ^ (-1 / count) }
    BEGIN { printf "# by hand, from the counts: %.3f %.3f %.3f\n", root(3/5 * 3/5 * 3/4, 3), root(3/5 * 3/5 * 1/4, 3), root(1/5 * 1/4, 2) }'
} | sed 's/ $//' | tee seen
diff seen - <<'EXPECTED'
# counts
a a : 1
a b : 3
a !EXIT : 1
b c : 3
b d : 1
c a : 1
c d : 1
c !EXIT : 2
d !EXIT : 2
!ENTER a : 3
!ENTER b : 1
!ENTER c : 1
# HTK, columns in the order of the rows
!ENTER 0  0.2 0.6 0*2 0.2
a 0  0.2 0.6 0*2 0.2
b 0  0.2 0.6 0*2 0.2
c 0  0.2 0.6 0*2 0.2
d 0  0.2 0.6 0*2 0.2
!EXIT 0*5 1
# a b c: entropy 0.436 perplexity 1.353
# a b d: entropy 0.803 perplexity 1.744
# c a: entropy 1.498 perplexity 2.824
# by hand, from the counts: 1.547 2.231 4.472
EXPECTED
echo "as stated"
