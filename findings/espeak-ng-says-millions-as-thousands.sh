#!/usr/bin/env bash
# espeak-ng says some numbers with the words of others: in Russian a million is a thousand, in Belarusian 10^9 is a thousand, and in Czech ten
# millions are ten thousand. In French, Spanish, Russian, Polish, Turkish and Hindi -5 is 5; German, English and Italian say the minus. There is no
# message.
# Seen with espeak-ng 1.51 of Debian 12, phonemes of option -x without stress:
#   ru 1000000        ojd;in tys;VtS; (right: million)
#   be 1000000000     the same as 1000
#   cs 10000000       the same as 10000, and 100000000 as 100000
#   fr -5             sEk, "cinq" (right: moins cinq)
# Consequence: prices and temperatures are heard as others, and phonemes for training do not fit the text. Write numbers as words first.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
# (apt-get update before.)
apt-get --quiet=2 download espeak-ng=1.51+dfsg-10+deb12u2 espeak-ng-data=1.51+dfsg-10+deb12u2 libespeak-ng1=1.51+dfsg-10+deb12u2 \
  libpcaudio0=1.2-2 libsonic0=0.2.0-12 2>/dev/null
for package in *.deb; do dpkg --extract "$package" "$work"; done
libraries=$work/usr/lib/x86_64-linux-gnu
export PATH=$work/usr/bin:$PATH LD_LIBRARY_PATH=$libraries:${LD_LIBRARY_PATH:-}
# Each number is a paragraph of its own.
say() {
  printf '%s\n\n' "${@:2}" >numbers
  espeak-ng --path="$libraries" -q -x -v "$1" -f numbers 2>/dev/null | tr -d "',_!|" | sed 's/^ *//; s/  */ /g; /^$/d' >spoken
  printf '%s\n' "${@:2}" | paste -d ' ' - spoken | sed "s/^/$1 /"
}
{
  say ru 1000 1000000 2000000 1000001
  say be 1000 1000000000 2000 2000000000
  say cs 10000 10000000 100000 100000000 1000000
  for language in en de it fr es ru pl tr hi; do say "$language" 5 -5; done
} | tee seen
diff seen - <<'EXPECTED'
ru 1000 odnA tys;VtS;
ru 1000000 ojd;in tys;VtS;
ru 2000000 dvA m;IlI;onof
ru 1000001 ojd;in tys;VtS; ojd;in
be 1000 Adz;in ti"s;ats.
be 1000000000 Adz;in ti"s;ats.
be 2000 dva# ti"s;ats.
be 2000000000 dva# ti"s;ats.
cs 10000 deset cisi:ts
cs 10000000 deset cisi:ts
cs 100000 sto cisi:ts
cs 100000000 sto cisi:ts
cs 1000000 mili;o:n
en 5 faIv
en -5 maIn@s faIv
de 5 fynf
de -5 mi:nUs fynf
it 5 tSinkwe
it -5 meno tSinkwe
fr 5 sE~k
fr -5 sE~k
es 5 Tinko
es -5 Tinko
ru 5 p;jat;
ru -5 p;jat;
pl 5 p;En^ts;
pl -5 p;En^ts;
tr 5 bES
tr -5 bES
hi 5 pa~c
hi -5 pa~c
EXPECTED
echo "as stated"
