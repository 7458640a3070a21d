#!/usr/bin/env bash
# The npm package arpabet-and-ipa-convertor-ts writes pronunciations of CMU's dictionary in IPA, and reads IPA. It writes EH as "e", and reads "e" as
# EY, whose own sign is "eɪ": its IPA of "bed" comes back as "bade", of "men" as "main", and of "let" as "late". All other vowels of these words
# come back. AH0 is ʌ, not the schwa, and only a stress mark in front tells it from AH1: "the" comes back stressed. There is no message.
# Seen with arpabet-and-ipa-convertor-ts 1.0.3 on Node 20:
#   dictionary        toIPA      toArpabet of it
#   bed   B EH1 D     bed        B EY1 D
#   bade  B EY1 D     beɪd       B EY1 D
#   the   DH AH0      ðʌ         DH AH1
# Consequence: a lexicon that goes through IPA has the vowel of another word in each "bed", "when" and "best". Write "ɛ" for "e" before reading.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm install --silent --no-fund --no-audit --prefix "$work" arpabet-and-ipa-convertor-ts@1.0.3 >/dev/null
cat >show.js <<'SCRIPT'
const { toArpabet, toIPA } = require("arpabet-and-ipa-convertor-ts");

const words = { bed: "B EH1 D", bade: "B EY1 D", men: "M EH1 N", main: "M EY1 N", let: "L EH1 T", bid: "B IH1 D", bad: "B AE1 D", bud: "B AH1 D",
  boat: "B OW1 T", measure: "M EH1 ZH ER0", the: "DH AH0", strength: "S T R EH1 NG K TH" };
for (const [word, phones] of Object.entries(words)) {
  const ipa = toIPA(phones);
  const back = toArpabet(ipa);
  console.log(`${word}: ${phones}, ${ipa}, ${back}${back === phones ? "" : " (differs)"}`);
}
console.log(`with the sign for EH: ${toArpabet("bɛd")}`);
SCRIPT
node show.js | tee seen
diff seen - <<'EXPECTED'
bed: B EH1 D, bed, B EY1 D (differs)
bade: B EY1 D, beɪd, B EY1 D
men: M EH1 N, men, M EY1 N (differs)
main: M EY1 N, meɪn, M EY1 N
let: L EH1 T, let, L EY1 T (differs)
bid: B IH1 D, bɪd, B IH1 D
bad: B AE1 D, bæd, B AE1 D
bud: B AH1 D, bʌd, B AH1 D
boat: B OW1 T, boʊt, B OW1 T
measure: M EH1 ZH ER0, ˈmeʒɜr, M EY1 ZH ER0 (differs)
the: DH AH0, ðʌ, DH AH1 (differs)
strength: S T R EH1 NG K TH, stɹeŋkθ, S T R EY1 NG K TH (differs)
with the sign for EH: B EH1 D
EXPECTED
echo "as stated"
