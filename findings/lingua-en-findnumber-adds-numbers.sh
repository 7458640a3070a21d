#!/usr/bin/env bash
# The Perl module Lingua::EN::FindNumber (numify) replaces the numbers of a text by digits, with Lingua::EN::Words2Nums. Numbers with "and" or
# nothing between them are one number, their sum. An "and" behind a number is lost. There is no message.
# Seen with liblingua-en-findnumber-perl 1.32, liblingua-en-words2nums-perl 0.19 of Debian 12:
#   two and three                 5 (right: 2 and 3)
#   first and second place        the 3 place
#   the war began in nineteen thirty nine    58 (right: 1939)
#   She is ten and he is six      She is 10 he is 6
#   two thirds                    5 (right: 2/3; "It does not understand fractions", its manual says, and words2nums is to return undef then)
#   two hundredths                200
# Consequence: transcripts lose numbers and words, and other numbers stand there. Divide texts at "and" first, unless a hundred, thousand or
# million stands before it.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
# (apt-get update before.)
apt-get --quiet=2 download liblingua-en-findnumber-perl=1.32-3 liblingua-en-words2nums-perl=0.19-4 2>/dev/null
for package in *.deb; do dpkg --extract "$package" "$work"; done
cat >show.pl <<'PERL'
use strict;
use warnings;
use Lingua::EN::FindNumber qw(numify);
use Lingua::EN::Words2Nums qw(words2nums);

print "$_ -> ", numify($_), "\n" for (
    "two hundred and five miles", "two and three", "between five and ten people", "first and second place",
    "the war began in nineteen thirty nine", "She is ten and he is six", "call five five five one two", "three point one four");
for my $words ("twenty-first", "nineteen ninety five", "two thirds", "two hundredths", "point five") {
    my $number = words2nums($words);
    print "words2nums $words -> ", defined $number ? $number : "undef", "\n";
}
PERL
PERL5LIB=$work/usr/share/perl5 perl show.pl | tee seen
diff seen - <<'EXPECTED'
two hundred and five miles -> 205 miles
two and three -> 5
between five and ten people -> between 15 people
first and second place -> 3 place
the war began in nineteen thirty nine -> the war began in 58
She is ten and he is six -> She is 10 he is 6
call five five five one two -> call 18
three point one four -> 3 point 5
words2nums twenty-first -> 21
words2nums nineteen ninety five -> 114
words2nums two thirds -> 5
words2nums two hundredths -> 200
words2nums point five -> undef
EXPECTED
echo "as stated"
