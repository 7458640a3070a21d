#!/usr/bin/env bash
# sclite leaves out sentences of the reference that the hypothesis does not have, where both are files of the format trn. The same words in STM and
# CTM files are deletions. There is no message, and the return code is 0. Where all references are empty, 3 wrong words are an error of 0.0 %.
# Seen with sctk 2.4.10 of Debian 12, a reference of 4 sentences and 13 words:
#   hypothesis                       trn                             STM and CTM
#   all 4 sentences                  Snt 4, Wrd 13, errors 0         Snt 4, Wrd 13, errors 0
#   the first 2 alone                Snt 2, Wrd 5, errors 0          Snt 4, Wrd 13, errors 8
#   reference empty, 3 words         error 0.0 %, 3 insertions in the report of counts
# Consequence: a recogniser that fails on long or hard files has a better word error rate. Compare the number of sentences with the reference, or
# write each sentence, empty ones too: "(s_3)".
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
# (apt-get update before.)
apt-get --quiet=2 download sctk=2.4.10-20151007-1312Z+dfsg2-3.1 2>/dev/null
for package in *.deb; do dpkg --extract "$package" "$work"; done
sclite=$work/usr/lib/sctk/bin/sclite
cat >ref.trn <<'TRN'
one two three (s_1)
four five (s_2)
six seven eight nine ten (s_3)
eleven twelve thirteen (s_4)
TRN
head -n 2 ref.trn >two.trn
(head -n 2 ref.trn; echo "(s_3)"; echo "(s_4)") >empty.trn
awk '{ at = (NR - 1) * 10; $NF = ""; print "s 1 s", at, at + 10, $0 }' ref.trn >ref.stm
awk '{ for (word = 6; word <= NF; word++) print "s 1", $4 + word - 5, 0.5, $word }' ref.stm >ref.ctm
head -n 5 ref.ctm >two.ctm
echo "(s_1)" >silence.trn
echo "one two three (s_1)" >noise.trn

# The columns of the sum are sentences, words, correct ones, substitutions, deletions, insertions, errors, wrong sentences.
score() {
  local name=$1 kind=$2
  shift 2
  "$sclite" "$@" -o "$kind" stdout >report 2>messages
  echo "$name: $(grep --max-count=1 "Sum" report | tr -s ' |' ' ' | cut -d " " -f 3-9), $(wc -c <messages) bytes of messages"
}
{
  score "trn, all" rsum -i rm -r ref.trn trn -h ref.trn trn
  score "trn, two sentences" rsum -i rm -r ref.trn trn -h two.trn trn
  score "trn, two sentences, %" sum -i rm -r ref.trn trn -h two.trn trn
  score "trn, two sentences and two empty" rsum -i rm -r ref.trn trn -h empty.trn trn
  score "stm and ctm, all" rsum -r ref.stm stm -h ref.ctm ctm
  score "stm and ctm, two sentences" rsum -r ref.stm stm -h two.ctm ctm
  score "three words in silence" rsum -i rm -r silence.trn trn -h noise.trn trn
  score "three words in silence, %" sum -i rm -r silence.trn trn -h noise.trn trn
} | tee seen
diff seen - <<'EXPECTED'
trn, all: 4 13 13 0 0 0 0, 0 bytes of messages
trn, two sentences: 2 5 5 0 0 0 0, 0 bytes of messages
trn, two sentences, %: 2 5 100.0 0.0 0.0 0.0 0.0, 0 bytes of messages
trn, two sentences and two empty: 4 13 5 0 8 0 8, 0 bytes of messages
stm and ctm, all: 4 13 13 0 0 0 0, 0 bytes of messages
stm and ctm, two sentences: 4 13 5 0 8 0 8, 0 bytes of messages
three words in silence: 1 0 0 0 0 3 3, 0 bytes of messages
three words in silence, %: 1 0 0.0 0.0 0.0 0.0 0.0, 0 bytes of messages
EXPECTED
echo "as stated"
