#!/usr/bin/env bash
# flite says some numbers as others. $1.5 is a dollar and five cents. The minus is lost before dollars and before numbers with a comma, and "million
# dollars" becomes "million" behind it. Feet and inches are one number: 5'6" is 56. There is no message. -5, $1.50 and $2.5 million are right.
# Seen with flite 2.2 of Debian 12, words of option -pw:
#   $1.5 a litre     one dollar five cents a litre (right: fifty cents)
#   $10.5            ten dollars five cents
#   -$5              five dollars
#   -1,000           one thousand (-1000: minus one thousand)
#   -$2.5 million    two point five million
#   5'6"             fifty six
#   -1/2             one / two (1/2: a half)
# Consequence: prices, balances and heights are heard as others. Write amounts as words first.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
# (apt-get update before; other libraries are those of the Debian package flite.)
apt-get --quiet=2 download flite=2.2-5 libflite1=2.2-5 2>/dev/null
for package in *.deb; do dpkg --extract "$package" "$work"; done
export LD_LIBRARY_PATH=$work/usr/lib/x86_64-linux-gnu
# "none" writes no sound.
say() { echo "$1: $("$work/usr/bin/flite" -pw -t "$1" -o none </dev/null 2>&1 | tr -s ' \n' ' ' | sed 's/ $//')"; }
while read -r text; do say "$text"; done <<'TEXTS' | tee seen
$1.50
$1.5 a litre
$10.5
$2.5 million
$2.5 thousand
-5
-1000
-1,000
It was -1,200 feet
-$5
-$1,000
-$0.50
-$2.5 million
1/2
-1/2
5 feet 6
He is 5'6" tall
4'33"
TEXTS
diff seen - <<'EXPECTED'
$1.50: one dollar fifty cents
$1.5 a litre: one dollar five cents a litre
$10.5: ten dollars five cents
$2.5 million: two point five million dollars
$2.5 thousand: two dollars five cents thousand
-5: minus five
-1000: minus one thousand
-1,000: one thousand
It was -1,200 feet: it was one thousand two hundred feet
-$5: five dollars
-$1,000: one thousand dollars
-$0.50: zero dollars fifty cents
-$2.5 million: two point five million
1/2: a half
-1/2: one / two
5 feet 6: five feet six
He is 5'6" tall: he is fifty six tall
4'33": four hundred thirty three
EXPECTED
echo "as stated"
