#!/usr/bin/env bash
# ch_lab of the Edinburgh Speech Tools converts label files. Times from 214.8 s on become -2147483648 in label files of HTK. Files of its own type
# esps hold six digits: times from 100 s on are rounded to milliseconds, and those from 1,000 s on to hundredths. Gaps between labels are closed.
# There is no message.
# Seen with speech-tools 2.5.0 of Debian 12, HTK labels (in units of 100 ns):
#   a label of HTK                      HTK again                   esps (its end in seconds)
#   2500000 6000000 one                 the same                    6.00000e-01
#   7000000 10000000 two                6000000 10000000            1.00000e+00
#   2140000000 2150000000 four          2140000000 -2147483648      2.15000e+02
#   36001234567 36005678901 seven       -2147483648 -2147483648     3.60057e+03 (right: 3600.5678901)
# Consequence: labels of recordings of four minutes and more are lost. Cut recordings first, or convert label files by other programs.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
# (apt-get update before; other libraries are those of the Debian package speech-tools.)
version=2.5.0-13
apt-get --quiet=2 download speech-tools="1:$version" libestools2.5="1:$version" 2>/dev/null
for package in *.deb; do dpkg --extract "$package" "$work"; done
export PATH=$work/usr/bin:$PATH LD_LIBRARY_PATH=$work/usr/lib/x86_64-linux-gnu
cat >words.lab <<'LABELS'
0 2500000 sil
2500000 6000000 one
7000000 10000000 two
10000000 2140000000 three
2140000000 2150000000 four
2150000000 12345678900 five
12345678900 36001234567 six
36001234567 36005678901 seven
LABELS
{
  echo "HTK to HTK"
  ch_lab words.lab -itype htk -otype htk
  echo "HTK to esps"
  ch_lab words.lab -itype htk -otype esps
} 2>&1 | tr -s ' \t' ' ' | sed 's/^ //; s/ $//' | tee seen
diff seen - <<'EXPECTED'
HTK to HTK
0 2500000 sil
2500000 6000000 one
6000000 10000000 two
10000000 2140000000 three
2140000000 -2147483648 four
-2147483648 -2147483648 five
-2147483648 -2147483648 six
-2147483648 -2147483648 seven
HTK to esps
separator ;
nfields 1
name
filename words.lab
#
2.50000e-01 26 sil
6.00000e-01 26 one
1.00000e+00 26 two
2.14000e+02 26 three
2.15000e+02 26 four
1.23457e+03 26 five
3.60012e+03 26 six
3.60057e+03 26 seven
EXPECTED
echo "as stated"
