#!/usr/bin/env bash
# A program that computes perplexities leaves unknown words out, or gives them a probability. kaldingram ppl leaves out each sentence that has one,
# with all its words, if the model has no <unk>. Models that kaldingram train writes have none. The report looks like SRILM's: it counts the
# words of those sentences, and "1 zeroprobs" is a sentence there, not a word. Text that fits worse has a better perplexity.
# By default ppl also takes bytes of letters such as à for spaces, so that it refuses models of French that train has written.
# Seen with kaldingram 0.1.2 on Python 3.11, "the cat sat" and a sentence that the model finds unlikely:
#   sat the the a          2 sentences, 7 words, 0 OOVs; 0 zeroprobs, logprob= -8.3928 ppl= 8.5611
#   sat the the zebra a    2 sentences, 8 words, 1 OOVs; 1 zeroprobs, logprob= -1.3945 ppl= 2.2317
# Consequence: perplexities of models with other vocabularies, or of texts with other numbers of unknown words, are no measure.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/python -m pip install --quiet --disable-pip-version-check kaldingram==0.1.2
printf '%s\n' 'the cat sat' 'the dog sat' 'a cat ran' 'a dog ran' 'the cat ran' >text
venv/bin/kaldingram train --ngram-order 2 --text text --lm arpa 2>/dev/null
{
  for sentence in 'sat the the a' 'sat the the zebra a' 'zebra'; do
    printf '%s\n' 'the cat sat' "$sentence" >heldout
    echo "$sentence"
    venv/bin/kaldingram ppl --lm arpa --text heldout 2>/dev/null
  done
  printf '%s\n' 'il va à la maison' >text
  venv/bin/kaldingram train --ngram-order 2 --text text --lm arpa 2>/dev/null
  for encoding in latin-1 utf-8; do
    if venv/bin/kaldingram ppl --encoding "$encoding" --lm arpa --text text >result 2>&1; then
      echo "$encoding: $(grep sentences result)"
    else
      echo "$encoding: an error"
    fi
  done
} | tee seen
diff seen - <<'EXPECTED'
sat the the a
file heldout: 2 sentences, 7 words, 0 OOVs
0 zeroprobs, logprob= -8.3928 ppl= 8.5611 ppl1= 15.8112
sat the the zebra a
file heldout: 2 sentences, 8 words, 1 OOVs
1 zeroprobs, logprob= -1.3945 ppl= 2.2317 ppl1= 2.9163
zebra
file heldout: 2 sentences, 4 words, 1 OOVs
1 zeroprobs, logprob= -1.3945 ppl= 2.2317 ppl1= 2.9163
latin-1: an error
utf-8: file text: 1 sentences, 5 words, 0 OOVs
EXPECTED
echo "as stated"
