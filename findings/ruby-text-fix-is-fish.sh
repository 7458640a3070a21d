#!/usr/bin/env bash
# Metaphone of the Ruby library text has no rule for x within a word, and X is its sign of "sh". So "fix" and "fish", "wax" and "wash", "tax" and
# "tash" have the same code, and "six" and "sicks", "next" and "nekst" have other ones. The option :buggy, for the rules of PHP, is the same. The
# README and the comments of the code do not tell of it. There is no message. jellyfish writes KS.
# Seen with ruby-text 1.3.1 of Debian 12 on Ruby 3.1 beside jellyfish 1.2.0 on Python 3.11:
#   words           text        jellyfish
#   fix, fish       FX, FX      FKS, FX
#   wax, wash       WX, WX      WKS, WX
#   max, mash       MX, MX      MKS, MX
#   box, bosh       BX, BX      BKS, BX
#   six, sicks      SX, SKS     SKS, SKS
# Consequence: words that sound alike are not found, and a search for "fix" finds "fish". Replace each x behind the first letter by "ks" before.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
# (apt-get update before; Ruby is that of the Debian package ruby.)
apt-get --quiet=2 download ruby-text=1.3.1-1 2>/dev/null
dpkg --extract ruby-text_*.deb "$work"
python3 -m venv venv
venv/bin/python -m pip install --quiet --disable-pip-version-check jellyfish==1.2.0
cat >pairs <<'PAIRS'
fix fish
wax wash
max mash
box bosh
tax tash
lax lash
six sicks
next nekst
tux tucks
school skool
night nite
phone fone
PAIRS
cat >show.rb <<'RUBY'
require "text/metaphone"
File.foreach("pairs") do |line|
  words = line.split
  codes = words.map { |word| Text::Metaphone.metaphone(word) }
  others = words.map { |word| Text::Metaphone.metaphone(word, buggy: true) }
  puts "text #{words.join(', ')}: #{codes.join(', ')}#{', the same' if codes.uniq.one?}#{', other rules differ' if codes != others}"
end
RUBY
{
  ruby -I usr/share/rubygems-integration/all/gems/text-1.3.1/lib show.rb
  venv/bin/python - <<'PYTHON'
import jellyfish

with open("pairs") as pairs:
    for line in pairs:
        words = line.split()
        codes = [jellyfish.metaphone(word) for word in words]
        print(f"jellyfish {', '.join(words)}: {', '.join(codes)}" + (", the same" if len(set(codes)) == 1 else ""))
PYTHON
} | tee seen
diff seen - <<'EXPECTED'
text fix, fish: FX, FX, the same
text wax, wash: WX, WX, the same
text max, mash: MX, MX, the same
text box, bosh: BX, BX, the same
text tax, tash: TX, TX, the same
text lax, lash: LX, LX, the same
text six, sicks: SX, SKS
text next, nekst: NXT, NKST
text tux, tucks: TX, TKS
text school, skool: SXL, SKL
text night, nite: NT, NT, the same
text phone, fone: FN, FN, the same
jellyfish fix, fish: FKS, FX
jellyfish wax, wash: WKS, WX
jellyfish max, mash: MKS, MX
jellyfish box, bosh: BKS, BX
jellyfish tax, tash: TKS, TX
jellyfish lax, lash: LKS, LX
jellyfish six, sicks: SKS, SKS, the same
jellyfish next, nekst: NKST, NKST, the same
jellyfish tux, tucks: TKS, TKS, the same
jellyfish school, skool: SXL, SKL
jellyfish night, nite: NT, NT, the same
jellyfish phone, fone: FN, FN, the same
EXPECTED
echo "as stated"
