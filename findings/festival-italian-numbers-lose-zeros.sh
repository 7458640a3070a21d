#!/usr/bin/env bash
# festival says some numbers as others. In Italian, 3,05 and 3,005 have the words of 3,5. Points between thousands are decimal points there, so that
# 20.000 is "twenty point". In English and Catalan the minus is lost before decimal points, dollars and thousands, or always. English 2 1/2 is "two
# half". There is no message.
# Seen with festival 2.5.0, festvox-italp16k 2.0, festvox-kallpc16k 2.4 and festvox-ca-ona-hts 1.3 of Debian 12, words of Token:
#   Italian 3,05          tre virgola cinque (right: tre virgola zero cinque, as 0 and then 5)
#   Italian 20.000 lire   venti punto lire (right: ventimila lire; 20000 is right)
#   Italian 1.500         uno punto cinque cento
#   English -3.14         three point one four (-5: minus five)
#   English -1,000        one thousand
#   Catalan -10           deu
# Consequence: prices, temperatures and balances are heard as others. Write numbers as words first.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
# (apt-get update before; other libraries are those of the Debian package festival.)
apt-get --quiet=2 download festival=1:2.5.0-9 libestools2.5=1:2.5.0-13 festlex-ifd=2.0+debian0-6 festvox-italp16k=2.0+debian0-6 \
  festlex-cmu=2.4-2 festlex-poslex=2.4-1 festvox-kallpc16k=2.4-1 \
  festival-ca=3.0.6-2 festvox-ca-ona-hts=1.3-3 2>/dev/null
for package in *.deb; do dpkg --extract "$package" "$work"; done
export LD_LIBRARY_PATH=$work/usr/lib/x86_64-linux-gnu
data=$work/usr/share/festival
cat >words.scm <<'SCHEME'
(define (features_of word)
  (format t " %s" (item.name word)))
(define (words text)
  (let ((utterance (eval (list 'Utterance 'Text text))))
    (Initialize utterance)
    (Text utterance)
    (Token_POS utterance)
    (Token utterance)
    (format t "%s:" text)
    (mapcar features_of (utt.relation.items utterance 'Word))
    (format t "\n")))
SCHEME
# Italian words have their phonemes behind " -T"; sed removes them.
say() {
  echo "# $2"
  { echo "($1)"; cat words.scm; printf '(words "%s")\n' "${@:3}"; } >say.scm
  "$work/usr/bin/festival" --datadir "$data" --libdir "$data" -b say.scm 2>/dev/null | sed -E 's/ -T( \(\([^)]*\) [01]\))+//g'
}
{
  say voice_lp_diphone Italian 3,5 3,05 3,005 0,05 12,50 1500 1.500 20000 "20.000 lire" 1.234.567 -5
  say voice_kal_diphone English 5 -5 -1000 3.14 -3.14 -0.5 -1,000 1/2 "2 1/2"
  say voice_upc_ca_ona_hts Catalan 10 -10 3,05 -3,05 1.500
} | tee seen
diff seen - <<'EXPECTED'
# Italian
3,5: tre virgola cinque
3,05: tre virgola cinque
3,005: tre virgola cinque
0,05: zero virgola cinque
12,50: dodici virgola cinquanta
1500: mille cinque cento
1.500: uno punto cinque cento
20000: venti mila
20.000 lire: venti punto lire
1.234.567: uno punto due cento trentaquattro punto cinque cento sessantasette
-5: meno cinque
# English
5: five
-5: minus five
-1000: minus one thousand
3.14: three point one four
-3.14: three point one four
-0.5: zero point five
-1,000: one thousand
1/2: half
2 1/2: two half
# Catalan
10: deu
-10: deu
3,05: tres coma zero cinc
-3,05: tres coma zero cinc
1.500: mil cinc-cents
EXPECTED
echo "as stated"
