#!/usr/bin/env bash
# The Ruby library numerizer writes digits for the number words of a text. "five and ten" becomes 15, and "2.5 million" 2.5000000. "a hundred" becomes
# the one word "a100", and "the first quarter" "the 1st/4". "fifty five hundred" and years are pieces. The README shows "and" with fractions alone.
# There is no message.
# Seen with ruby-numerizer 0.2.0 of Debian 12 on Ruby 3.1:
#   between five and ten people    between 15 people
#   rooms two and three            rooms 5
#   2.5 million people             2.5000000 people
#   two and a half million people  2.5000000 people
#   a hundred people               a100 people
#   half a million people          half a1000000 people
#   in the first quarter           in the 1st/4
#   fifty five hundred dollars     50 500 dollars
#   in nineteen ninety five        in 19 90 5
# Consequence: transcripts have other numbers, and words that nobody said. Search the output for ".5000" and for "a" before digits.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
# (apt-get update before; Ruby is that of the Debian package ruby.)
apt-get --quiet=2 download ruby-numerizer=0.2.0-2 2>/dev/null
dpkg --extract ruby-numerizer_*.deb "$work"
cat >show.rb <<'RUBY'
require "numerizer"
DATA.each_line(chomp: true) { |text| puts "#{text} -> #{Numerizer.numerize(text)}" }
__END__
forty two people
two and a half
one hundred and one people
rooms two and three
between five and ten people
pages twenty and thirty
2.5 million people
two and a half million people
one million people
a hundred people
a thousand people
half a million people
in the first quarter
the second half
fifty five hundred dollars
in nineteen ninety five
in two thousand five
RUBY
ruby -I usr/lib/ruby/vendor_ruby show.rb | tee seen
diff seen - <<'EXPECTED'
forty two people -> 42 people
two and a half -> 2.5
one hundred and one people -> 101 people
rooms two and three -> rooms 5
between five and ten people -> between 15 people
pages twenty and thirty -> pages 50
2.5 million people -> 2.5000000 people
two and a half million people -> 2.5000000 people
one million people -> 1000000 people
a hundred people -> a100 people
a thousand people -> a1000 people
half a million people -> half a1000000 people
in the first quarter -> in the 1st/4
the second half -> the second/2
fifty five hundred dollars -> 50 500 dollars
in nineteen ninety five -> in 19 90 5
in two thousand five -> in 2005
EXPECTED
echo "as stated"
